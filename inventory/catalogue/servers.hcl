# sys_vendor and product are what DMI says, compared without regard to case.
# pcie_generation is the newest that any slot offers: what a card really gets
# is read from the machine.

server "dell-r750xa" {
  vendor          = "Dell"
  model           = "PowerEdge R750xa"
  sys_vendor      = ["Dell Inc."]
  product         = ["PowerEdge R750xa"]
  pcie_generation = 4
  pcie_slots      = 7
  ocp_slots       = 1
  source = {
    sys_vendor      = dell_report
    product         = none
    pcie_generation = netbox
    pcie_slots      = netbox
    ocp_slots       = netbox
  }
}

server "dell-r760xa" {
  vendor          = "Dell"
  model           = "PowerEdge R760xa"
  sys_vendor      = ["Dell Inc."]
  product         = ["PowerEdge R760xa"]
  pcie_generation = 5
  pcie_slots      = 12
  ocp_slots       = 1
  source = {
    sys_vendor      = dell_report
    product         = dmi_r760xa
    pcie_generation = dell_infohub
    pcie_slots      = netbox
    ocp_slots       = netbox
  }
}

server "dell-r770" {
  vendor          = "Dell"
  model           = "PowerEdge R770"
  sys_vendor      = ["Dell Inc."]
  product         = ["PowerEdge R770"]
  pcie_generation = 5
  pcie_slots      = 8
  ocp_slots       = 1
  source = {
    sys_vendor      = dell_report
    product         = none
    pcie_generation = sth_r770
    pcie_slots      = netbox
    ocp_slots       = netbox
  }
}

# No document with the slots of this server was found.
server "hpe-dl380-gen11" {
  vendor     = "HPE"
  model      = "ProLiant DL380 Gen11"
  sys_vendor = ["HPE"]
  product    = ["ProLiant DL380 Gen11"]
  source = {
    sys_vendor = hpe_lshw
    product    = none
  }
}

# No document about this server was found: the name is the one it is asked for
# by, and what DMI says is a guess.
server "huawei-2298h-v7" {
  vendor     = "Huawei"
  model      = "2298H V7"
  sys_vendor = ["Huawei", "xFusion"]
  product    = ["2298H V7", "FusionServer 2298H V7"]
  source = {
    sys_vendor = none
    product    = none
  }
}

server "xfusion-2288h-v7" {
  vendor     = "xFusion"
  model      = "FusionServer 2288H V7"
  sys_vendor = ["Huawei", "xFusion"]
  product    = ["2288H V7", "FusionServer 2288H V7"]
  ocp_slots  = 2
  source = {
    sys_vendor = none
    product    = none
    ocp_slots  = fusion_2288h_v7
  }
}
