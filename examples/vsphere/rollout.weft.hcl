validation "fabric-healthy" {
  # ESXi does not report how its NICs classify packets, nor their ETS shares.
  allow_unmeasured = ["esxi"]

  metric "rdma_drops" {
    source = "switch.port.class.rdma.drops"
    delta  = true
    max    = 0 # lossless means none
  }

  metric "watchdog_events" {
    source = "switch.port.pfc_watchdog.events"
    delta  = true
    max    = 0
  }
}

validation "latency" {
  probe   = "nvme-read" # reads only
  pairs   = "all"
  sizes   = ["4KiB"]
  samples = var.samples

  # weft's probes do not run on ESXi, and nothing documented shows what carries PVRDMA.
  # Without this line the verdict is partial, and gates pause.
  allow_unmeasured = ["esxi", vm.hpc]

  metric "added_p99" {
    size = "4KiB"
    max  = var.added_p99
  }

  metric "errors" {
    max = 0
  }
}

rollout "vsphere" {
  max_unavailable = 1
  on_failure      = "rollback-phase"
  accept_no_undo  = true # an adapter of NVMe stays: nothing is documented that turns it off

  phase "plane-a" {
    select = [switch.leaf-a, link.storage-a, link.esx-a]
    gate   = [validation.fabric-healthy]
    soak   = var.soak
  }

  phase "plane-b" {
    select = [switch.leaf-b, link.storage-b, link.esx-b]
    gate   = [validation.fabric-healthy]
    soak   = var.soak
  }

  phase "storage" {
    select = ["@role=storage"]
    gate   = [validation.fabric-healthy, validation.latency]
    soak   = var.soak
  }

  phase "network" { # hosts have their ports of the VMkernel from it
    select = dvswitch.rdma
    gate   = [validation.fabric-healthy]
    soak   = var.soak
  }

  phase "first-host" {
    select  = [server.esx["esx1"]]
    gate    = [validation.fabric-healthy, validation.latency]
    soak    = var.soak
    approve = var.approve # "manual": it waits for weft rollout promote
  }

  phase "hosts" {
    select = [for name, s in server.esx : s if name != "esx1"]
    batch  = ["1", "100%"]
    gate   = [validation.fabric-healthy, validation.latency]
    soak   = var.soak
  }

  phase "virtual" {
    select = "remaining" # virtual machines, and RDMA of vSAN
    gate   = [validation.fabric-healthy]
    soak   = var.soak
  }
}

check "two-planes" {
  assert {
    condition     = alltrue([for i in values(initiator.esx) : i.live_paths >= 2])
    error_message = "A host reaches its datastores over one plane only; a leaf reboot would stop it."
  }
}
