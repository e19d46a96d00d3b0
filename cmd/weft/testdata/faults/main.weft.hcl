# Two planes of two leaves each; plane a is NX-OS, plane b Comware.
weft {
  name = "matrix"
}

variable "round" {
  description = "Changes a file, so that a rollout has something to do."
  type        = number
  default     = 0
}

variable "approve" {
  type    = string
  default = "none"
}

connection "default" {
  user   = "weft"
  become = "sudo"
}
credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}
locals {
  servers = {
    st1 = { n = 11, leaf = 1 }
    st2 = { n = 12, leaf = 2 }
    cn1 = { n = 21, leaf = 1 }
    cn2 = { n = 22, leaf = 2 }
  }
  storage = ["st1", "st2"]
  compute = ["cn1", "cn2"]
}
fabric "roce" {
  transport = "rocev2"
  mode      = "lossless"
  mtu       = 9216
  host_mtu  = 9000
  plane "a" { subnet = "10.40.1.0/24" }
  plane "b" { subnet = "10.40.2.0/24" }
  traffic_class "rdma" {
    carries   = ["rdma", "tcp"]
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
switch "a" {
  for_each   = toset(["1", "2"])
  os         = "nxos"
  host       = "a${each.key}.mgmt.example.net"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "a"
  safety { commit_confirm = "5m" }
}
switch "b" {
  for_each   = toset(["1", "2"])
  os         = "comware"
  host       = "b${each.key}.mgmt.example.net"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "b"
  safety { commit_confirm = "5m" }
}
server "node" {
  for_each = local.servers
  host     = "${each.key}.mgmt.example.net"
  os       = "linux"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.40.1.${each.value.n}/24"
    fabric  = fabric.roce
  }
  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "10.40.2.${each.value.n}/24"
    fabric  = fabric.roce
  }
}
link "plane-a" {
  for_each = local.servers
  from     = server.node[each.key].rnic.p0
  to       = switch.a["${each.value.leaf}"].port["Ethernet1/${each.value.n}"]
  speed    = "100G"
}
link "plane-b" {
  for_each = local.servers
  from     = server.node[each.key].rnic.p1
  to       = switch.b["${each.value.leaf}"].port["HundredGigE1/0/${each.value.n}"]
  speed    = "100G"
}
link "between-a" {
  from  = switch.a["1"].port["Ethernet1/31"]
  to    = switch.a["2"].port["Ethernet1/31"]
  speed = "100G"
}
link "between-b" {
  from  = switch.b["1"].port["HundredGigE1/0/31"]
  to    = switch.b["2"].port["HundredGigE1/0/31"]
  speed = "100G"
}
pool "flash" {
  for_each = toset(local.storage)
  server   = server.node[each.key]
  drives   = ["nvme-SIM_${each.key}"]
}
volume "fast" {
  for_each = toset(local.storage)
  pool     = pool.flash[each.key]
  size     = "1TiB"
}
target "nvme" {
  for_each  = toset(local.storage)
  server    = server.node[each.key]
  engine    = "weft"
  transport = ["tcp"]
  portals   = [for p in ["p0", "p1"] : server.node[each.key].rnic[p]]
  port      = 4420
  subsystem "data" {
    nqn = "nqn.2026-11.net.example:matrix:${each.key}"
    namespace "1" {
      from = volume.fast[each.key]
    }
  }
}
initiator "nvme" {
  for_each = toset(local.compute)
  server   = server.node[each.key]
  connect {
    to    = target.nvme
    paths = "all-planes"
  }
}
validation "hops" {
  metric "rdma_drops" {
    source = "switch.port.class.rdma.drops"
    delta  = true
    max    = 0
  }
}

# It is in no fabric: a phase for which nothing of the fabric changes.
server "beside" {
  host = "beside.mgmt.example.net"
  os   = "linux"

  file "/etc/round" {
    mode    = "0644"
    content = "${var.round}"
  }
}

rollout "faults" {
  on_failure = "rollback-phase"

  phase "fabric" {
    select = [switch.a, switch.b, server.node]
    gate   = [validation.hops]
  }

  phase "beside" {
    select  = "remaining"
    gate    = [validation.hops]
    approve = var.approve
  }
}
