# SMB Direct between two Windows hosts, and a Linux target beside them: two planes, one
# leaf each.
#
# Windows marks RDMA by the 802.1p priority in the tag of a VLAN, Linux by the DSCP. One
# leaf tells both apart, port by port. It must carry the VLAN with its tag on the ports of
# the Windows hosts already: weft reads that, and sets no VLAN.
weft {
  required_version = ">= 0.1"
  name             = "windows"
}

variable "command_timeout" {
  type        = string
  description = "How long a device may take to answer."
  default     = "60s"
}

variable "p99" {
  type        = string
  description = "How long 99 of 100 reads of 4 KiB may take, over TCP."
  default     = "2ms"
}

connection "default" {
  user            = "weft"
  become          = "sudo"
  command_timeout = var.command_timeout
}

connection "windows" { # an administrator over SSH has the rights: there is no sudo
  user            = "Administrator"
  command_timeout = var.command_timeout
}

credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}

fabric "roce" {
  transport = "rocev2"
  mode      = "lossless"
  mtu       = 9216
  host_mtu  = 9000

  plane "a" { subnet = "10.50.1.0/24" }
  plane "b" { subnet = "10.50.2.0/24" }

  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3 # and what Windows has in the tag
    bandwidth = 50
    pfc       = true
    ecn {
      min         = "150KB"
      max         = "1500KB"
      probability = 5
    }
  }

  traffic_class "cnp" {
    dscp     = [48]
    priority = 6
    strict   = true
  }

  traffic_class "default" {
    bandwidth = 50
  }

  pfc_watchdog {
    action = "drop"
  }
}

switch "leaf" {
  for_each   = { a = "nxos", b = "comware" }
  os         = each.value
  host       = "leaf-${each.key}.windows.example.net"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = each.key

  safety {
    commit_confirm = "5m"
  }
}

locals {
  hosts = { win1 = 31, win2 = 32 }
}

server "win" {
  for_each   = local.hosts
  os         = "windows"
  host       = "${each.key}.mgmt.example.net"
  connection = connection.windows

  rnic "p0" {
    match   = { pci = "0000:3b:00.0" }
    address = "${cidrhost("10.50.1.0/24", each.value)}/24"
    fabric  = fabric.roce
    vlan    = 711
  }

  rnic "p1" {
    match   = { pci = "0000:3b:00.1" }
    address = "${cidrhost("10.50.2.0/24", each.value)}/24"
    fabric  = fabric.roce
    vlan    = 711
  }

  smb { direct_port = 445 }
}

server "st1" {
  host = "st1.mgmt.example.net"

  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.50.1.11/24"
    fabric  = fabric.roce
  }

  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "10.50.2.11/24"
    fabric  = fabric.roce
  }
}

link "windows-a" {
  for_each = local.hosts
  from     = server.win[each.key].rnic.p0
  to       = switch.leaf["a"].port["Ethernet1/${each.value}"]
}

link "windows-b" {
  for_each = local.hosts
  from     = server.win[each.key].rnic.p1
  to       = switch.leaf["b"].port["HundredGigE1/0/${each.value}"]
}

link "target-a" {
  from = server.st1.rnic.p0
  to   = switch.leaf["a"].port["Ethernet1/11"]
}

link "target-b" {
  from = server.st1.rnic.p1
  to   = switch.leaf["b"].port["HundredGigE1/0/11"]
}

pool "flash" {
  server = server.st1
  drives = ["nvme-eui.01000000000000000000000000000041"]
}

volume "data" {
  pool = pool.flash
  size = "100GiB"
}

# Who may read from it: the initiators below, and no other.
target "nvme" {
  server    = server.st1
  transport = ["tcp"]
  portals   = values(server.st1.rnic)

  subsystem "data" {
    nqn = "nqn.2026-11.net.example:windows:st1"

    namespace "1" { from = volume.data }
  }
}

# weft's probe reads from each Windows host over TCP, which says nothing of RDMA, and connects
# nothing. The initiator that comes with Windows Server 2025 may connect by hand under hostnqn:
# weft admits it, and manages nothing of it.
initiator "windows" {
  for_each = local.hosts
  server   = server.win[each.key]
  engine   = "none"
  hostnqn  = "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6b${each.value}"

  connect { to = target.nvme }
}

validation "latency" {
  probe   = "nvme-read"
  samples = 1000

  # RDMA traffic is measured where hosts read files from each other during weft verify.
  # Without this line the verdict is partial where they do not, and gates pause.
  allow_unmeasured = ["windows"]

  metric "p99" { max = var.p99 }
}
