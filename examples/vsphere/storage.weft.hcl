pool "flash" {
  for_each = var.storage
  server   = server.storage[each.key]
  drives   = each.value.drives
}

# No mirror: ESXi hosts take their locks in one copy (weft explain WF-NVM-014). What
# protects a datastore here is a second one on the other server.
volume "vmfs" {
  for_each = var.storage
  pool     = pool.flash[each.key]
  size     = "2TiB"
}

target "nvme" {
  for_each  = var.storage
  server    = server.storage[each.key]
  engine    = "weft" # has fused compare and write, which shared datastores need
  transport = var.transport
  portals   = [for p in ["p0", "p1"] : server.storage[each.key].rnic[p]]

  allow_degraded = var.allow_degraded

  subsystem "vmfs" {
    nqn = "nqn.2026-11.net.example:vsphere:${each.key}"

    namespace "1" {
      from = volume.vmfs[each.key]
      uuid = uuidv5("dns", "vmfs.${each.key}.vsphere.example.net")
    }
  }
}

initiator "esx" {
  for_each = var.esx
  server   = server.esx[each.key]
  hostnqn  = "nqn.2014-08.org.nvmexpress:uuid:${each.value.uuid}" # its own: ESXi takes no other

  connect { to = target.nvme }
}

# weft's probes do not run on ESXi. From each storage server they read from the other one,
# and connect nothing.
initiator "probe" {
  for_each = var.storage
  server   = server.storage[each.key]
  engine   = "none"

  connect { to = [for name, t in target.nvme : t if name != each.key] }
}
