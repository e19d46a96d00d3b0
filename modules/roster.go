package modules

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/leaf"
	"weft/plan"
)

// vcenterKind is that of a vCenter in rosters.
const vcenterKind = "vcenter"

func (x *expansion) newServer(os *host.OS, s *inventory.Server) *host.Machine {
	return host.New(host.Config{
		OS: os, Member: memberOf(s), MachineID: s.MachineID, Dial: x.env.Host(s), Kinds: x.hosts[os.Name].named,
		Owner: x.model.Name, Holder: x.env.Holder, Token: x.env.Token, Stands: x.env.Stands, Mine: x.env.Mine, Bundle: x.env.Bundle,
		Now: x.fleet.Moved.Now,
	})
}

// memberOf is a server as rosters have it.
func memberOf(s *inventory.Server) plan.Member {
	m := plan.Member{Device: s.Addr, Kind: "server", Host: s.Host, Connection: by(s.Connection), OS: s.OS}
	if s.Credential != nil {
		m.Credential = s.Credential.Addr
	}
	return m
}

// by is the address of a connection; "": the default.
func by(c *inventory.Connection) string {
	if c == nil {
		return ""
	}
	return c.Addr
}

// roster lists the devices of the owner, which every ledger holds, and says
// what becomes of those that only ledgers know.
func (x *expansion) roster() {
	x.fleet.Roster = []plan.Member{}
	for _, s := range x.model.Switches {
		if !s.Unmanaged {
			m := plan.Member{Device: s.Addr, Kind: "switch", Host: s.Host, Connection: by(s.Connection), OS: s.OS}
			if s.Credential != nil {
				m.Credential = s.Credential.Addr
			}
			x.fleet.Roster = append(x.fleet.Roster, m)
		}
	}
	for _, s := range x.model.Servers {
		x.fleet.Roster = append(x.fleet.Roster, memberOf(s))
	}
	for _, v := range x.model.VCenters {
		m := plan.Member{Device: v.Addr, Kind: vcenterKind, Host: net.JoinHostPort(v.Host, strconv.Itoa(v.Port)), SHA256: v.SHA256}
		if v.Credential != nil {
			m.Credential = v.Credential.Addr
		}
		x.fleet.Roster = append(x.fleet.Roster, m)
	}
	for _, r := range x.model.Removed {
		x.fleet.Removed = append(x.fleet.Removed, plan.Removed{From: r.From, Forget: r.Mode == "forget", Range: r.Range})
	}
	x.fleet.Recall = func(m plan.Member) (plan.Device, error) {
		d, err := x.recall(m)
		if err != nil {
			return nil, err
		}
		x.fleet.recalled = append(x.fleet.recalled, d)
		return d, nil
	}
}

// recall makes a device of one that stands in ledgers only.
func (x *expansion) recall(m plan.Member) (Device, error) {
	via := slice.First(x.model.Connections, func(c *inventory.Connection) bool { return c.Addr == m.Connection })
	login := slice.First(x.model.Credentials, func(c *inventory.Credential) bool { return c.Addr == m.Credential })
	if m.Connection != "" && via == nil || m.Credential != "" && login == nil {
		return nil, hint.Wrap(fmt.Errorf("it was reached by %s, which is not declared", strings.TrimSpace(m.Connection+" "+m.Credential)),
			"put that block back until the device is pruned")
	}
	at := inventory.Block{Addr: m.Device}
	if m.Kind == vcenterKind {
		host, text, _ := net.SplitHostPort(m.Host)
		port, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("the ledgers say that it is at %q, which is no host with a port", m.Host)
		}
		return newVCenter(x.newVCenter(&inventory.VCenter{Block: at, Host: host, Port: port, SHA256: m.SHA256, Credential: login})), nil
	}
	if m.Kind == "switch" {
		os := x.system(m.OS)
		if os == nil {
			return nil, fmt.Errorf("the ledgers say that its OS is %q, which weft does not speak to", m.OS)
		}
		sw := &inventory.Switch{Block: at, OS: m.OS, Host: m.Host, Connection: via, Credential: login}
		sw.Safety.Confirm, sw.Safety.Save = leaf.UsualConfirm, "always"
		return newSwitchNode(x.newSwitch(os, sw)), nil
	}
	os := x.host(m.OS)
	if os == nil {
		return nil, hint.Wrap(fmt.Errorf("this weft does not manage os = %q", m.OS), "a later weft wrote its ledger: use that one")
	}
	return newServer(x.newServer(os, &inventory.Server{Block: at, OS: os.Name, Host: m.Host, Connection: via, Credential: login})), nil
}
