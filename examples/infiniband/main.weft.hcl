# Three servers on InfiniBand, with two separate networks as two planes.
#
# InfiniBand never drops a frame when a buffer is full: the receiver grants
# credits. So there is no PFC, no ECN and no traffic class to agree on, and
# none is written here. Each plane needs one running subnet manager, on a
# switch or on a server; weft does not run it.
weft {
  required_version = ">= 0.1"
  name             = "ib-cell"
}

connection "default" {
  user   = "weft"
  become = "sudo"
}

fabric "ib" {
  transport = "infiniband"
  mode      = "lossless"
  host_mtu  = 4092 # IPoIB in datagram mode: the 4096 of the port less 4 of its header

  # NVMe over RDMA finds its peer by an IP address, also here: each plane is a
  # subnet of IPoIB addresses, on top of what the subnet manager assigns.
  plane "a" { subnet = "10.50.1.0/24" }
  plane "b" { subnet = "10.50.2.0/24" }
}

variable "servers" {
  description = "Host number in both planes, by the name of the server."
  type        = map(number)
  default     = { st1 = 11, cn1 = 21, cn2 = 22 }
}

# One switch for each plane. There is nothing on them that weft manages, so it
# need not know what they run or how to log in; declared, they belong to the
# paths and to the cables.
switch "ib" {
  for_each  = { a = "a", b = "b" }
  unmanaged = true
  fabric    = fabric.ib
  plane     = each.value
}

server "node" {
  for_each = var.servers
  host     = "${each.key}.mgmt.example.net"

  rnic "ib0" {
    match   = { pci = "0000:17:00.0" } # a MAC address would not do: IPoIB has longer ones
    address = "${cidrhost("10.50.1.0/24", each.value)}/24"
    fabric  = fabric.ib
  }

  rnic "ib1" {
    match   = { pci = "0000:ca:00.0" }
    address = "${cidrhost("10.50.2.0/24", each.value)}/24"
    fabric  = fabric.ib
  }
}

# Ports are called as on the front of the switch, and taken in the order of names.
locals {
  ports = { for i, name in sort(keys(var.servers)) : name => i + 1 }
}

link "a" {
  for_each = var.servers
  from     = server.node[each.key].rnic.ib0
  to       = switch.ib["a"].port[tostring(local.ports[each.key])]
}

link "b" {
  for_each = var.servers
  from     = server.node[each.key].rnic.ib1
  to       = switch.ib["b"].port[tostring(local.ports[each.key])]
}

pool "flash" {
  server = server.node["st1"]
  drives = ["nvme-eui.01000000000000000000000000000011", "nvme-eui.01000000000000000000000000000012"]
}

volume "data" {
  pool = pool.flash
  size = "1TiB"
}

target "nvme" {
  server    = server.node["st1"]
  transport = ["rdma"] # over TCP it would still run, slower; it is not asked for
  portals   = [server.node["st1"].rnic.ib0, server.node["st1"].rnic.ib1]

  subsystem "data" {
    nqn = "nqn.2026-11.net.example:ib-cell:st1"

    namespace "1" { from = volume.data }
  }
}

initiator "nvme" {
  for_each = toset([for name in keys(var.servers) : name if startswith(name, "cn")])
  server   = server.node[each.key]

  connect {
    to = target.nvme
  }
}

validation "latency" {
  probe = "nvme-read"
  sizes = ["512B", "4KiB", "64KiB"]

  metric "p99" {
    size = "4KiB"
    max  = "100us"
  }

  metric "errors" { max = 0 }
}

validation "links" {
  metric "symbol_errors" {
    source = "server.rnic.ib.symbol_errors"
    delta  = true
    max    = 0
  }

  metric "link_downed" {
    source = "server.rnic.ib.link_downed"
    delta  = true
    max    = 0
  }
}
