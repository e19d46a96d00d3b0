//go:build unix

package windows

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"weft/internal/lab/simwindows"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// What a host says of a way to another one, before and after all of RDMA is set up, and
// with what may be wrong.
func TestWitness(t *testing.T) {
	h, err := simwindows.New(simwindows.Spec{Name: "win1", NICs: []simwindows.NIC{{PCI: nicA, RDMA: true}, {PCI: nicB, RDMA: true}}, Peers: []string{"10.0.0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	log := &logged{box: &box{h, t}}
	way := transport{Host: log}
	fabric := &inventory.Fabric{Transport: "rocev2", HostMTU: 9000, Classes: []*inventory.TrafficClass{{Priority: 3, PFC: true}}}
	to := func(address string) []host.Way {
		return []host.Way{{NIC: &inventory.RNIC{PCI: nicA, Fabric: fabric, Address: netip.MustParsePrefix("10.0.0.1/24")}, Portal: netip.MustParseAddrPort(address)}}
	}
	doAll(t, way, []remote.Step{host.Run("New-NetIPAddress", "-InterfaceAlias", nicName(nicA), "-IPAddress", "10.0.0.1", "-PrefixLength", "24")})
	says := func(address string) (list []string) {
		got, err := witness(t.Context(), way, to(address))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			list = append(list, fmt.Sprintf("%s %d", s.Metric, s.Holds))
		}
		return list
	}
	expect := func(when, address string, want ...string) {
		t.Helper()
		if got := says(address); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	expect("nothing is set up", "10.0.0.2:445", "rdma 2", "smb_direct 1", "jumbo 2")
	parts := roceParts()
	read(t, way, parts)
	for _, p := range parts {
		doAll(t, way, p.there())
	}
	expect("all is", "10.0.0.2:445", "rdma 1", "smb_direct 1", "jumbo 1")
	expect("there is no session", "10.0.0.3:445", "rdma 1", "smb_direct 0", "jumbo 1")
	expect("nobody is there", "10.9.9.9:445", "rdma 1", "smb_direct 0", "jumbo 2")
	if err := h.Fault("no-rdma"); err != nil {
		t.Fatal(err)
	}
	expect("RDMA is off for the whole host", "10.0.0.2:445", "rdma 2", "smb_direct 2", "jumbo 1")
	for _, s := range log.scripts {
		if err := powershell.Check(s); err != nil {
			t.Errorf("%v in\n%s", err, s)
		}
	}
}
