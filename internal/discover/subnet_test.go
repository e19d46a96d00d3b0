package discover

import (
	"context"
	"maps"
	"strings"
	"testing"

	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// Switches of InfiniBand are those that NICs of a fabric say they are plugged into: one for
// each GUID, whatever they are called.
func TestSubnet(t *testing.T) {
	s := rack(1, 2)
	s.Switches = nil
	for _, m := range s.Servers {
		for i := range m.Facts.NICs {
			m.Facts.NICs[i].RDMA[0].Protocol = "infiniband"
			m.Facts.NICs[i].Heard = []host.Heard{{System: "MF0;ib:MQM8700/U1", Chassis: []string{"0xa", "0xb"}[i], Port: m.Facts.Name[1:]}}
		}
	}
	s.Servers[1].Facts.NICs[1].Heard[0].Chassis = "0xa" // of the other plane
	r, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%v %v", r.Failed, err)
	}
	if text := string(r.Files[fabricFile]); strings.Count(text, "unmanaged = true") != 2 || !strings.Contains(text, `switch "mf0-ib-mqm8700-u1"`) || !strings.Contains(text, "GUID 0xb") {
		t.Errorf("switches:\n%s", text)
	}
	if r.Coverage.Cables != 3 || !strings.Contains(r.Findings[0].Text, "port 1: its cable leads to ens1f1 of n1.mgmt.example.net with the address") {
		t.Errorf("%+v %+v\n%s", r.Coverage, r.Findings, r.Files[hostsFile])
	}
}

// The partition of a fabric is that of all of its NICs; the default one is not written.
func TestPartition(t *testing.T) {
	for name, c := range map[string]struct {
		keys [2]host.PKey
		want string // in the files, or a finding
	}{
		"one":     {[2]host.PKey{0x8012, 0x8012}, `partition = "0x8012"`},
		"default": {[2]host.PKey{0xffff, 0x7fff}, ""},
		"unknown": {[2]host.PKey{}, ""},
		"two":     {[2]host.PKey{0x8012, 0x8013}, "are in 2 partitions: [0x8012 0x8013]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := rack(1, 2)
			s.Switches = nil
			for _, m := range s.Servers {
				for i := range m.Facts.NICs {
					m.Facts.NICs[i].RDMA[0].Protocol = "infiniband"
					m.Facts.NICs[i].IPoIB = &host.IPoIB{Mode: "datagram", PKey: c.keys[i]}
				}
			}
			r, err := s.Discover(t.Context(), judged(t, nil))
			if err != nil || r.Failed != nil {
				t.Fatalf("%v %v", r.Failed, err)
			}
			text := strings.Join(strings.Fields(string(r.Files[fabricFile])), " ")
			for _, f := range r.Findings {
				text += "\n" + f.Text
			}
			if !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "partition") {
				t.Errorf("%s", text)
			}
		})
	}
}

// A second run adds switches of InfiniBand and cables to those that stand, which it knows by
// the links of NICs that are asked again; else it adds none.
func TestSubnetAgain(t *testing.T) {
	site := func(servers int) *Site {
		s := rack(1, servers)
		s.Switches = nil
		for i, m := range s.Servers {
			m.Ledgers[0].Roster = nil // else the new ones are instances of a block that stands
			for p := range m.Facts.NICs {
				m.Facts.NICs[p].RDMA[0].Protocol = "infiniband"
				m.Facts.NICs[p].Heard = []host.Heard{{System: "sw", Chassis: []string{"0xa", "0xb"}[p], Port: m.Facts.Name[1:]}}
			}
			if i == 2 {
				m.Facts.NICs[0].Heard[0].Chassis = "0xc"
			}
		}
		return s
	}
	first, err := site(1).Discover(t.Context(), judged(t, nil))
	if err != nil || first.Failed != nil || first.Coverage.Cables != 2 {
		t.Fatalf("%+v %v", first, err)
	}
	again := func(s *Site) (string, string) {
		o := judged(t, nil)
		o.Base = first.Model
		all := o.Judge
		o.Judge = func(ctx context.Context, files map[string][]byte) ([]Problem, *inventory.Model, *plan.Plan, error) {
			both := maps.Clone(first.Files)
			maps.Copy(both, files)
			return all(ctx, both)
		}
		r, err := s.Discover(t.Context(), o)
		if err != nil || r.Failed != nil {
			t.Fatalf("%v %v\n%s", r.Failed, err, r.Files[AdditionsFile])
		}
		var told []string
		for _, f := range r.Findings {
			told = append(told, f.Text)
		}
		return string(r.Files[AdditionsFile]), strings.Join(told, "\n")
	}
	text, _ := again(site(3))
	if strings.Count(text, "unmanaged = true") != 1 || !strings.Contains(text, "GUID 0xc") || !strings.Contains(text, `to   = switch.sw.port["1"]`) || strings.Count(text, "link ") != 3 {
		t.Errorf("added:\n%s", text)
	}
	unasked := site(3)
	unasked.Servers = unasked.Servers[1:]
	text, told := again(unasked)
	if strings.Contains(text, "unmanaged") || strings.Contains(text, "link ") || !strings.Contains(told, "its link is not added") {
		t.Errorf("added:\n%s\ntold:\n%s", text, told)
	}
}
