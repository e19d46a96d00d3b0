fabric "roce" {
  transport = "rocev2"
  mode      = "lossless"

  plane "a" { subnet = local.subnets["a"] }
  plane "b" { subnet = local.subnets["b"] }

  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3
    bandwidth = 60 # percent, ETS
    pfc       = true

    ecn {
      min         = "150KB"
      max         = "1500KB"
      probability = 5 # percent at max
    }
  }

  traffic_class "cnp" { # the answer to an ECN mark must not queue behind data
    dscp     = [48]
    priority = 6
    strict   = true
  }

  traffic_class "default" { # all other traffic
    bandwidth = 40
  }

  pfc_watchdog {
    action = "drop"
  }
}

# for_each over the planes makes switch.leaf["a"] and switch.leaf["b"].
switch "leaf" {
  for_each   = local.subnets
  os         = "nxos"
  host       = "leaf-${each.key}.${var.domain}"
  serial     = var.serials[each.key]
  credential = credential.switch
  fabric     = fabric.roce
  plane      = each.key

  safety {
    commit_confirm = "5m" # the switch reverts by itself if weft vanishes
  }
}
