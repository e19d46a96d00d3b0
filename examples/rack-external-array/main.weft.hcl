# One rack: eight servers, two leaves, and an array that somebody else runs.
#
# The array is a target with engine = "external": weft connects to it and
# proves the paths, but configures nothing on it. So it has no server, no pool
# and no namespace here, only what its own management shows: the addresses of
# its ports and its NQN. Its ports on the leaves are left alone, too.
weft {
  required_version = ">= 0.1"
  name             = "rack7"
}

connection "default" {
  user   = "weft"
  become = "sudo"
}

credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}

fabric "roce" {
  transport = "rocev2"
  mode      = "lossless"

  plane "a" { subnet = "10.80.1.0/24" }
  plane "b" { subnet = "10.80.2.0/24" }

  traffic_class "rdma" { # the array must be set to the same DSCP and priority
    dscp      = [26]
    priority  = 3
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

switch "leaf-a" {
  os         = "nxos"
  host       = "leaf-a.rack7.mgmt.example.net"
  serial     = "FDO00000021"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "a"

  safety { commit_confirm = "5m" }
}

switch "leaf-b" {
  os         = "nxos"
  host       = "leaf-b.rack7.mgmt.example.net"
  serial     = "FDO00000022"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "b"

  safety { commit_confirm = "5m" }
}

# count numbers its instances from 0: server.node[0] to server.node[7].
server "node" {
  count = 8
  host  = "node${count.index + 1}.rack7.mgmt.example.net"

  rnic "p0" {
    match   = { pci = "0000:c1:00.0" }
    address = "${cidrhost("10.80.1.0/24", count.index + 11)}/24"
    fabric  = fabric.roce
  }

  rnic "p1" {
    match   = { pci = "0000:c1:00.1" }
    address = "${cidrhost("10.80.2.0/24", count.index + 11)}/24"
    fabric  = fabric.roce
  }
}

link "plane-a" {
  count = length(server.node)
  from  = server.node[count.index].rnic.p0
  to    = switch.leaf-a.port["Ethernet1/${count.index + 1}"]
  speed = "100G"
}

link "plane-b" {
  count = length(server.node)
  from  = server.node[count.index].rnic.p1
  to    = switch.leaf-b.port["Ethernet1/${count.index + 1}"]
  speed = "100G"
}

# Two controllers of the array, each with a port in both planes.
target "array" {
  engine    = "external"
  transport = ["rdma"]
  portals = [
    "10.80.1.201:4420", "10.80.2.201:4420", # controller A
    "10.80.1.202:4420", "10.80.2.202:4420", # controller B
  ]

  subsystem "luns" {
    nqn = "nqn.2026-11.net.example:array:sn-000000000001" # as the array shows it
  }
}

# The array decides who may connect: give it the output below.
initiator "nvme" {
  count  = length(server.node)
  server = server.node[count.index]

  connect {
    to             = target.array
    iopolicy       = "queue-depth"
    keep_alive_tmo = "10s"
  }
}

output "hosts_to_allow" {
  description = "Host NQNs to register on the array; weft's probe has its own."
  value       = flatten([for i in initiator.nvme : [i.hostnqn, i.probe_nqn]])
}

validation "reads" {
  probe = "nvme-read" # it only reads, also from an array that is in use

  metric "errors" { max = 0 }
}
