# A pod of 64 servers, written once: 16 export flash, 48 use it, and each has
# one port in each of two planes. A plane is one 64-port leaf and one subnet;
# nothing but the servers joins them, so that no fault stops both.
#
# Everything that differs between servers follows from a number from 1 to 64:
# its name, its addresses, its ports on the leaves, its part of the storage.
# Only what nobody can compute stands in weft.weftvars: the ids of the drives.
weft {
  required_version = ">= 0.1"
  name             = "pod64" # the owner: written on everything weft creates
}

connection "default" { # what is not set comes from ~/.ssh/config
  user   = "weft"
  become = "sudo"
}

credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD") # read when connecting; never in plans, logs or reports
}

variable "domain" {
  description = "Where the management names of all devices end."
  type        = string
  default     = "pod64.mgmt.example.net"
}

variable "transport" {
  description = "What storage is reached over, in order of preference."
  type        = list(string)
  default     = ["rdma"]
}

variable "allow_degraded" {
  description = "Whether gates let TCP through where RDMA was wanted and is not to be had."
  type        = bool
  default     = false
}

variable "p99" {
  description = "The most that a 4 KiB read may take, p99."
  type        = string
  default     = "200us"
}

variable "samples" {
  description = "How many reads of each size each pair is measured by."
  type        = number
  default     = 5000
}

variable "soak" {
  description = "How long each phase is watched before the next one begins."
  type        = string
  default     = "1h"
}

variable "approve" {
  description = "Whether a person lets the rollout go on after its first servers: manual, or none."
  type        = string
  default     = "manual"
}

variable "serials" {
  description = "The serial number of each leaf: another box that answers is refused."
  type        = map(string)
}

variable "drives" {
  description = "The drives of each storage server, by their names below /dev/disk/by-id."
  type        = map(list(string))

  validation {
    condition     = length(var.drives) == 16
    error_message = "The pod has 16 storage servers."
  }
}

locals {
  storage = { for n in range(1, 17) : format("st%02d", n) => n }
  compute = { for n in range(1, 49) : format("cn%02d", n) => n + 16 }
  nodes   = merge(local.storage, local.compute)

  # Four storage servers make a group, and each compute server uses one group:
  # 4 targets × 2 planes = 8 controllers on a host, 12 hosts on a target.
  groups = chunklist(keys(local.storage), 4)

  # Both planes are parts of one prefix, and a server has the same number in
  # each: st01 is 10.64.0.1 and 10.64.1.1.
  subnets = { for i, plane in ["a", "b"] : plane => cidrsubnet("10.64.0.0/16", 8, i) }
}
