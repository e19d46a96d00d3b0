//go:build unix

package doctor

import (
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"weft/switches"
)

// Sites of many machines, read twice: what is done grows as they do. It is counted in
// time of processors, which a busy machine does not stretch as it does that of the clock.
func BenchmarkExamine(b *testing.B) {
	for _, machines := range []int{300, 600, 1200, 2400} {
		b.Run(fmt.Sprint(machines), func(b *testing.B) {
			s := crowd(machines)
			s.Before = crowd(machines)
			b.ReportAllocs()
			runtime.GC()
			before := processor(b)
			for b.Loop() {
				Examine(s, nil)
			}
			b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N)/float64(machines), "cpu-µs/machine")
		})
	}
}

// processor is the time of processors that this process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd is a site of so many machines, with two switches for each 24.
func crowd(machines int) *Site {
	s := &Site{}
	for n := range machines / 3 {
		one := rack()
		if n%8 == 0 {
			for k, sw := range rack().Switches {
				sw.Name = fmt.Sprintf("leaf-%d-%d", n, k)
				sw.Neighbours = nil
				s.Switches = append(s.Switches, sw)
			}
		}
		leafs := s.Switches[len(s.Switches)-2:]
		for i, h := range one.Hosts {
			h.Name = fmt.Sprintf("st%d-%d", n, i)
			for k := range h.NICs {
				a := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(k*32 + n>>8), byte(n), byte(11 + i)}), 24)
				h.Netdevs[k].Addresses, h.NICs[k].GIDs[0].Address = []netip.Prefix{a}, a.Addr()
				h.Controllers[k].HostNQN = "nqn.host:" + h.Name
				h.NICs[k].MAC = fmt.Sprintf("02:00:0%d:0%d:%02x:%02x", i, k, n>>8, n&255)
				leafs[k].Neighbours = append(leafs[k].Neighbours, switches.Neighbour{Port: "Ethernet1/1", PortID: h.NICs[k].MAC})
			}
		}
		s.Hosts = append(s.Hosts, one.Hosts...)
	}
	return s
}
