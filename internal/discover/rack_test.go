package discover

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"weft/plan"
)

// rack is a site of so many switches and servers, each server with a port at two of
// them, as it stands when weft has set it.
func rack(leaves, servers int) *Site {
	s := &Site{}
	for i := range leaves {
		s.Switches = append(s.Switches, nexus(fmt.Sprintf("leaf-%d", i)))
	}
	var roster []plan.Member
	for i := range servers {
		roster = append(roster, plan.Member{Device: fmt.Sprintf(`server.node["n%d"]`, i), Kind: "server", Host: fmt.Sprintf("n%d.mgmt.example.net", i)})
	}
	for i := range servers {
		m := kept(machine(fmt.Sprintf("n%d", i), 2*i+1, 2*i+2), "a")
		for p := range m.Facts.NICs {
			m.Facts.NICs[p].Addresses = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(40 + p), byte(i / 250), byte(i%250 + 1)}), 16)}
		}
		m.Ledgers[0].Roster = roster
		s.Servers = append(s.Servers, m)
		for p := range 2 {
			sw := s.Switches[(2*i+p)%leaves]
			sw.Neighbours = append(sw.Neighbours, hears(fmt.Sprintf("Ethernet1/%d", len(sw.Neighbours)+1), "", mac(2*i+p+1)))
		}
	}
	return s
}

func TestRack(t *testing.T) {
	r, err := rack(4, 40).Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%v %v", r.Failed, err)
	}
	if r.Coverage.Cables != 80 || r.Coverage.Servers != 40 {
		t.Errorf("%+v", r.Coverage)
	}
}

// All of a run but the devices and the plan of the proof: readings are matched, files
// rendered, read and validated. MB is what the process has from the system after that;
// BenchmarkEngine of modules is the plan.
func BenchmarkDiscover(b *testing.B) {
	for _, size := range []struct{ leaves, servers int }{{2, 40}, {16, 500}, {64, 2000}} {
		b.Run(fmt.Sprintf("%dx%d", size.leaves, size.servers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := rack(size.leaves, size.servers).Discover(b.Context(), judged(b, nil))
				if err != nil || r.Failed != nil || r.Coverage.Cables != 2*size.servers {
					b.Fatal(r.Failed[:min(len(r.Failed), 3)], err, r.Coverage)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/1e6, "MB")
		})
	}
}

func BenchmarkInfer(b *testing.B) {
	for _, size := range []struct{ leaves, servers int }{{2, 40}, {64, 2000}} {
		b.Run(fmt.Sprintf("%dx%d", size.leaves, size.servers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d, err := rack(size.leaves, size.servers).infer("", nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := d.files(Login{}, time.Unix(0, 0)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
