# RDMA over iWARP: two storage and two compute servers on two leaves.
#
# iWARP carries RDMA in TCP, which sends again what was lost. The fabric may
# drop, so there is no lossless class and no PFC: the class below only keeps
# a share of the bandwidth for storage, and ECN slows senders down before
# buffers are full.
weft {
  required_version = ">= 0.1"
  name             = "iwarp"
}

connection "default" {
  user   = "weft"
  become = "sudo"
}

credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}

fabric "iwarp" {
  transport = "iwarp"
  mode      = "lossy" # pfc = true anywhere below would be refused

  plane "a" { subnet = "10.60.1.0/24" }
  plane "b" { subnet = "10.60.2.0/24" }

  traffic_class "storage" {
    dscp      = [18]
    priority  = 2
    bandwidth = 60

    ecn {
      min         = "100KB"
      max         = "1MB"
      probability = 10
    }
  }

  traffic_class "default" {
    bandwidth = 40
  }
}

switch "leaf" {
  for_each   = { a = "FDO00000011", b = "FDO00000012" }
  os         = "nxos"
  host       = "leaf-${each.key}.mgmt.example.net"
  serial     = each.value
  credential = credential.switch
  fabric     = fabric.iwarp
  plane      = each.key

  safety {
    commit_confirm = "5m"
  }
}

locals {
  storage = { st1 = 11, st2 = 12 }
  compute = { cn1 = 21, cn2 = 22 }
  nodes   = merge(local.storage, local.compute)
}

server "node" {
  for_each = local.nodes
  host     = "${each.key}.mgmt.example.net"

  rnic "p0" {
    match   = { pci = "0000:5e:00.0" }
    address = "${cidrhost("10.60.1.0/24", each.value)}/24"
    fabric  = fabric.iwarp
  }

  rnic "p1" {
    match   = { pci = "0000:5e:00.1" }
    address = "${cidrhost("10.60.2.0/24", each.value)}/24"
    fabric  = fabric.iwarp
  }
}

link "plane-a" {
  for_each = local.nodes
  from     = server.node[each.key].rnic.p0
  to       = switch.leaf["a"].port["Ethernet1/${each.value}"]
  speed    = "25G"
}

link "plane-b" {
  for_each = local.nodes
  from     = server.node[each.key].rnic.p1
  to       = switch.leaf["b"].port["Ethernet1/${each.value}"]
  speed    = "25G"
}

pool "flash" {
  for_each = local.storage
  server   = server.node[each.key]
  drives   = ["nvme-eui.010000000000000000000000000000${each.value}"]
}

volume "data" {
  for_each = local.storage
  pool     = pool.flash[each.key]
  size     = "500GiB"
}

target "nvme" {
  for_each  = local.storage
  server    = server.node[each.key]
  transport = ["rdma", "tcp"] # an order: plain TCP where RDMA does not connect, shown as degraded
  portals   = values(server.node[each.key].rnic)

  subsystem "data" {
    nqn = "nqn.2026-11.net.example:iwarp:${each.key}"

    namespace "1" { from = volume.data[each.key] }
  }
}

initiator "nvme" {
  for_each = local.compute
  server   = server.node[each.key]

  connect {
    to = target.nvme # both of them
  }
}
