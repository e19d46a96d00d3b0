# Arrays that are connected to as external targets. transports are those of
# weft's fabrics that the array speaks NVMe over.

array "dell-powerstore" {
  vendor     = "Dell"
  model      = "PowerStore"
  transports = ["tcp"]
  since      = "PowerStoreOS 2.1"
  source = {
    transports = lxd_powerstore
    since      = cinder_powerstore
  }
}

array "huawei-dorado" {
  vendor     = "Huawei"
  model      = "OceanStor Dorado"
  transports = ["rocev2"]
  source     = { transports = huawei_csi }
}
