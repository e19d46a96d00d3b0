# What holds for every switch of an operating system stands in its os block;
# a switch block says what differs or is known only of one model.
#
# port_names are the names that the running configuration prints, whole.
# commit_methods are the timed reverts that weft arms there.
# models are those that take the lines weft writes: what a switch reports has it.
# port_kinds are the kinds of ports by the short names that people and lists use,
# port_speeds the fastest that a port of a kind is, in Gbit/s.
# confirm_seconds are the shortest and the longest timed revert.
# pfc_priorities are those that can be lossless; all, where nothing is said.
# avoid_pfc are priorities that the vendor advises against making lossless.
# ecn: queues can mark packets instead of dropping them.

os "nxos" {
  vendor         = "Cisco"
  port_names     = ["Ethernet[0-9]+/[0-9]+(/[0-9]+)?", "port-channel[0-9]+"]
  commit_methods = ["dual-stage"]
  models         = "^(Nexus ?9000|N9K-)"
  port_example   = "Ethernet1/1"
  port_kinds = {
    e           = "Ethernet"
    et          = "Ethernet"
    eth         = "Ethernet"
    ethe        = "Ethernet"
    ether       = "Ethernet"
    ethern      = "Ethernet"
    etherne     = "Ethernet"
    ethernet    = "Ethernet"
    po          = "port-channel"
    port-channel = "port-channel"
  }
  confirm_seconds = [30, 65535]
  pfc_priorities  = [1, 2, 3, 4, 5, 6, 7]
  queues         = 8
  max_mtu        = 9216
  ecn            = true
  source = {
    ecn            = nxos_qos
    models         = nxos_qos
    port_names     = nxos_output
    port_example   = nxos_output
    port_kinds     = nxos_output
    confirm_seconds = nxos_confirm
    pfc_priorities  = nxos_classes
    commit_methods = nxos_commit
    queues         = roce_enable
    max_mtu        = nxos_dme
  }
}

os "comware" {
  vendor = "H3C"
  port_names = [
    "(GigabitEthernet|Ten-GigabitEthernet|Twenty-FiveGigE|FortyGigE|HundredGigE|TwoHundredGigE|FourHundredGigE)[0-9]+(/[0-9]+){2,3}(:[0-9]+)?",
    "Bridge-Aggregation[0-9]+",
  ]
  port_example = "HundredGigE1/0/1"
  port_kinds = {
    GE    = "GigabitEthernet"
    XGE   = "Ten-GigabitEthernet"
    WGE   = "Twenty-FiveGigE"
    FGE   = "FortyGigE"
    HGE   = "HundredGigE"
    "200GE" = "TwoHundredGigE"
    "400GE" = "FourHundredGigE"
  }
  port_speeds = {
    GigabitEthernet     = 1
    Ten-GigabitEthernet = 10
    Twenty-FiveGigE     = 25
    FortyGigE           = 40
    HundredGigE         = 100
    TwoHundredGigE      = 200
    FourHundredGigE     = 400
  }
  commit_methods = ["commit-delay"]
  queues         = 8
  avoid_pfc      = [0, 6, 7]
  ecn            = true
  source = {
    ecn            = h3c_rdma
    port_names     = h3c_interfaces
    port_example   = h3c_interfaces
    port_kinds     = h3c_interfaces
    port_speeds    = h3c_interfaces
    commit_methods = h3c_commit
    queues         = h3c_qos
    avoid_pfc      = h3c_pfc
  }
}

switch "n9k-c93180yc-ex" {
  os               = "nxos"
  model            = "Nexus 93180YC-EX"
  pattern          = "\\bC93180YC-EX\\b"
  ports            = { "25" = 48, "100" = 6 }
  pause_buffer_min = 27456
  source = {
    ports            = netbox
    pause_buffer_min = c93180_notes
  }
}

switch "n9k-c93180yc-fx" {
  os      = "nxos"
  model   = "Nexus 93180YC-FX"
  pattern = "\\bC93180YC-FX$"
  ports   = { "25" = 48, "100" = 6 }
  source  = { ports = netbox }
}

switch "n9k-c93180yc-fx3" {
  os      = "nxos"
  model   = "Nexus 93180YC-FX3"
  pattern = "\\bC93180YC-FX3\\b"
  ports   = { "25" = 48, "100" = 6 }
  source  = { ports = netbox }
}

switch "n9k-c9332pq" {
  os      = "nxos"
  model   = "Nexus 9332PQ"
  pattern = "\\bC9332PQ\\b"
  queues  = 4
  source  = { queues = rdma_cluster }
}

switch "n9k-c9336c-fx2" {
  os      = "nxos"
  model   = "Nexus 9336C-FX2"
  pattern = "\\bC9336C-FX2\\b"
  ports   = { "100" = 36 }
  source  = { ports = netbox }
}

switch "n9k-c9504" {
  os       = "nxos"
  model    = "Nexus 9504"
  pattern  = "\\bC9504\\b"
  qos_tcam = "ports that route"
  source   = { qos_tcam = nxos_tcam }
}

switch "n9k-c9508" {
  os              = "nxos"
  model           = "Nexus 9508"
  pattern         = "\\bC9508\\b"
  no_pfc_releases = ["7.0(3)F3(3)"]
  qos_tcam        = "ports that route"
  source          = { no_pfc_releases = nxos_pfc_7, qos_tcam = nxos_tcam }
}

switch "n9k-c9516" {
  os       = "nxos"
  model    = "Nexus 9516"
  pattern  = "\\bC9516\\b"
  qos_tcam = "ports that route"
  source   = { qos_tcam = nxos_tcam }
}

switch "n9k-c93600cd-gx" {
  os      = "nxos"
  model   = "Nexus 93600CD-GX"
  pattern = "\\bC93600CD-GX\\b"
  ports   = { "100" = 28, "400" = 8 }
  source  = { ports = netbox }
}

switch "n9k-c9332d-gx2b" {
  os      = "nxos"
  model   = "Nexus 9332D-GX2B"
  pattern = "\\bC9332D-GX2B\\b"
  ports   = { "10" = 2, "400" = 32 }
  source  = { ports = netbox }
}

switch "n9k-c9364d-gx2a" {
  os      = "nxos"
  model   = "Nexus 9364D-GX2A"
  pattern = "\\bC9364D-GX2A\\b"
  ports   = { "10" = 2, "400" = 64 }
  source  = { ports = netbox }
}

switch "s6800" {
  os       = "comware"
  model    = "S6800"
  pattern  = "\\bS6800-"
  releases = "R24xx to R26xx"
  source   = { releases = s68_releases }
}

switch "s6850" {
  os       = "comware"
  model    = "S6805, S6825, S6850"
  pattern  = "\\bS68(05|25|50)-"
  releases = "R65xx, R66xx"
  source   = { releases = s68_releases }
}

switch "s9850" {
  os        = "comware"
  model     = "S9850"
  pattern   = "\\bS9850-"
  releases  = "R65xx, R66xx"
  wred_unit = "cells"
  source = {
    releases  = s68_releases
    wred_unit = h3c_rdma
  }
}

switch "s9820-64h" {
  os             = "comware"
  model          = "S9820-64H"
  pattern        = "\\bS9820-64H\\b"
  wred_unit      = "cells"
  cell_bytes     = 208
  headroom_cells = 28672
  source = {
    wred_unit      = h3c_rdma
    cell_bytes     = h3c_rdma
    headroom_cells = h3c_rdma
  }
}

switch "s9820-8c" {
  os             = "comware"
  model          = "S9820-8C"
  pattern        = "\\bS9820-8C\\b"
  wred_unit      = "cells"
  headroom_cells = 12288
  source = {
    wred_unit      = h3c_rdma
    headroom_cells = h3c_rdma
  }
}

switch "s9825" {
  os       = "comware"
  model    = "S9825, S9855"
  pattern  = "\\bS98[25]5-"
  releases = "R91xx"
  source   = { releases = s68_releases }
}

switch "hpe-5900" {
  os        = "comware"
  model     = "HPE FlexFabric 5900"
  pattern   = "\\b5900"
  wred_unit = "packets"
  source    = { wred_unit = hpe_5900 }
}
