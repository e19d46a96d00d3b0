package prove

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/inventory"
	"weft/switches"
)

// addressed answers the MAC addresses of NICs.
type addressed string

func (a addressed) Name() string { return "addressed" }
func (a addressed) Run(context.Context, remote.Cmd) (remote.Output, error) {
	return remote.Output{Stdout: []byte(a)}, nil
}
func (a addressed) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }
func (a addressed) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errors.New("a proof writes nothing")
}

func TestCables(t *testing.T) {
	sw := &inventory.Switch{Block: inventory.Block{Addr: "switch.a"}, Name: "a", Host: "a.example.net"}
	spine := &inventory.Switch{Block: inventory.Block{Addr: "switch.s"}, Name: "s", Unmanaged: true}
	m := &inventory.Model{Switches: []*inventory.Switch{sw, spine}}
	for i, name := range []string{"x", "y", "z"} {
		s := &inventory.Server{Block: inventory.Block{Addr: "server." + name}, Name: name, Host: name}
		nic := &inventory.RNIC{Name: "p0", Server: s, PCI: "0000:41:00.0"}
		if name == "z" {
			nic.MAC, nic.PCI = "02:00:00:00:00:03", ""
		}
		s.RNICs = []*inventory.RNIC{nic}
		m.Servers = append(m.Servers, s)
		m.Links = append(m.Links, &inventory.Link{Block: inventory.Block{Addr: "link." + name}, From: inventory.LinkEnd{RNIC: nic},
			To: inventory.LinkEnd{Switch: sw, Port: "Ethernet1/" + string(rune('1'+i))}})
	}
	m.Links = append(m.Links, &inventory.Link{Block: inventory.Block{Addr: "link.up"}, From: inventory.LinkEnd{Switch: sw, Port: "Ethernet1/9"}, To: inventory.LinkEnd{Switch: spine, Port: "Ethernet2/1"}})
	var partly error
	ask := func(down string, heard ...switches.Neighbour) *Cabling {
		c, err := Cables(t.Context(), CablingInput{Model: m,
			Host: func(_ context.Context, s *inventory.Server) (remote.Host, error) {
				if s.Name == down {
					return nil, errors.New("it is down")
				}
				return addressed(map[string]string{"x": "0000:41:00.0 02:00:00:00:00:01\n", "y": "0000:41:00.0 02:00:00:00:00:02\n"}[s.Name]), nil
			},
			Heard: func(context.Context, *inventory.Switch) ([]switches.Neighbour, error) {
				if heard == nil {
					return nil, errors.New("no answer")
				}
				return heard, partly
			}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	good := []switches.Neighbour{{Port: "Ethernet1/1", PortID: "0200.0000.0001"}, {Port: "ethernet1/2", PortID: "0200-0000-0002"},
		{Port: "Ethernet1/3", PortID: "02:00:00:00:00:03"}, {Port: "Ethernet1/9", System: "s.example.net", PortID: "Ethernet2/1"}}
	if c := ask("", good...); c.Verdict != Pass || len(c.Cables) != 4 || len(c.Swaps) != 0 {
		t.Errorf("%+v", c)
	}
	sw.Fabric = &inventory.Fabric{Classes: []*inventory.TrafficClass{{Priority: 3, PFC: true}, {Priority: 6}}}
	telling := slices.Clone(good)
	telling[0].PFC, telling[1].PFC = "1,2", "3"
	if c := ask("", telling...); c.Verdict != Pass || !strings.HasPrefix(c.Cables[0].Why, "it says with DCBX that its lossless priorities are 1,2, the fabric's are 3") || c.Cables[1].Why != "" {
		t.Errorf("%+v", c)
	}
	turned := slices.Clone(good)
	turned[0].PortID, turned[1].PortID, turned[2].PortID = good[1].PortID, good[2].PortID, good[0].PortID
	if c := ask("", turned...); c.Verdict != Fail || len(c.Swaps) != 3 || c.Swaps[0] != "move the plug of server.x p0 from switch.a Ethernet1/3 to switch.a Ethernet1/1" {
		t.Errorf("%+v", c)
	}
	swapped := slices.Clone(good)
	swapped[0].PortID, swapped[1].PortID = good[1].PortID, good[0].PortID
	if c := ask("", swapped...); c.Verdict != Fail || !slices.Equal(c.Swaps, []string{"swap the plugs at switch.a Ethernet1/1 and switch.a Ethernet1/2"}) {
		t.Errorf("%+v", c)
	}
	if c := ask("x", good...); c.Verdict != Inconclusive || !strings.Contains(c.Cables[0].Why, "it is down") {
		t.Errorf("%+v", c)
	}
	if c := ask("", good[1:]...); c.Verdict != Inconclusive || !strings.Contains(c.Cables[0].Why, "no neighbour is heard") {
		t.Errorf("%+v", c)
	}
	unnamed := slices.Clone(good)
	unnamed[0].PortID, unnamed[0].System = "", "x"
	if c := ask("", unnamed...); c.Verdict != Inconclusive || !strings.Contains(c.Cables[0].Why, "does not report its port") {
		t.Errorf("%+v", c)
	}
	if c := ask(""); c.Verdict != Inconclusive {
		t.Errorf("%+v", c)
	}
	partly = &switches.UnclearError{Line: "show lldp", Why: "its end is missing"} // what was told before counts
	if c := ask("", good[1:]...); c.Verdict != Inconclusive || !strings.Contains(c.Cables[0].Why, "not understood (its end is missing)") || c.Cables[1].Verdict != Pass {
		t.Errorf("%+v", c)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Cables(ended, CablingInput{Model: &inventory.Model{}}); err == nil || !strings.HasPrefix(err.Error(), "interrupted while asking who is plugged in where") {
		t.Error(err)
	}
	if _, err := Cables(t.Context(), CablingInput{Model: &inventory.Model{}}); err == nil {
		t.Error("no cables are proven")
	}
}
