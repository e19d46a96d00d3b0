package esxi

import (
	"context"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/internal/require"
	"weft/internal/tally"
	"weft/inventory"
	"weft/modules/host"
)

// A talker answers looks with documents by their commands, and vmkping.
type talker struct {
	says   map[string]string
	pings  map[string]string // by size
	looked [][]string
}

func (t *talker) Name() string                                     { return "esx1" }
func (t *talker) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }
func (t *talker) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return fs.ErrInvalid
}

func (t *talker) Run(_ context.Context, c remote.Cmd) (out remote.Output, err error) {
	out.Stdout = []byte(t.pings[c.Args[5]])
	return out, nil
}

func (t *talker) Look(_ context.Context, looks []remote.Look) (remote.Seen, error) {
	var answers []remote.Answer
	for _, l := range looks {
		t.looked = append(t.looked, l.Args)
		text, ok := t.says[strings.Join(l.Args[2:], " ")]
		sight := remote.Sight{Content: []byte(text)}
		if !ok {
			sight = remote.Sight{Err: &remote.ExitError{Args: l.Args, Code: 1}, Code: 1}
		}
		answers = append(answers, remote.Answer{Look: l, Sight: sight})
	}
	return remote.NewSeen(answers...), nil
}

func newTalker() *talker {
	return &talker{says: map[string]string{
		"network nic list":      listOf(nic("vmnic4", "0000:41:00.0", "Up")),
		"rdma device list":      listOf(structure("Name", "vmrdma0", "State", "Active", "PairedUplink", "vmnic4")),
		"nvme adapter list":     listOf(structure("Adapter", "vmhba64", "TransportType", "RDMA", "Driver", "nvmerdma", "AssociatedDevices", "vmrdma0, vmnic4")),
		"nvme controller list":  listOf(structure("Name", "nqn.x#vmhba64#10.0.0.1:4420", "ControllerNumber", "300", "IsOnline", "true"), structure("Name", "nqn.y#vmhba64#10.0.0.1:4420", "ControllerNumber", "301", "IsOnline", "false")),
		"nvme namespace list":   listOf(structure("Name", "uuid.1", "ControllerNumber", "300", "BlockSize", "512")),
		"nvme info get":         document(structure("HostNQN", "nqn.host")),
		"storage hpp path list": listOf(structure("RuntimeName", "vmhba64:C0:T0:L1", "Device", "uuid.1", "PathState", "active unoptimized"), structure("RuntimeName", "vmhba1:C0:T0:L1", "Device", "uuid.1", "PathState", "dead")),
		"network nic dcb status get -n vmnic4": document(structure("Mode", "IEEE Mode", "PFC Enabled", "true", "PFC Configuration", "0 0 0 1 0 0 0 0",
			"Sent PFC Frames", "0 0 0 7 0 0 0 0", "Received PFC Frames", "[]0 0 0 8 0 0 0 0")),
	}, pings: map[string]string{"8972": "3 packets transmitted, 3 packets received, 0% packet loss", "56": "3 packets transmitted, 3 packets received, 0% packet loss"}}
}

func aWay(nqns ...string) host.Way {
	f := &inventory.Fabric{Transport: "rocev2", Mode: "lossless", HostMTU: 9000, Classes: []*inventory.TrafficClass{{Priority: 3, PFC: true}, {Priority: 0}}}
	return host.Way{NIC: &inventory.RNIC{PCI: "0000:41:00.0", Fabric: f, VMK: &inventory.VMK{ID: "vmk2"}}, Portal: netip.MustParseAddrPort("10.0.0.1:4420"), NQNs: nqns}
}

// What a host says of a way holds, does not hold, or is not known: never anything else.
func TestWitness(t *testing.T) {
	for _, test := range []struct {
		name string
		nqn  string
		is   func(*talker)
		want string
	}{
		{"all is well", "nqn.x", func(*talker) {}, "dcb 1, controllers 1, blocks 1, paths 1, jumbo 1"},
		{"not online, no namespace", "nqn.y", func(*talker) {}, "dcb 1, controllers 2, blocks 0, paths 0, jumbo 1"},
		{"online, no namespace", "nqn.x", func(h *talker) { h.says["nvme namespace list"] = listOf() }, "dcb 1, controllers 1, blocks 2, paths 0, jumbo 1"},
		{"no list of namespaces", "nqn.x", func(h *talker) { delete(h.says, "nvme namespace list") }, "dcb 1, controllers 1, blocks 0, paths 0, jumbo 1"},
		{"no controller", "nqn.z", func(*talker) {}, "dcb 1, controllers 2, jumbo 1"},
		{"4K blocks", "nqn.x", func(h *talker) {
			h.says["nvme namespace list"] = listOf(structure("Name", "uuid.1", "ControllerNumber", "300", "BlockSize", "4096"))
		}, "dcb 1, controllers 1, blocks 2, paths 1, jumbo 1"},
		{"a release without paths of HPP", "nqn.x", func(h *talker) { delete(h.says, "storage hpp path list") }, "dcb 1, controllers 1, blocks 1, paths 0, jumbo 1"},
		{"no path listed", "nqn.x", func(h *talker) { h.says["storage hpp path list"] = listOf() }, "dcb 1, controllers 1, blocks 1, paths 0, jumbo 1"},
		{"a dead path", "nqn.x", func(h *talker) {
			h.says["storage hpp path list"] = listOf(structure("RuntimeName", "vmhba64:C0:T0:L1", "Device", "uuid.1", "PathState", "dead"))
		}, "dcb 1, controllers 1, blocks 1, paths 2, jumbo 1"},
		{"no DCB", "nqn.x", func(h *talker) { delete(h.says, "network nic dcb status get -n vmnic4") }, "dcb 0, controllers 1, blocks 1, paths 1, jumbo 1"},
		{"no NIC", "nqn.x", func(h *talker) { h.says["network nic list"] = listOf() }, "dcb 0, controllers 1, blocks 1, paths 1, jumbo 1"},
		{"short frames only", "nqn.x", func(h *talker) { h.pings["8972"] = "3 packets transmitted, 0 packets received, 100% packet loss" }, "dcb 1, controllers 1, blocks 1, paths 1, jumbo 2"},
		{"some are lost", "nqn.x", func(h *talker) { h.pings["8972"] = "3 packets transmitted, 2 packets received, 33% packet loss" }, "dcb 1, controllers 1, blocks 1, paths 1, jumbo 2"},
		{"vmkping says nothing", "nqn.x", func(h *talker) { h.pings["8972"] = "" }, "dcb 1, controllers 1, blocks 1, paths 1, jumbo 0"},
	} {
		h := newTalker()
		test.is(h)
		says, err := witness(t.Context(), h, []host.Way{aWay(test.nqn)})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		var got []string
		for _, s := range says {
			got = append(got, s.Metric+" "+string(rune('0'+s.Holds)))
			if (s.Holds == host.Holds) != (s.Why == "") {
				t.Errorf("%s: %+v", test.name, s)
			}
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}

func TestLive(t *testing.T) {
	h := newTalker()
	live, err := readLive(t.Context(), h)
	if err != nil || len(live) != 1 || live[0].NQN != "nqn.x" || live[0].HostNQN != "nqn.host" || live[0].Address.String() != "10.0.0.1:4420" {
		t.Errorf("%+v, %v", live, err)
	}
	target := &inventory.Target{Subsystems: []*inventory.Subsystem{{NQN: "nqn.x"}, {NQN: "nqn.y"}}}
	p, err := readAttached(t.Context(), h, &inventory.Initiator{Connects: []*inventory.Connect{{To: []*inventory.Target{target}}}})
	if err != nil || p.Fewest() != 0 || p.Live["nqn.x"] != 1 || !slices.Equal(p.Devices, []string{"uuid.1"}) {
		t.Errorf("%+v, %v", p, err)
	}
}

// Counters as a host has printed them: the structured names follow from the labels.
func TestTranscriptCounters(t *testing.T) {
	var pairs []string
	for _, line := range strings.Split(require.Transcript(t, "esxi/network_nic_stats_get__intel_mfd.txt"), "\n") {
		if label, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			pairs = append(pairs, label, value)
		}
	}
	h := newTalker()
	h.says["network nic stats get -n vmnic4"] = document(structure(pairs...))
	got, err := meter(t.Context(), h, []host.NIC{{Name: "p0", PCI: "0000:41:00.0"}})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok, why := got.Find("p0", tally.AllPriorities, tally.Drops); !ok || c.Off != "" || c.Value != 0 {
		t.Errorf("drops %+v, %v, %s", c, ok, why)
	}
	for name, want := range map[string]uint64{tally.PFCTx: 7, tally.PFCRx: 8} {
		if c, ok, why := got.Find("p0", 3, name); !ok || c.Value != want {
			t.Errorf("%s %+v, %v, %s", name, c, ok, why)
		}
	}
	if c, ok, _ := got.Find("p0", 3, tally.TxBytes); !ok || c.Off == "" {
		t.Errorf("bytes of a class, which ESXi does not count: %+v, %v", c, ok)
	}
	delete(h.says, "network nic stats get -n vmnic4")
	if got, err = meter(t.Context(), h, []host.NIC{{Name: "p0", PCI: "0000:41:00.0"}}); err != nil {
		t.Fatal(err)
	}
	if _, ok, why := got.Find("p0", tally.AllPriorities, tally.Drops); ok || why == "" {
		t.Errorf("what a host does not tell is no count: %v, %q", ok, why)
	}
}
