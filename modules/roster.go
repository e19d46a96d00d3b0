package modules

import (
	"fmt"

	"weft/internal/hint"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

func (x *expansion) newServer(os *host.OS, s *inventory.Server) *host.Machine {
	return host.New(host.Config{
		OS: os, Name: s.Addr, MachineID: s.MachineID, Dial: x.env.Host(s), Kinds: x.hosts[os.Name].named,
		Owner: x.model.Name, Holder: x.env.Holder, Mine: x.env.Mine, Bundle: x.env.Bundle,
	})
}

// roster lists the devices of the owner, which every ledger holds, and says
// what becomes of those that only ledgers know.
func (x *expansion) roster() {
	name := func(c *inventory.Connection) string {
		if c == nil {
			return ""
		}
		return c.Addr
	}
	x.fleet.Roster = []plan.Member{}
	for _, s := range x.model.Switches {
		if !s.Unmanaged {
			m := plan.Member{Device: s.Addr, Kind: "switch", Host: s.Host, Connection: name(s.Connection), OS: s.OS}
			if s.Credential != nil {
				m.Credential = s.Credential.Addr
			}
			x.fleet.Roster = append(x.fleet.Roster, m)
		}
	}
	for _, s := range x.model.Servers {
		x.fleet.Roster = append(x.fleet.Roster, plan.Member{Device: s.Addr, Kind: "server", Host: s.Host, Connection: name(s.Connection), OS: s.OS})
	}
	for _, r := range x.model.Removed {
		x.fleet.Removed = append(x.fleet.Removed, plan.Removed{From: r.From, Forget: r.Mode == "forget", Range: r.Range})
	}
	x.fleet.Recall = x.recall
}

// recall makes a device of one that stands in ledgers only.
func (x *expansion) recall(m plan.Member) (plan.Device, error) {
	if m.Kind == "switch" {
		return x.recallSwitch(m)
	}
	os := x.host(m.OS)
	if os == nil {
		return nil, hint.Wrap(fmt.Errorf("this weft does not manage os = %q", m.OS), "a later weft wrote its ledger: use that one")
	}
	s := &inventory.Server{Block: inventory.Block{Addr: m.Device}, OS: os.Name, Host: m.Host}
	for _, c := range x.model.Connections {
		if c.Addr == m.Connection {
			s.Connection = c
		}
	}
	if m.Connection != "" && s.Connection == nil {
		return nil, hint.Wrap(fmt.Errorf("it was reached by %s, which is not declared", m.Connection),
			"put that connection block back until the device is pruned")
	}
	return x.newServer(os, s), nil
}
