# Four ESXi hosts with their datastores on two Linux storage servers, over NVMe-oF and two
# planes: two leaves (one Nexus, one H3C), a VMkernel port on each NIC, one controller for each
# path. One NIC of each host is the uplink of a distributed switch, which carries vSAN over RDMA
# and RDMA of two virtual machines, too; the other one is of a standard vSwitch.
weft {
  required_version = ">= 0.1"
  name             = "vsphere"
}

connection "default" { # what is not set comes from ~/.ssh/config
  user            = "weft"
  become          = "sudo"
  connect_timeout = var.connect_timeout
  command_timeout = var.command_timeout
}

credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD") # read when connecting; never in plans, logs or reports
}

credential "esxi" { # a key, as ESXi keeps with: esxcli system ssh key add
  user = "root"
}

credential "vcenter" {
  user     = "weft@vsphere.local"
  password = env("WEFT_SWITCH_PASSWORD") # one for this example; give vCenter its own
}

variable "storage" {
  description = "Storage servers: management name, host number in both planes, and the drives to export."
  type = map(object({
    host   = string
    node   = number
    drives = list(string) # with sectors of 512 bytes: ESXi takes no others
  }))
}

variable "esx" {
  description = "ESXi hosts: the name that is logged in to, host number in both planes, and what esxcli system uuid get prints."
  type        = map(object({ host = string, node = number, uuid = string }))
}

variable "transport" {
  description = "Order of preference."
  type        = list(string)
  default     = ["rdma"]
}

variable "allow_degraded" {
  description = "Whether gates let TCP through where RDMA was wanted and is not to be had."
  type        = bool
  default     = false
}

variable "added_p99" {
  description = "What the fabric may add to a local 4 KiB read, p99."
  type        = string
  default     = "30us"
}

variable "samples" {
  type    = number
  default = 20000
}

variable "soak" {
  description = "Soak of each phase."
  type        = string
  default     = "1h"
}

variable "approve" {
  type    = string
  default = "manual" # manual | none
}

variable "connect_timeout" {
  type    = string
  default = "5s"
}

variable "command_timeout" {
  type    = string
  default = "60s"
}
