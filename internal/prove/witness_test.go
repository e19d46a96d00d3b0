package prove

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"weft/internal/remote"
	"weft/inventory"
)

// What no probe measures holds nothing up where another host was measured over the same
// plane, and is inconclusive where nobody was.
func TestUnprobed(t *testing.T) {
	none := &Row{Initiator: "server.esx", Target: "target.st", Plane: "a", Why: unprobed, Unprobed: true}
	other := func(plane, why string) *Row {
		return &Row{Initiator: "server.cn", Target: "target.st", Plane: plane, Why: why, Wanted: 1}
	}
	v := &inventory.Validation{Name: "v", Probe: readProbe, Metrics: []*inventory.Metric{{Name: "p99", Measure: named("p99"), Max: 1, HasMax: true}}}
	for _, test := range []struct {
		name string
		rows []*Row
		want Verdict
	}{
		{"measured over the same plane", []*Row{none, other("a", "")}, NotMeasured},
		{"measured over another plane only", []*Row{none, other("b", "")}, Inconclusive},
		{"nobody was measured", []*Row{none, other("a", "it does not answer")}, Inconclusive},
		{"there is no other host", []*Row{none}, Inconclusive},
		{"measured over TCP by a host that has no more", []*Row{none, {Initiator: "server.win", Target: "target.st", Plane: "a", Wanted: 1, flow: flow{plain: true}}}, Inconclusive},
	} {
		res := &Result{Rows: test.rows}
		judge(res, v, nil, nil)
		var got []Verdict
		for _, j := range res.Judgements {
			if j.Pair == none.Pair() {
				got = append(got, j.Verdict)
			}
		}
		if !slices.Equal(got, []Verdict{test.want, test.want}) { // p99, and errors, which every validation has
			t.Errorf("%s: %q, want %s twice", test.name, got, test.want)
		}
	}
}

// allow_unmeasured names measurements that may be missing: of the validation that says so, of weft's own
// checks where a validation that was chosen says so, and by the command line everywhere.
func TestAllowUnmeasured(t *testing.T) {
	esx := Absence{Lacks: []string{"server.esx", "esxi"}, System: "ESXi"}
	list := func() []Judgement {
		return []Judgement{{Validation: "mine", Verdict: NotMeasured, Absence: esx}, {Validation: "other", Verdict: Inconclusive, Absence: esx},
			{Validation: pathName, Verdict: NotMeasured, Absence: esx}, {Validation: "mine", Verdict: Inconclusive}, {Validation: "mine", Verdict: NotMeasured, Absence: Absence{Lacks: []string{"switch.s"}}}}
	}
	mine, other := &inventory.Validation{Name: "mine", AllowUnmeasured: []string{"esxi"}}, &inventory.Validation{Name: "other"}
	m := &inventory.Model{Validations: []*inventory.Validation{mine, other}}
	for name, test := range map[string]struct {
		allow  []string
		chosen []*inventory.Validation
		want   []string
	}{
		"of its validation":     {nil, m.Validations, []string{"esxi", "", "esxi", "", ""}},
		"another is chosen":     {nil, []*inventory.Validation{other}, []string{"esxi", "", "", "", ""}},
		"by the command line":   {[]string{"esxi"}, []*inventory.Validation{other}, []string{"esxi", "esxi", "esxi", "", ""}},
		"by the device's name":  {[]string{"server.esx"}, nil, []string{"server.esx", "server.esx", "server.esx", "", ""}},
		"a device of the files": {[]string{"switch.s"}, nil, []string{"esxi", "", "", "", "switch.s"}},
	} {
		res := &Result{Judgements: list()}
		(&run{in: Input{Model: m, Allow: test.allow}}).allow(res, test.chosen)
		for i, j := range res.Judgements {
			if j.Allowed != test.want[i] || j.Allowed != "" && j.Weight() != Pass {
				t.Errorf("%s: %d: %+v", name, i, j)
			}
		}
	}
}

// Hosts that share files over RDMA are asked about each other, over each plane.
func TestPeers(t *testing.T) {
	fabric := &inventory.Fabric{Transport: "rocev2"}
	planes := []*inventory.Plane{{Name: "a"}, {Name: "b"}}
	m := &inventory.Model{}
	for n, name := range []string{"server.win1", "server.win2", "server.linux"} {
		s := &inventory.Server{Block: inventory.Block{Addr: name}}
		if n < 2 {
			s.SMB = &inventory.SMB{DirectPort: 445}
		}
		for i, p := range planes {
			s.RNICs = append(s.RNICs, &inventory.RNIC{Server: s, Plane: p, Fabric: fabric, Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), byte(n + 1)}), 24)})
		}
		m.Servers = append(m.Servers, s)
	}
	r := &run{in: Input{Model: m, Witness: func(s *inventory.Server) Witness {
		return func(context.Context, remote.Host, []Way) ([]Testimony, error) { return nil, nil }
	}}}
	var got []string
	for _, p := range r.peers() {
		got = append(got, p.row.Pair()+" "+p.way.Portal.String())
	}
	want := []string{"server.win1 → server.win2 over plane a 10.0.0.2:445", "server.win1 → server.win2 over plane b 10.0.1.2:445",
		"server.win2 → server.win1 over plane a 10.0.0.1:445", "server.win2 → server.win1 over plane b 10.0.1.1:445"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// While a rollout is under way: those that it has left nothing to do about, over planes
	// of which that holds, too.
	for _, p := range planes {
		m.Switches = append(m.Switches, &inventory.Switch{Block: inventory.Block{Addr: "switch." + p.Name}, Fabric: fabric, Plane: p.Name})
	}
	for _, test := range []struct {
		left string
		want []string
	}{{"", want}, {"switch.b", []string{want[0], want[2]}}, {"server.win2", nil}, {"server.linux", want}} {
		r.in.Settled = func(device string) bool { return device != test.left }
		var got []string
		for _, p := range r.peers() {
			got = append(got, p.row.Pair()+" "+p.way.Portal.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s is left: %q", test.left, got)
		}
	}
	// In a rollout too, what is not measured makes the whole partial, and its names are those of
	// the host and its system.
	r.hosts.dial = func(context.Context, *inventory.Server) (remote.Host, error) { return nil, nil }
	r.in.Witness = func(*inventory.Server) Witness {
		return func(context.Context, remote.Host, []Way) ([]Testimony, error) {
			return []Testimony{{Metric: "smb_direct", Verdict: NotMeasured, Why: "no session"}, {Metric: "rdma", Verdict: Pass}}, nil
		}
	}
	for _, settled := range []func(string) bool{func(string) bool { return true }, nil} {
		r.in.Settled = settled
		res := &Result{Judgements: r.testified(t.Context())}
		if len(res.Judgements) != 4 || overall(res) != Partial || !slices.Contains(res.Judgements[0].Lacks, "server.win1") {
			t.Errorf("%+v", res.Judgements)
		}
	}
	r.in.Witness = nil
	if len(r.peers()) > 0 {
		t.Error("hosts without a witness are asked")
	}
}

// A server with a witness is asked about all ways of its initiators; one that does not
// answer has proven nothing.
func TestTestified(t *testing.T) {
	plane := &inventory.Plane{Name: "a"}
	s := &inventory.Server{Block: inventory.Block{Addr: "server.esx"}}
	s.RNICs = []*inventory.RNIC{{Name: "p0", Server: s, Plane: plane, Address: netip.MustParsePrefix("10.0.0.21/24")}}
	at := netip.MustParseAddrPort("10.0.0.1:4420")
	target := &inventory.Target{Block: inventory.Block{Addr: "target.array"}, Portals: []inventory.Portal{{Address: at, Plane: plane}},
		Subsystems: []*inventory.Subsystem{{NQN: "nqn.x"}}}
	m := &inventory.Model{Servers: []*inventory.Server{s}, Initiators: []*inventory.Initiator{{Server: s, Connects: []*inventory.Connect{{To: []*inventory.Target{target}}}}}}
	var asked []Way
	says, fails := []Testimony{{Metric: "controllers", Verdict: Fail, Why: "not online"}, {OfNIC: true, Metric: "dcb", Verdict: Pass}}, error(nil)
	r := &run{in: Input{Model: m, Witness: func(*inventory.Server) Witness {
		return func(_ context.Context, _ remote.Host, ways []Way) ([]Testimony, error) {
			asked = ways
			return says, fails
		}
	}}, hosts: hosts{dial: func(context.Context, *inventory.Server) (remote.Host, error) { return nil, nil }}}
	got := r.testified(t.Context())
	if len(asked) != 1 || asked[0].NIC != s.RNICs[0] || asked[0].Portal != at || !slices.Equal(asked[0].Subsystems, []string{"nqn.x"}) {
		t.Errorf("it was asked about %+v", asked)
	}
	if len(got) != 2 || got[0].Verdict != Fail || got[0].Value != 1 || got[0].Pair != "server.esx → target.array over plane a" || got[1].Pair != "server.esx p0" || got[1].Verdict != Pass {
		t.Errorf("%+v", got)
	}
	says, fails = nil, errors.New("hostd hangs")
	if got = r.testified(t.Context()); len(got) != 1 || got[0].Verdict != Inconclusive || got[0].Why != "hostd hangs" {
		t.Errorf("%+v", got)
	}
	r.in.There = func(*inventory.Server, *inventory.Target) bool { return false }
	if got = r.testified(t.Context()); len(got) != 0 {
		t.Errorf("of what comes in a later phase: %+v", got)
	}
}

// A gate asks about no way over a plane whose leaf, or NIC, is mended in a later phase only:
// what is broken there would hold up the phase that does not touch it.
func TestTestifiedByPhase(t *testing.T) {
	fabric := &inventory.Fabric{Transport: "rocev2"}
	esx, st := &inventory.Server{Block: inventory.Block{Addr: "server.esx"}}, &inventory.Server{Block: inventory.Block{Addr: "server.st"}}
	target := &inventory.Target{Block: inventory.Block{Addr: "target.st"}, Server: st}
	m := &inventory.Model{Servers: []*inventory.Server{esx, st}, Initiators: []*inventory.Initiator{{Server: esx, Connects: []*inventory.Connect{{To: []*inventory.Target{target}}}}}}
	for i, name := range []string{"a", "b"} {
		plane := &inventory.Plane{Name: name}
		for n, s := range m.Servers {
			s.RNICs = append(s.RNICs, &inventory.RNIC{Name: "p" + name, Server: s, Fabric: fabric, Plane: plane, Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), byte(n + 1)}), 24)})
		}
		far := st.RNICs[i]
		target.Portals = append(target.Portals, inventory.Portal{Address: netip.AddrPortFrom(far.Address.Addr(), 4420), Plane: plane, RNIC: far})
		m.Switches = append(m.Switches, &inventory.Switch{Block: inventory.Block{Addr: "switch." + name}, Fabric: fabric, Plane: name})
	}
	esx.RNICs[1].VMK = &inventory.VMK{ID: "vmk2", VSwitch: "weft-b"}
	for _, test := range []struct {
		name, device, port string
		want               []string
	}{
		{"nothing is left", "", "", []string{"pa", "pb"}},
		{"the leaf of plane b is left", "switch.b", "", []string{"pa"}},
		{"the NIC of the host in plane b is left", "server.esx", "pb", []string{"pa"}},
		{"its port of the VMkernel is left", "server.esx", "vmk2", []string{"pa"}},
		{"the NIC of the target in plane a is left", "server.st", "pa", []string{"pb"}},
	} {
		var asked []string
		r := &run{in: Input{Model: m,
			Settled: func(device string) bool { return device != test.device },
			Ready:   func(device, port string) bool { return device != test.device || port != test.port },
			Witness: func(s *inventory.Server) Witness {
				if s != esx {
					return nil
				}
				return func(_ context.Context, _ remote.Host, ways []Way) ([]Testimony, error) {
					for _, w := range ways {
						asked = append(asked, w.NIC.Name)
					}
					return nil, nil
				}
			}}, hosts: hosts{dial: func(context.Context, *inventory.Server) (remote.Host, error) { return nil, nil }}}
		if r.testified(t.Context()); !slices.Equal(asked, test.want) {
			t.Errorf("%s: asked about %q, want %q", test.name, asked, test.want)
		}
	}
}

// A host whose probe speaks TCP only reads over that and marks nothing; it is judged as
// TCP, and measured no other way.
func TestPlain(t *testing.T) {
	fabric := &inventory.Fabric{Transport: "rocev2", Classes: []*inventory.TrafficClass{{Name: "rdma", DSCP: []int{26}, Priority: 3, PFC: true}}}
	s := &inventory.Server{Block: inventory.Block{Addr: "server.win"}}
	both := &inventory.Target{Block: inventory.Block{Addr: "target.st"}, Transport: []string{"rdma", "tcp"}, Subsystems: []*inventory.Subsystem{{}}}
	only := &inventory.Target{Block: inventory.Block{Addr: "target.rdma"}, Transport: []string{"rdma"}, Subsystems: []*inventory.Subsystem{{}}}
	portal := inventory.Portal{RNIC: &inventory.RNIC{Fabric: fabric}}
	runs := true
	r := &run{in: Input{Witness: func(*inventory.Server) Witness {
		return func(context.Context, remote.Host, []Way) ([]Testimony, error) { return nil, nil }
	}, Agent: func(*inventory.Server) func(remote.Host) remote.Host {
		if !runs {
			return nil
		}
		return func(h remote.Host) remote.Host { return h }
	}}}
	f := r.plain([]flow{{from: s, target: both, portal: portal}})[0]
	if w := f.over(); !slices.Equal(w.Transports, []string{"tcp"}) || w.ToS != 0 || r.unprobed(f) != "" {
		t.Errorf("it reads over %+v: %q", w, r.unprobed(f))
	}
	if is, why := f.degraded("tcp", ""); is {
		t.Errorf("it is DEGRADED: %s", why)
	}
	for name, f := range map[string]flow{"no TCP": {from: s, target: only, portal: portal}, "messages": {from: s, target: both, portal: portal, wire: socketProbe}} {
		if why := r.unprobed(r.plain([]flow{f})[0]); why == "" || why == unprobed {
			t.Errorf("%s: %q", name, why)
		}
	}
	if runs = false; r.plain([]flow{f})[0].plain || r.unasked(s) != unprobed {
		t.Error("a host without weft-initiator is measured")
	}
}
