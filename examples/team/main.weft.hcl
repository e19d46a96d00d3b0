# Several people and pipelines share a fabric. Runs are kept in a hub, so that whoever is
# there goes on with them; internal/hub/hub.md says how one is made.
#
# The second server is changed only when two people have signed that it may be, who did
# not write the change; who may sign says --signers, or WEFT_SIGNERS.
weft {
  required_version = ">= 0.1"
  name             = "team"
}

store "nats" {
  creds = "~/.config/weft/hub.creds" # each person and pipeline has one
  lease = "5m"
}

connection "default" {
  user   = "weft"
  become = "sudo"
}

server "node" {
  count = 2
  host  = "node${count.index}.mgmt.example.net"

  file "/etc/motd" {
    content = "This machine is kept by weft: team\n"
  }
}

# No change that disturbs a link goes where nobody has to sign.
policy "four-eyes" {
  when      = change.impact == "link-flap" || change.impact == "reboot"
  condition = phase.approve == "signed"
  message   = "${change.address} disturbs ${change.device} in phase ${phase.name}, which nobody has to sign"
}

rollout "team" {
  on_failure = "rollback-phase"

  phase "canary" {
    select = [server.node[0]]
    soak   = "30m"
  }

  phase "rest" {
    select  = "remaining"
    approve = { count = 2, not = ["author"] }
  }
}
