//go:build unix

package windows

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"weft/internal/lab/simwindows"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// What a host says of a way to another one, before and after all of RDMA is set up, and
// with what may be wrong.
func TestWitness(t *testing.T) { synctest.Test(t, testWitness) }

func testWitness(t *testing.T) {
	h, err := simwindows.New(simwindows.Spec{Name: "win1", NICs: []simwindows.NIC{{PCI: nicA, RDMA: true}, {PCI: nicB, RDMA: true}}, Peers: []string{"10.0.0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	log := &logged{box: &box{Host: h, t: t}}
	way := transport{Host: log}
	fabric := &inventory.Fabric{Transport: "rocev2", HostMTU: 9000, Classes: []*inventory.TrafficClass{{Priority: 3, PFC: true}}}
	to := func(address string) []host.Way {
		return []host.Way{{NIC: &inventory.RNIC{PCI: nicA, Fabric: fabric, Address: netip.MustParsePrefix("10.0.0.1/24")}, Portal: netip.MustParseAddrPort(address)}}
	}
	doAll(t, way, []remote.Step{host.Run("New-NetIPAddress", "-InterfaceAlias", nicName(nicA), "-IPAddress", "10.0.0.1", "-PrefixLength", "24")})
	var why string // of what RDMA has carried
	says := func(address string) (list []string) {
		got, err := witness(t.Context(), way, to(address))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			list = append(list, fmt.Sprintf("%s %d", s.Metric, s.Holds))
			if s.Metric == "rdma_traffic" {
				why = s.Why
			}
		}
		return list
	}
	expect := func(when, address string, want ...string) {
		t.Helper()
		if got := says(address); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	carried := func(when, want string) {
		t.Helper()
		if !strings.Contains(why, want) || want == "" && why != "" {
			t.Errorf("%s: %q, want %q", when, why, want)
		}
	}
	expect("nothing is set up", "10.0.0.2:445", "rdma 2", "rdma_traffic 3", "smb_direct 1", "jumbo 2")
	parts := roceParts()
	read(t, way, parts)
	for _, p := range parts {
		doAll(t, way, p.there())
	}
	expect("all is", "10.0.0.2:445", "rdma 1", "rdma_traffic 3", "smb_direct 1", "jumbo 1")
	expect("there is no session", "10.0.0.3:445", "rdma 1", "rdma_traffic 3", "smb_direct 3", "jumbo 1")
	expect("nobody is there", "10.9.9.9:445", "rdma 1", "rdma_traffic 3", "smb_direct 3", "jumbo 2")
	carried("nobody is there", "2 connections of RDMA stand, and nothing went over RDMA meanwhile: read a large file")
	fault := func(name string) {
		t.Helper()
		if err := h.Fault(name); err != nil {
			t.Fatal(err)
		}
	}
	fault("smb-copy")
	expect("files are copied", "10.0.0.2:445", "rdma 1", "rdma_traffic 1", "smb_direct 1", "jumbo 1")
	carried("files are copied", "")
	fault("german")
	expect("files are copied in German", "10.0.0.2:445", "rdma 1", "rdma_traffic 1", "smb_direct 1", "jumbo 1")
	fault("rdma-errors")
	expect("connections break", "10.0.0.2:445", "rdma 1", "rdma_traffic 2", "smb_direct 1", "jumbo 1")
	carried("connections break", "RDMA broke with an error meanwhile, connections or completion queues: 1 times")
	fault("twins")
	expect("two adapters are described alike", "10.0.0.2:445", "rdma 1", "rdma_traffic 3", "smb_direct 1", "jumbo 1")
	carried("two adapters are described alike", "two adapters are described as \"SIMULATED 100GbE Adapter\"")
	fault("mended")
	fault("one-channel")
	expect("SMB Multichannel is off", "10.0.0.2:445", "rdma 1", "rdma_traffic 3", "smb_direct 2", "jumbo 1")
	fault("mended")
	fault("no-rdma")
	expect("RDMA is off for the whole host", "10.0.0.2:445", "rdma 2", "rdma_traffic 3", "smb_direct 2", "jumbo 1")
	for _, s := range log.scripts {
		if err := powershell.Check(s); err != nil {
			t.Errorf("%v in\n%s", err, s)
		}
	}
}

// What counters do not tell is no measurement, whatever it is.
func TestTraffic(t *testing.T) {
	none := counters{active: 2, in: 10, out: 10}
	for want, after := range map[string]counters{
		"3: 2 connections of RDMA stand":                  none,
		"3: no connection of RDMA stands":                 {in: 10, out: 10},
		"3: one connection of RDMA stands":                {active: 1, in: 10, out: 10},
		"3: the counters of RDMA went back":               {in: 9, out: 20},
		"3: it is not told":                               {why: "it is not told"},
		"1: ":                                             {in: 10, out: 11},
		"2: RDMA broke":                                   {in: 20, out: 20, broken: 2},
		"0: failed RDMA connection attempts meanwhile: 1": {in: 20, out: 20, refused: 1},
	} {
		says := testifyTraffic(none, after, 4)
		if got := fmt.Sprintf("%d: %s", says.Holds, says.Why); !strings.HasPrefix(got, want) || says.Way != 4 || !says.OfNIC {
			t.Errorf("%+v: %s, want %s", after, got, want)
		}
	}
	seen := func(text string) remote.Seen {
		return remote.NewSeen(remote.Answer{Look: countersLook(), Sight: remote.Sight{Content: []byte(text)}})
	}
	const row = `{"Name":"Card [X] _2","RDMAActiveConnections":"1","RDMACompletionQueueErrors":"2","RDMAConnectionErrors":"3","RDMAFailedConnectionAttempts":"4","RDMAInboundBytesPersec":"18446744073709551615","RDMAOutboundBytesPersec":"6"}`
	for text, want := range map[string]counters{
		"[" + row + "]":                         {active: 1, broken: 5, refused: 4, in: 1<<64 - 1, out: 6},
		row:                                     {active: 1, broken: 5, refused: 4, in: 1<<64 - 1, out: 6},
		"[" + row + "," + row + "]":             {why: `Windows has 2 rows of RDMA counters for an adapter "Card (X) #2", which are told apart by that only`},
		"[]":                                    {why: `Windows has 0 rows of RDMA counters for an adapter "Card (X) #2", which are told apart by that only`},
		strings.Replace(row, `"6"`, `"6,5"`, 1): {active: 1, broken: 5, refused: 4, in: 1<<64 - 1, why: `a counter of RDMA of "Card (X) #2" is "6,5", which is no number`},
	} {
		if got := countersOf(seen(text), "Card (X) #2"); got != want {
			t.Errorf("%s:\n%+v, want\n%+v", text, got, want)
		}
	}
	lacks := remote.NewSeen(remote.Answer{Look: countersLook(), Sight: remote.Sight{Err: errors.New("Invalid class")}})
	if got := countersOf(lacks, "x"); !strings.Contains(got.why, "Windows reports no RDMA counters: Invalid class") {
		t.Errorf("%+v", got)
	}
}
