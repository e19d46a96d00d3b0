# Operating systems of servers. The first one is that of servers that name none, and
# of ledgers from before they did. One without machine_id is described, not yet
# managed.
#
# machine_id is a regular expression for the whole of what identity looks like
# there, identity the same for people. title is its name for people, answers a regular
# expression of what such a machine says to the first thing that weft types: it runs
# this system, whatever the files call it. locks is how hosts of it take locks in a
# namespace that they share: "fused" is by a Compare and a Write that are one.

system "linux" {
  machine_id = "[0-9a-f]{32}"
  identity   = "32 characters 0-9 and a-f"
  source = {
    machine_id = machine_id
    identity   = machine_id
  }
}

# esxcli system uuid get prints it with dashes.
system "esxi" {
  machine_id = "[0-9a-f]{32}"
  identity   = "32 characters 0-9 and a-f"
  title      = "VMware ESXi"
  answers    = "^VMkernel\\b"
  locks      = "fused"
  source = {
    machine_id = esxcli_uuid
    identity   = esxcli_uuid
    title      = none
    answers    = esxi_uname
    locks      = vim_fused
  }
}

# MachineGuid, which a registry has with dashes.
system "windows" {
  machine_id = "[0-9a-f]{32}"
  identity   = "32 characters 0-9 and a-f"
  title      = "Microsoft Windows"
  answers    = "is not recognized as (an internal or external command|(the|a) name of a cmdlet)"
  source = {
    machine_id = windows_guid
    identity   = windows_guid
    title      = none
    answers    = windows_shell
  }
}
