fabric "roce" {
  transport = "rocev2"
  mode      = "lossless"
  mtu       = 9216
  host_mtu  = 9000

  plane "a" { subnet = "10.50.1.0/24" }
  plane "b" { subnet = "10.50.2.0/24" }

  # ESXi takes PFC for this priority from the leaf by DCBX: no command of its own sets it.
  # vSAN asks for priority 3 in any case.
  traffic_class "rdma" {
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

switch "leaf-a" {
  os         = "nxos"
  host       = "leaf-a.mgmt.example.net"
  serial     = "FDO00000051"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "a"

  safety {
    commit_confirm = "5m"
    save           = "after-soak"
  }
}

switch "leaf-b" {
  os         = "comware"
  host       = "leaf-b.mgmt.example.net"
  serial     = "210200A00000000051"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "b"

  safety {
    commit_confirm = "5m"
    save           = "after-soak"
  }
}

# Standard vSwitches speak CDP and no LLDP: the cables of ESXi hosts are not proven.
link "esx-a" {
  for_each = var.esx
  from     = server.esx[each.key].rnic.p0
  to       = switch.leaf-a.port["Ethernet1/${each.value.node}"]
  speed    = "100G"
}

link "esx-b" {
  for_each = var.esx
  from     = server.esx[each.key].rnic.p1
  to       = switch.leaf-b.port["HundredGigE1/0/${each.value.node}"]
  speed    = "100G"
}

link "storage-a" {
  for_each = var.storage
  from     = server.storage[each.key].rnic.p0
  to       = switch.leaf-a.port["Ethernet1/${each.value.node}"]
  speed    = "100G"
}

link "storage-b" {
  for_each = var.storage
  from     = server.storage[each.key].rnic.p1
  to       = switch.leaf-b.port["HundredGigE1/0/${each.value.node}"]
  speed    = "100G"
}
