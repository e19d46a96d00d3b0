pool "flash" {
  for_each = local.storage
  server   = server.node[each.key]
  drives   = var.drives[each.key]

  on_existing_data = "refuse"
}

volume "data" {
  for_each = local.storage
  pool     = pool.flash[each.key]
  size     = "2TiB"
}

target "nvme" {
  for_each  = local.storage
  server    = server.node[each.key]
  engine    = "weft"
  transport = var.transport
  portals   = [for p in ["p0", "p1"] : server.node[each.key].rnic[p]]

  allow_degraded = var.allow_degraded

  subsystem "data" { # allow_hosts is not written: the initiators that connect, and no other
    nqn = "nqn.2026-11.net.example:pod64:${each.key}"

    namespace "1" {
      from = volume.data[each.key]
    }
  }
}

initiator "nvme" {
  for_each = local.compute
  server   = server.node[each.key]

  connect {
    # Its group, and not all 16: a bare target.nvme would mean all of them.
    to       = [for st in local.groups[each.value % length(local.groups)] : target.nvme[st]]
    iopolicy = "queue-depth"
  }
}
