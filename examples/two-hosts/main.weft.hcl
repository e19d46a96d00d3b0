# The smallest fabric: two servers and two cables between them. One exports a
# volume, the other one uses it. There is no switch, so each cable is a link
# from NIC to NIC, and each is a plane.
#
# Nothing refers to initiator.client, and nothing needs to: it connects to the
# target, and so the target admits it.
weft {
  required_version = ">= 0.1"
  name             = "two-hosts"
}

connection "default" {
  user   = "weft"
  become = "sudo"
}

fabric "roce" {
  transport = "rocev2"
  mode      = "lossless" # the NICs at both ends pause each other

  plane "a" { subnet = "10.90.1.0/30" } # two addresses are enough for a cable
  plane "b" { subnet = "10.90.2.0/30" }

  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3
    bandwidth = 90
    pfc       = true
  }

  traffic_class "default" {
    bandwidth = 10
  }
}

server "storage" {
  host = "storage.mgmt.example.net"

  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.90.1.1/30"
    fabric  = fabric.roce
  }

  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "10.90.2.1/30"
    fabric  = fabric.roce
  }
}

server "client" {
  host = "client.mgmt.example.net"

  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.90.1.2/30"
    fabric  = fabric.roce
  }

  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "10.90.2.2/30"
    fabric  = fabric.roce
  }
}

link "plane-a" {
  from = server.client.rnic.p0
  to   = server.storage.rnic.p0
}

link "plane-b" {
  from = server.client.rnic.p1
  to   = server.storage.rnic.p1
}

pool "flash" {
  server = server.storage
  drives = ["nvme-eui.01000000000000000000000000000031"]
}

volume "data" {
  pool = pool.flash
  size = "100GiB"
}

target "nvme" {
  server    = server.storage
  engine    = "weft"
  transport = ["rdma", "tcp"]             # in order of preference; TCP here counts as degraded
  portals   = values(server.storage.rnic) # all NICs of the server
  # dhchap_ctrl_key = env("STORAGE_KEY") # and the target proves to it that it is the one

  subsystem "data" {
    nqn = "nqn.2026-11.net.example:two-hosts"

    namespace "1" { from = volume.data }
  }
}

initiator "client" {
  server = server.client
  # dhchap_key = env("CLIENT_KEY") # DH-HMAC-CHAP: its name alone does not let it in

  connect {
    to = target.nvme
  }
}
