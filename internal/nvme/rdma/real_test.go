package rdma_test

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"weft/internal/hint"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
)

// hardware returns the libraries and an address of this machine that RDMA
// leads to: WEFT_RDMA_ADDR, or what a port has. Elsewhere the test is skipped;
// guests of the lab have Soft-RoCE.
func hardware(t *testing.T) (verbs.Provider, netip.Addr) {
	t.Helper()
	v, err := verbs.Load()
	if err != nil {
		t.Skipf("%v (%s)", err, hint.Of(err))
	}
	if at := os.Getenv("WEFT_RDMA_ADDR"); at != "" {
		return v, netip.MustParseAddr(at)
	}
	all, err := v.Devices()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		for _, p := range d.Ports {
			for _, g := range p.GIDs {
				if p.State == verbs.PortActive && g.Type == verbs.GIDRoCEv2 && g.IP().Is4() {
					return v, g.IP()
				}
			}
		}
	}
	t.Skipf("no port is active and has an address: %+v", all)
	return nil, netip.Addr{}
}

func TestConformanceHardware(t *testing.T) {
	v, ip := hardware(t)
	for name, poll := range map[string]bool{"event driven": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			nvmetest.Conformance(t, func(*testing.T) fabric.Transport {
				return &rdma.Transport{Verbs: v, Poll: poll}
			}, net.JoinHostPort(ip.String(), "0"))
		})
	}
}
