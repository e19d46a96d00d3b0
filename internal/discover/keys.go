package discover

import (
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/modules/linux/nvme"
)

// The keys of DH-HMAC-CHAP and TLS are read from no device: files name variables of the
// environment in their place, and the proof takes the keys from there.

// asked is what a target asks of hosts before it lets them in.
type asked struct {
	proves      bool // and proves to them who it is
	hash, group string
	demand      bool // all of them have to
	tls         bool
}

// weftAsks is what a subsystem of weft-target asks.
func weftAsks(cfg *agent.Target, s agent.Subsystem) (a asked) {
	a.demand = s.DemandAuth
	for _, p := range cfg.Portals {
		a.tls = a.tls || p.TLS && s.ServedAt(p.Address)
	}
	for _, one := range s.Auth {
		a.proves = a.proves || one.SubsystemKeyFile != ""
		if len(one.Hashes) == 1 {
			a.hash = one.Hashes[0]
		}
		if len(one.DHGroups) == 1 {
			a.group = one.DHGroups[0]
		}
	}
	return a
}

// kernelAsks is what the kernel's target asks of the hosts of a subsystem.
func kernelAsks(hosts []string, auths []nvme.NVMeTAuth) (a asked) {
	for _, one := range auths {
		if slices.Contains(hosts, one.NQN) {
			a.proves = a.proves || len(one.CtrlKey) > 0
			a.hash, a.group = one.Hash, one.DHGroup
		}
	}
	return a
}

// write writes it into the target of a server, or of nobody who was asked.
func (a asked) write(d *draft, t instance, of *node) {
	if a.tls {
		t.set("tls", boolean(true))
	}
	if a.demand {
		t.set("demand_auth", boolean(true))
	}
	if a.hash != "" {
		t.set("dhchap_hash", str(a.hash))
	}
	if a.group != "" {
		t.set("dhchap_dhgroup", str(a.group))
	}
	if a.proves {
		at := t.address
		if of != nil {
			at = of.address
		}
		t.setNoted("dhchap_ctrl_key", d.variable("DHCHAP_CTRL_KEY", at), "read when it is needed")
	}
}

// keysOf writes the keys of an initiator that its server keeps under its host NQN.
func (d *draft) keysOf(i instance, n *node, nqn string) {
	if d.has(n.Server, "dhchap_key", nqn) {
		i.setNoted("dhchap_key", d.variable("DHCHAP_KEY", n.address), "read when it is needed")
	}
	if d.has(n.Server, "tls_key", nqn) {
		i.setNoted("tls_key", d.variable("TLS_KEY", n.address), "read when it is needed")
	}
}

// variable is what files have in the place of a key: env("WEFT_TLS_KEY_cn1").
func (d *draft) variable(what string, of address) expr {
	tell := of.label
	if of.keyed {
		tell = of.key
	}
	name := "WEFT_" + what + "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, tell)
	if !slices.Contains(d.variables, name) {
		d.variables = append(d.variables, name)
	}
	return append(append(raw("env("), str(name)...), raw(")")...)
}
