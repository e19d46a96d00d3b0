vcenter "dc1" {
  host       = "vc.mgmt.example.net" # its certificate: of an authority, or tls_sha256
  credential = credential.vcenter

  cluster "dc1/host/c1" { vsan_rdma = true } # of all its hosts, or it falls back to TCP
}

dvswitch "rdma" {
  vcenter = vcenter.dc1
  path    = "dc1/network/weft-rdma"
  uplinks = [for s in server.esx : s.rnic.p0] # exactly one a host: PVRDMA

  portgroup "storage" { vlan = 0 }
}

# Both are there already, off, with Linux in them. The plan says whether they will talk by
# RDMA, TCP or memory copy: that depends on which hosts they are.
vm "hpc" {
  for_each         = toset(["hpc1", "hpc2"])
  path             = "dc1/vm/${each.key}"
  hardware_version = 14 # raising it has no undo

  pvrdma "eth1" { # reserves all memory
    portgroup = dvswitch.rdma.portgroup.storage
    protocol  = "rocev2"
  }
}
