server "esx" {
  for_each   = var.esx
  os         = "esxi"
  host       = each.value.host
  machine_id = replace(each.value.uuid, "-", "")
  credential = credential.esxi
  labels     = { role = "esxi" }

  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost("10.50.1.0/24", each.value.node)}/24" # of vmk2
    fabric  = fabric.roce

    vmk {
      id        = "vmk2" # hosts give out the first that is free; vmk1 is for vMotion here
      portgroup = dvswitch.rdma.portgroup.storage
      services  = ["nvme-rdma", "vsan", "pvrdma"]
    }
  }

  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "${cidrhost("10.50.2.0/24", each.value.node)}/24"
    fabric  = fabric.roce

    vmk {
      id       = "vmk3"
      vswitch  = "weft-b" # standard; this NIC is its only uplink, its port group has its name
      services = ["nvme-rdma"]
    }
  }
}

server "storage" {
  for_each = var.storage
  os       = "linux"
  host     = each.value.host
  labels   = { role = "storage" }

  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost("10.50.1.0/24", each.value.node)}/24"
    fabric  = fabric.roce
  }

  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "${cidrhost("10.50.2.0/24", each.value.node)}/24"
    fabric  = fabric.roce
  }
}
