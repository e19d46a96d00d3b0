package discover

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/modules/host"
)

// What an inventory has is compared with what is heard, and makes no cable.
func TestRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		have Recorded
		want string // the finding; "": none
	}{
		"as heard":            {Recorded{"st1", "ens1f0", "leaf-a", "Ethernet1/1"}, ""},
		"cut short":           {Recorded{"ST1", "ens1f0", "leaf-a.mgmt.example.net", "Eth1/1"}, ""},
		"heard elsewhere":     {Recorded{"st1", "ens1f0", "leaf-a", "Ethernet1/2"}, "warn: the inventory has the cable of ens1f0 to port Ethernet1/2 of leaf-a.mgmt.example.net, and it is heard to lead to port Ethernet1/1 of leaf-a.mgmt.example.net"},
		"not heard":           {Recorded{"st1", "ens1f1", "leaf-a", "Ethernet1/2"}, "warn: the inventory has the cable of ens1f1 to port Ethernet1/2 of leaf-a.mgmt.example.net, which LLDP does not confirm: it is not written"},
		"to a server":         {Recorded{"st1", "ens1f1", "cn1", "ens1f0"}, "warn: the inventory has the cable of ens1f1 to ens1f0 of cn1.mgmt.example.net, which LLDP does not confirm: it is not written"},
		"none":                {Recorded{"st1", "ens1f0", "", ""}, "info: the inventory has no cable at ens1f0, which leads to port Ethernet1/1 of leaf-a.mgmt.example.net"},
		"none of either":      {Recorded{"st1", "ens1f1", "", ""}, ""},
		"a stranger":          {Recorded{"st1", "ens1f0", "leaf-z", "Ethernet1/1"}, `info: the inventory has the cable of ens1f0 to port "Ethernet1/1" of "leaf-z", which is none of what was read: it is not compared`},
		"no such port":        {Recorded{"st1", "ens1f0", "leaf-a", "Ethernet1/99"}, `info: the inventory has the cable of ens1f0 to port "Ethernet1/99" of "leaf-a", which is none of what was read: it is not compared`},
		"a stranger, unasked": {Recorded{"st1", "ens1f1", "mgmt", "7"}, ""},
		"another machine":     {Recorded{"st9", "ens1f0", "leaf-a", "Ethernet1/1"}, ""},
		"another port":        {Recorded{"st1", "eno1", "leaf-a", "Ethernet1/1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			sw := nexusWith("leaf-a", "interface Ethernet1/1\ninterface Ethernet1/2\n", hears("Ethernet1/1", "st1", mac(1)))
			st1, cn1 := machine("st1", 1, 2), machine("cn1", 3)
			for _, m := range []*Server{st1, cn1} {
				for i := range m.Facts.NICs {
					m.Facts.NICs[i].RDMA = nil // only what is heard is written
				}
			}
			s := &Site{Switches: []*Switch{sw}, Servers: []*Server{st1, cn1}}
			s.Inventory(&Listing{Cables: []Recorded{c.have}})
			d, err := s.infer("", nil)
			if err != nil || len(d.cables) != 1 {
				t.Fatalf("%v %v", d, err)
			}
			got := ""
			for _, f := range s.Findings {
				if strings.Contains(f.Text, "inventory") {
					got += fmt.Sprintf("%s: %s", f.Severity, f.Text)
				}
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	s := &Site{}
	s.Inventory(&Listing{Unread: errors.New("it answers 403")})
	if len(s.Findings) != 1 || s.Findings[0].Text != "the cables that the inventory has are not compared: it answers 403" {
		t.Errorf("%v", s.Findings)
	}
}

func TestSamePort(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		same        bool
	}{
		{"Ethernet1/11", "Ethernet1/11", true}, {"Ethernet1/11", "eth1/11", true}, {"HundredGigE1/0/1", " HGE1/0/1", true},
		{"Ethernet1/11", "Ethernet1/1", false}, {"Ethernet1/11", "1/11", false}, {"Ethernet1/11", "", false}, {"Vlan", "Vlan", false}, {"HundredGigE1/0/1", "FGE1/0/1", false},
	} {
		if samePort(c.name, c.typed) != c.same {
			t.Errorf("%q and %q: want %v", c.name, c.typed, c.same)
		}
	}
}

// Bundles of switches and of servers are told, also in the files, and nothing is made of them.
func TestBundles(t *testing.T) {
	sw := nexusWith("leaf-a", "interface port-channel7\ninterface Ethernet1/2\n  channel-group 7 mode active\ninterface Ethernet1/10\n  channel-group 7 mode active\n", hears("Ethernet1/2", "st1", mac(1)))
	st1 := machine("st1", 1, 2)
	st1.Facts.Bundles = []host.Bundle{{Name: "bond0", Bond: true, Interfaces: []string{"ens1f0", "ens1f1"}}, {Name: "br0", Interfaces: []string{"eno1"}}}
	r, err := (&Site{Switches: []*Switch{sw}, Servers: []*Server{st1}}).Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%+v %v", r, err)
	}
	for file, what := range map[string]string{fabricFile: "leaf-a.mgmt.example.net: port-channel7 of Ethernet1/2, Ethernet1/10", hostsFile: "st1.mgmt.example.net: bond bond0 of ens1f0, ens1f1"} {
		if !strings.Contains(string(r.Files[file]), "# seen, not managed: "+what+"\n") {
			t.Errorf("no comment says %q:\n%s", what, r.Files[file])
		}
	}
	for _, text := range []string{"it has port-channel7 of Ethernet1/2, Ethernet1/10: it is not written", "it has br0 of eno1: it is not written"} {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Text == text }) {
			t.Errorf("no finding says %q: %v", text, r.Findings)
		}
	}
}
