# NVMe over TCP on ordinary NICs: no RDMA anywhere, two planes all the same.
#
# With transport = "tcp" TCP is what is wanted, not a degraded RDMA. There is
# no traffic class: what is left for weft to agree on between switches and
# servers is the MTU, the addresses and the cabling.
weft {
  required_version = ">= 0.1"
  name             = "tcp-only"
}

connection "default" {
  user   = "weft"
  become = "sudo"
}

credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}

fabric "storage" {
  transport = "tcp"
  mode      = "lossy" # TCP sends again what was lost

  plane "a" { subnet = "10.70.1.0/24" }
  plane "b" { subnet = "10.70.2.0/24" }
}

switch "leaf" {
  for_each   = { a = "210200A00000000011", b = "210200A00000000012" }
  os         = "comware"
  host       = "leaf-${each.key}.mgmt.example.net"
  serial     = each.value
  credential = credential.switch
  fabric     = fabric.storage
  plane      = each.key

  safety {
    commit_confirm = "5m"
  }
}

locals {
  nodes = { st1 = 11, cn1 = 21, cn2 = 22 }
}

server "node" {
  for_each = local.nodes
  host     = "${each.key}.mgmt.example.net"

  rnic "p0" { # the block is called rnic for every NIC of a fabric
    match   = { pci = "0000:18:00.0" }
    address = "${cidrhost("10.70.1.0/24", each.value)}/24"
    fabric  = fabric.storage
  }

  rnic "p1" {
    match   = { pci = "0000:18:00.1" }
    address = "${cidrhost("10.70.2.0/24", each.value)}/24"
    fabric  = fabric.storage
  }
}

link "plane-a" {
  for_each = local.nodes
  from     = server.node[each.key].rnic.p0
  to       = switch.leaf["a"].port["Ten-GigabitEthernet1/0/${each.value}"]
  speed    = "10G"
}

link "plane-b" {
  for_each = local.nodes
  from     = server.node[each.key].rnic.p1
  to       = switch.leaf["b"].port["Ten-GigabitEthernet1/0/${each.value}"]
  speed    = "10G"
}

pool "flash" {
  server = server.node["st1"]
  drives = ["nvme-eui.01000000000000000000000000000021"]
}

volume "data" {
  pool = pool.flash
  size = "500GiB"
}

target "nvme" {
  server    = server.node["st1"]
  transport = ["tcp"]
  portals   = [server.node["st1"].rnic.p0, server.node["st1"].rnic.p1]

  subsystem "data" {
    nqn = "nqn.2026-11.net.example:tcp-only:st1"

    namespace "1" { from = volume.data }
  }
}

initiator "nvme" {
  for_each = toset(["cn1", "cn2"])
  server   = server.node[each.key]

  connect {
    to       = target.nvme
    iopolicy = "round-robin"
  }
}
