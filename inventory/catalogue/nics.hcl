# transports are those of weft's fabrics.
# speed is the fastest port of the family, in Gbit/s. io_queues is how many I/O
# queues of one connection are known to work with a Linux target.

nic "connectx-4" {
  vendor            = "NVIDIA"
  model             = "ConnectX-4"
  pci               = ["15b3:1013"]
  virtual_functions = ["15b3:1014"]
  driver            = "mlx5_core"
  rdma_driver       = "mlx5_ib"
  transports        = ["rocev2", "infiniband"]
  pcie_generation   = 3
  speed             = 100
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = linux_mlx5
    rdma_driver       = linux_mlx5
    transports        = mlnx_ofed
    pcie_generation   = cx4_manual
    speed             = mlnx_ofed
  }
}

nic "connectx-4-lx" {
  vendor            = "NVIDIA"
  model             = "ConnectX-4 Lx"
  pci               = ["15b3:1015"]
  virtual_functions = ["15b3:1016"]
  driver            = "mlx5_core"
  rdma_driver       = "mlx5_ib"
  transports        = ["rocev2"]
  pcie_generation   = 3
  speed             = 50
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = linux_mlx5
    rdma_driver       = linux_mlx5
    transports        = mlnx_ofed
    pcie_generation   = cx4lx_manual
    speed             = mlnx_ofed
  }
}

nic "connectx-5" {
  vendor            = "NVIDIA"
  model             = "ConnectX-5"
  pci               = ["15b3:1017"]
  virtual_functions = ["15b3:1018"]
  driver            = "mlx5_core"
  rdma_driver       = "mlx5_ib"
  transports        = ["rocev2", "infiniband"]
  pcie_generation   = 3
  speed             = 100
  io_queues         = 15
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = linux_mlx5
    rdma_driver       = linux_mlx5
    transports        = mlnx_ofed
    pcie_generation   = cx5_manual
    speed             = mlnx_ofed
    io_queues         = spdk_2772
  }
}

nic "connectx-5-ex" {
  vendor            = "NVIDIA"
  model             = "ConnectX-5 Ex"
  pci               = ["15b3:1019"]
  virtual_functions = ["15b3:101a"]
  driver            = "mlx5_core"
  rdma_driver       = "mlx5_ib"
  transports        = ["rocev2", "infiniband"]
  pcie_generation   = 4
  speed             = 100
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = linux_mlx5
    rdma_driver       = linux_mlx5
    transports        = mlnx_ofed
    pcie_generation   = cx5_manual
    speed             = mlnx_ofed
  }
}

nic "connectx-6" {
  vendor            = "NVIDIA"
  model             = "ConnectX-6"
  pci               = ["15b3:101b"]
  virtual_functions = ["15b3:101c"]
  driver            = "mlx5_core"
  rdma_driver       = "mlx5_ib"
  transports        = ["rocev2", "infiniband"]
  pcie_generation   = 4
  speed             = 200
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = linux_mlx5
    rdma_driver       = linux_mlx5
    transports        = mlnx_ofed
    pcie_generation   = cx6_manual
    speed             = mlnx_ofed
  }
}

nic "connectx-6-dx" {
  vendor          = "NVIDIA"
  model           = "ConnectX-6 Dx"
  pci             = ["15b3:101d"]
  driver          = "mlx5_core"
  rdma_driver     = "mlx5_ib"
  transports      = ["rocev2"]
  pcie_generation = 4
  speed           = 200
  source = {
    pci             = pci_ids
    driver          = linux_mlx5
    rdma_driver     = linux_mlx5
    transports      = mlnx_ofed
    pcie_generation = cx6dx_fw
    speed           = mlnx_ofed
  }
}

nic "connectx-6-lx" {
  vendor          = "NVIDIA"
  model           = "ConnectX-6 Lx"
  pci             = ["15b3:101f"]
  driver          = "mlx5_core"
  rdma_driver     = "mlx5_ib"
  transports      = ["rocev2"]
  pcie_generation = 4
  speed           = 50
  source = {
    pci             = pci_ids
    driver          = linux_mlx5
    rdma_driver     = linux_mlx5
    transports      = mlnx_ofed
    pcie_generation = cx6lx_fw
    speed           = mlnx_ofed
  }
}

nic "connectx-7" {
  vendor          = "NVIDIA"
  model           = "ConnectX-7"
  pci             = ["15b3:1021"]
  driver          = "mlx5_core"
  rdma_driver     = "mlx5_ib"
  transports      = ["rocev2", "infiniband"]
  pcie_generation = 5
  speed           = 400
  source = {
    pci             = pci_ids
    driver          = linux_mlx5
    rdma_driver     = linux_mlx5
    transports      = mlnx_ofed
    pcie_generation = cx7_manual
    speed           = mlnx_ofed
  }
}

nic "bluefield" {
  vendor            = "NVIDIA"
  model             = "BlueField"
  pci               = ["15b3:a2d2"]
  virtual_functions = ["15b3:a2d3"]
  driver            = "mlx5_core"
  rdma_driver       = "mlx5_ib"
  transports        = ["rocev2", "infiniband"]
  speed             = 100
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = linux_mlx5
    rdma_driver       = linux_mlx5
    transports        = mlnx_ofed
    speed             = mlnx_ofed
  }
}

nic "bluefield-2" {
  vendor          = "NVIDIA"
  model           = "BlueField-2"
  pci             = ["15b3:a2d6"]
  driver          = "mlx5_core"
  rdma_driver     = "mlx5_ib"
  transports      = ["rocev2", "infiniband"]
  pcie_generation = 4
  speed           = 200
  source = {
    pci             = pci_ids
    driver          = linux_mlx5
    rdma_driver     = linux_mlx5
    transports      = mlnx_ofed
    pcie_generation = bf2_fw
    speed           = bf2_fw
  }
}

nic "bluefield-3" {
  vendor          = "NVIDIA"
  model           = "BlueField-3"
  pci             = ["15b3:a2dc"]
  driver          = "mlx5_core"
  rdma_driver     = "mlx5_ib"
  transports      = ["rocev2", "infiniband"]
  pcie_generation = 5
  speed           = 400
  source = {
    pci             = pci_ids
    driver          = linux_mlx5
    rdma_driver     = linux_mlx5
    transports      = bf3_bsp
    pcie_generation = bf3_bsp
    speed           = bf3_bsp
  }
}

nic "bcm57414" {
  vendor      = "Broadcom"
  model       = "BCM57414"
  pci         = ["14e4:16d7", "14e4:16ed"]
  driver      = "bnxt_en"
  rdma_driver = "bnxt_re"
  transports  = ["rocev2"]
  speed       = 25
  source = {
    pci         = pci_ids
    driver      = linux_bnxt
    rdma_driver = linux_bnxt
    transports  = linux_bnxt
    speed       = pci_ids
  }
}

nic "bcm57504" {
  vendor      = "Broadcom"
  model       = "BCM57504"
  pci         = ["14e4:1751", "14e4:1804"]
  driver      = "bnxt_en"
  rdma_driver = "bnxt_re"
  transports  = ["rocev2"]
  speed       = 100
  source = {
    pci         = pci_ids
    driver      = linux_bnxt
    rdma_driver = linux_bnxt
    transports  = linux_bnxt
    speed       = pci_ids
  }
}

nic "bcm57508" {
  vendor          = "Broadcom"
  model           = "BCM57508"
  pci             = ["14e4:1750", "14e4:1805"]
  driver          = "bnxt_en"
  rdma_driver     = "bnxt_re"
  transports      = ["rocev2"]
  pcie_generation = 4
  speed           = 200
  source = {
    pci             = pci_ids
    driver          = linux_bnxt
    rdma_driver     = linux_bnxt
    transports      = linux_bnxt
    pcie_generation = p2100g_ds
    speed           = pci_ids
  }
}

nic "e810-c" {
  vendor          = "Intel"
  model           = "E810-C"
  pci             = ["8086:1590", "8086:1591", "8086:1592", "8086:1593", "8086:1594", "8086:1595"]
  driver          = "ice"
  rdma_driver     = "irdma"
  transports      = ["rocev2", "iwarp"]
  pcie_generation = 4
  speed           = 100
  max_mtu         = 9702
  source = {
    pci             = pci_ids
    driver          = linux_ice
    rdma_driver     = intel_irdma
    transports      = intel_irdma
    pcie_generation = e810_review
    speed           = e810_review
    max_mtu         = linux_ice
  }
}

nic "e810-xxv" {
  vendor      = "Intel"
  model       = "E810-XXV"
  pci         = ["8086:1598", "8086:1599", "8086:159a", "8086:159b", "8086:159c", "8086:159d"]
  driver      = "ice"
  rdma_driver = "irdma"
  transports  = ["rocev2", "iwarp"]
  max_mtu     = 9702
  source = {
    pci         = pci_ids
    driver      = linux_ice
    rdma_driver = intel_irdma
    transports  = intel_irdma
    max_mtu     = linux_ice
  }
}

# pci.ids knows no E820; E822 and E823 sit in the processor.
nic "e822" {
  vendor = "Intel"
  model  = "E822"
  pci = [
    "8086:1890", "8086:1891", "8086:1892", "8086:1893", "8086:1894", "8086:1897",
    "8086:1898", "8086:1899", "8086:189a",
  ]
  driver      = "ice"
  rdma_driver = "irdma"
  transports  = ["rocev2", "iwarp"]
  max_mtu     = 9702
  source = {
    pci         = pci_ids
    driver      = linux_ice
    rdma_driver = linux_e800
    transports  = linux_e800
    max_mtu     = linux_ice
  }
}

nic "e823" {
  vendor = "Intel"
  model  = "E823"
  pci = [
    "8086:124c", "8086:124d", "8086:124e", "8086:124f", "8086:151d", "8086:188a",
    "8086:188b", "8086:188c", "8086:188d", "8086:188e",
  ]
  driver      = "ice"
  rdma_driver = "irdma"
  transports  = ["rocev2", "iwarp"]
  max_mtu     = 9702
  source = {
    pci         = pci_ids
    driver      = linux_ice
    rdma_driver = linux_e800
    transports  = linux_e800
    max_mtu     = linux_ice
  }
}

nic "x722" {
  vendor = "Intel"
  model  = "X722"
  pci = [
    "8086:37cc", "8086:37ce", "8086:37cf", "8086:37d0", "8086:37d1", "8086:37d2",
    "8086:37d3", "8086:37d4",
  ]
  driver      = "i40e"
  rdma_driver = "irdma"
  transports  = ["iwarp"]
  speed       = 10
  source = {
    pci         = pci_ids
    driver      = intel_irdma
    rdma_driver = intel_irdma
    transports  = intel_irdma
    speed       = pci_ids
  }
}

nic "chelsio-t6" {
  vendor = "Chelsio"
  model  = "Terminator 6"
  pci = [
    "1425:6401", "1425:6402", "1425:6403", "1425:6404", "1425:6405", "1425:6406",
    "1425:6407", "1425:6408", "1425:6409", "1425:640d", "1425:6411", "1425:6414",
    "1425:6415", "1425:6480", "1425:6481", "1425:6482", "1425:6483", "1425:6484",
    "1425:6485", "1425:6486", "1425:6487", "1425:6488", "1425:6489", "1425:648a",
    "1425:6492",
  ]
  virtual_functions = [
    "1425:6801", "1425:6802", "1425:6803", "1425:6804", "1425:6805", "1425:6806",
    "1425:6807", "1425:6808", "1425:6809", "1425:680d", "1425:6811", "1425:6814",
    "1425:6815", "1425:6880", "1425:6881", "1425:6882", "1425:6883", "1425:6884",
    "1425:6885", "1425:6886", "1425:6887", "1425:6888", "1425:6889", "1425:688a",
  ]
  driver      = "cxgb4"
  rdma_driver = "iw_cxgb4"
  transports  = ["iwarp"]
  speed       = 100
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = linux_cxgb4
    rdma_driver       = linux_cxgb4
    transports        = linux_cxgb4
    speed             = dpdk_cxgbe
  }
}

nic "fastlinq-ql41000" {
  vendor            = "Marvell"
  model             = "FastLinQ QL41000"
  pci               = ["1077:8070"]
  virtual_functions = ["1077:8090"]
  driver            = "qede"
  rdma_driver       = "qedr"
  transports        = ["rocev2", "iwarp"]
  speed             = 50
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = dpdk_qede
    rdma_driver       = dpdk_qede
    transports        = fedora_qed
    speed             = pci_ids
  }
}

nic "fastlinq-ql45000" {
  vendor            = "Marvell"
  model             = "FastLinQ QL45000"
  pci               = ["1077:1634", "1077:1644", "1077:1654", "1077:1656"]
  virtual_functions = ["1077:1664"]
  driver            = "qede"
  rdma_driver       = "qedr"
  transports        = ["rocev2", "iwarp"]
  speed             = 100
  source = {
    pci               = pci_ids
    virtual_functions = pci_ids
    driver            = dpdk_qede
    rdma_driver       = dpdk_qede
    transports        = fedora_qed
    speed             = pci_ids
  }
}

# Software on any network interface: no PCI id, no PFC of its own.
nic "soft-roce" {
  vendor      = "Linux"
  model       = "Soft-RoCE"
  rdma_driver = "rdma_rxe"
  transports  = ["rocev2"]
  source = {
    rdma_driver = linux_rxe
    transports  = linux_rxe
  }
}

nic "soft-iwarp" {
  vendor      = "Linux"
  model       = "Soft-iWARP"
  rdma_driver = "siw"
  transports  = ["iwarp"]
  source = {
    rdma_driver = linux_rxe
    transports  = linux_rxe
  }
}
