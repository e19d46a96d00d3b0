validation "fabric-healthy" {
  metric "rdma_drops" {
    source = "switch.port.class.rdma.drops"
    delta  = true
    max    = 0 # lossless means none
  }
}

validation "latency" {
  probe   = "nvme-read"
  sizes   = ["4KiB", "64KiB"]
  samples = var.samples

  metric "p99" {
    size = "4KiB"
    max  = var.p99
  }

  metric "errors" {
    max = 0
  }
}

# One plane after the other, then two servers, then the rest in growing steps.
rollout "pod" {
  max_unavailable = 4
  max_failures    = 1

  phase "baseline" {
    record = [validation.fabric-healthy, validation.latency]
  }

  phase "plane-a" {
    select = [switch.leaf["a"], link.plane-a]
    gate   = [validation.fabric-healthy]
    soak   = var.soak
  }

  phase "plane-b" {
    select = [switch.leaf["b"], link.plane-b]
    gate   = [validation.fabric-healthy]
    soak   = var.soak
  }

  phase "canary" {
    select  = [server.node["st05"], server.node["cn01"]] # cn01 uses it: else there was nothing to measure
    gate    = [validation.fabric-healthy, validation.latency]
    soak    = var.soak
    approve = var.approve
  }

  phase "rest" {
    select = "remaining"
    batch  = ["2", "10%", "100%"]
    gate   = [validation.fabric-healthy, validation.latency]
    soak   = var.soak
  }
}

check "two-planes" {
  assert {
    condition     = alltrue([for i in values(initiator.nvme) : i.live_paths >= 2])
    error_message = "A compute server reaches one of its targets over one plane only."
  }
}
