# All 64 servers are built alike, so one block says it all.
server "node" {
  for_each = local.nodes
  host     = "${each.key}.${var.domain}"
  labels = {
    role = contains(keys(local.storage), each.key) ? "storage" : "compute"
    rack = format("r%d", floor((each.value - 1) / 16) + 1) # 16 servers in a rack
  }

  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost(local.subnets["a"], each.value)}/24"
    fabric  = fabric.roce
  }

  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "${cidrhost(local.subnets["b"], each.value)}/24"
    fabric  = fabric.roce
  }
}

# Port n of both leaves goes to server n. There is one block for each plane, so
# that a rollout can select the cables of one plane.
link "plane-a" {
  for_each = local.nodes
  from     = server.node[each.key].rnic.p0
  to       = switch.leaf["a"].port["Ethernet1/${each.value}"]
  speed    = "100G"
}

link "plane-b" {
  for_each = local.nodes
  from     = server.node[each.key].rnic.p1
  to       = switch.leaf["b"].port["Ethernet1/${each.value}"]
  speed    = "100G"
}
