package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/metric"
	"weft/internal/remote"
	"weft/inventory"
)

// A farm is hosts that run no probe but answer as one would.
type farm struct {
	mu     sync.Mutex
	busy   map[string]int // servers with a flow now
	clash  bool
	served map[string]uint64 // by target host
	probes []string

	p99   time.Duration            // of every flow over the fabric
	fails func(traddr string) bool // flows that are refused
	lies  bool                     // targets count a byte too many
	deaf  bool                     // nobody answers messages

	started map[string]time.Time // targets, by host
}

type farmHost struct {
	remote.Host
	farm *farm
	name string
}

func (h *farmHost) Name() string { return h.name }

func (h *farmHost) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	f := h.farm
	if c.Args[0] == agent.TargetBin {
		f.mu.Lock()
		defer f.mu.Unlock()
		out, err := json.Marshal(agent.TargetStatus{Started: f.started[h.name], Subsystems: []agent.SubsystemStatus{{NQN: "nqn:" + h.name, BytesRead: f.served[h.name]}}})
		return remote.Output{Stdout: out}, err
	}
	text, err := io.ReadAll(c.Stdin)
	if err != nil {
		return remote.Output{}, err
	}
	request, err := agent.ParseRequest(text)
	if err != nil || !slices.Equal(c.Args, []string{agent.ProbeBin, "do"}) {
		return remote.Output{}, fmt.Errorf("%v: %w", c.Args, err)
	}
	reply := agent.Reply{Format: agent.RequestFormat, Version: "v1"}
	err = f.do(ctx, h.name, request, &reply)
	out, jerr := json.Marshal(reply)
	if reply.Error != "" {
		err = &remote.ExitError{Code: 3, Output: remote.Output{Stdout: out}}
	}
	return remote.Output{Stdout: out}, errors.Join(err, jerr)
}

// do is what weft-initiator does on a server.
func (f *farm) do(ctx context.Context, host string, request *agent.Request, reply *agent.Reply) error {
	if a := request.Answer; a != nil {
		if f.deaf {
			reply.Error, reply.Hint = "no device", "get one"
			return nil
		}
		f.mu.Lock()
		f.probes = append(f.probes, host+" answers once at "+a.Listen+" over "+a.Over.Transports[0])
		f.mu.Unlock()
		return nil // its client has left
	}
	if f.deaf && request.Probe != nil {
		<-ctx.Done()
		return ctx.Err()
	}
	hist := latency.New()
	res := &agent.ProbeResult{Transport: "tcp", Op: "read", Size: 4096, Depth: 1, Samples: 100, Bytes: 409600}
	reply.Probe = res
	took, target, from := f.p99, "", ""
	switch r := request.Read; {
	case request.Probe != nil: // both ends are known to the schedule
		res.Transport, res.Op, res.Remote = "rdma", "send", request.Probe.Portal
	case r.Path != "":
		res.Transport, took, target = "local", time.Microsecond, host
	default:
		res.Remote, target, from = r.Portal, strings.TrimPrefix(r.NQN, "nqn:"), r.Over.From
	}
	f.begin(host, target)
	defer f.end(host, target)
	if f.fails != nil && f.fails(res.Remote) {
		res.Samples, res.Errors, res.Bytes, res.FirstErr = 0, 1, 0, "connect to "+res.Remote+": connection refused"
		reply.Error = res.FirstErr
		return nil
	}
	for range 100 {
		hist.Record(took)
	}
	text, err := hist.MarshalText()
	res.Histogram = string(text)
	if res.Transport == "tcp" {
		f.mu.Lock()
		f.served[target] += res.Bytes
		if f.lies {
			f.served[target]++
		}
		f.probes = append(f.probes, host+" "+res.Remote+" "+from)
		f.mu.Unlock()
	}
	return err
}

func (h *farmHost) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }
func (h *farmHost) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errors.New("a proof writes nothing")
}

func (f *farm) begin(servers ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range slices.Compact(slices.Sorted(slices.Values(servers))) {
		f.busy[s]++
		f.clash = f.clash || f.busy[s] > 1
	}
}

func (f *farm) end(servers ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range slices.Compact(slices.Sorted(slices.Values(servers))) {
		f.busy[s]--
	}
}

// model is initiators × targets over two planes with one validation.
func model(initiators, targets int, max time.Duration) *inventory.Model {
	a := &inventory.Plane{Name: "a", Subnet: netip.MustParsePrefix("10.0.1.0/24")}
	b := &inventory.Plane{Name: "b", Subnet: netip.MustParsePrefix("10.0.2.0/24")}
	server := func(name string, n byte) *inventory.Server {
		s := &inventory.Server{Block: inventory.Block{Addr: "server." + name}, Name: name, Host: name}
		for i, p := range []*inventory.Plane{a, b} {
			s.RNICs = append(s.RNICs, &inventory.RNIC{Server: s, Plane: p,
				Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i + 1), n}), 24)})
		}
		return s
	}
	m := &inventory.Model{Validations: []*inventory.Validation{{
		Block: inventory.Block{Addr: "validation.latency"}, Name: "latency", Probe: "nvme-read", Sizes: []int{4096}, Samples: 100,
		Metrics: []*inventory.Metric{{Name: "added_p99", Measure: named("added_p99"), HasMax: true, Duration: true, Max: float64(max), Size: 4096}},
	}}}
	for i := range targets {
		s := server("t"+string(rune('1'+i)), byte(10+i))
		t := &inventory.Target{Block: inventory.Block{Addr: "target." + s.Name}, Server: s,
			Subsystems: []*inventory.Subsystem{{NQN: "nqn:" + s.Name, Namespaces: []*inventory.Namespace{{ID: 1, From: &inventory.Volume{}}}}}}
		for _, nic := range s.RNICs {
			t.Portals = append(t.Portals, inventory.Portal{RNIC: nic, Plane: nic.Plane, Address: netip.AddrPortFrom(nic.Address.Addr(), 4420)})
		}
		m.Targets = append(m.Targets, t)
	}
	for i := range initiators {
		s := server("i"+string(rune('1'+i)), byte(20+i))
		m.Initiators = append(m.Initiators, &inventory.Initiator{Server: s, ProbeNQN: "nqn:probe", Connects: []*inventory.Connect{{To: m.Targets}}})
	}
	return m
}

func prove(t *testing.T, m *inventory.Model, f *farm, down ...string) *Result {
	t.Helper()
	f.busy, f.served = map[string]int{}, map[string]uint64{}
	res, err := Run(t.Context(), Input{
		Model:  m,
		Volume: func(*inventory.Volume, *inventory.Server) string { return "/volume" },
		Host: func(_ context.Context, s *inventory.Server) (remote.Host, error) {
			if slices.Contains(down, s.Name) {
				return nil, errors.New(s.Name + " is down")
			}
			return &farmHost{farm: f, name: s.Name}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.clash {
		t.Error("two flows disturbed each other on one server")
	}
	return res
}

func verdicts(res *Result, metric string) map[Verdict]int {
	out := map[Verdict]int{}
	for _, j := range res.Judgements {
		if j.Metric == metric {
			out[j.Verdict]++
		}
	}
	return out
}

func TestEveryPairOnEveryPlane(t *testing.T) {
	f := &farm{p99: 50 * time.Microsecond}
	res := prove(t, model(3, 2, time.Millisecond), f)
	if len(res.Rows) != 3*2*2 || len(res.Local) != 2 || res.Verdict != Pass {
		t.Errorf("%d rows, %d local, %s", len(res.Rows), len(res.Local), res.Verdict)
	}
	for _, want := range []string{"i1 10.0.1.10:4420 10.0.1.20", "i3 10.0.2.11:4420 10.0.2.22"} {
		if !slices.Contains(f.probes, want) {
			t.Errorf("no probe %q in %v", want, f.probes)
		}
	}
	if got := verdicts(res, "bytes"); got[Pass] != 2 {
		t.Errorf("accounting: %v", got)
	}
}

func TestLimitExceeded(t *testing.T) {
	res := prove(t, model(2, 1, 20*time.Microsecond), &farm{p99: 50 * time.Microsecond})
	if got := verdicts(res, "added_p99"); res.Verdict != Fail || got[Fail] != 4 {
		t.Errorf("%s, %v", res.Verdict, got)
	}
	// Exactly on the limit is within it.
	res = prove(t, model(2, 1, 49*time.Microsecond), &farm{p99: 50 * time.Microsecond})
	if res.Verdict != Pass {
		t.Errorf("%s, %+v", res.Verdict, res.Judgements)
	}
}

// A refused read fails its pair, by name, whatever the limits; others pass.
func TestRefusedReads(t *testing.T) {
	f := &farm{p99: time.Microsecond, fails: func(traddr string) bool { return traddr == "10.0.2.10:4420" }}
	res := prove(t, model(1, 2, time.Second), f)
	if res.Verdict != Fail {
		t.Errorf("verdict %s", res.Verdict)
	}
	for _, j := range res.Judgements {
		refused := j.Pair == "server.i1 → target.t1 over plane b"
		if (j.Verdict == Fail) != refused && j.Metric != "bytes" {
			t.Errorf("%+v", j)
		}
		if refused && !strings.Contains(j.Why, "connection refused") {
			t.Errorf("no reason: %+v", j)
		}
	}
}

// What cannot be tried proves nothing, and never passes.
func TestInconclusive(t *testing.T) {
	res := prove(t, model(2, 1, time.Second), &farm{p99: time.Microsecond}, "i2")
	got := verdicts(res, "added_p99")
	if res.Verdict != Inconclusive || got[Pass] != 2 || got[Inconclusive] != 2 {
		t.Errorf("an initiator is down: %s, %v", res.Verdict, got)
	}
	// A target that counts more than was read was read by another.
	res = prove(t, model(1, 1, time.Second), &farm{p99: time.Microsecond, lies: true})
	if got := verdicts(res, "bytes"); res.Verdict != Inconclusive || got[Inconclusive] != 1 {
		t.Errorf("bytes differ: %s, %v", res.Verdict, got)
	}
	// Too few samples.
	m := model(1, 1, time.Second)
	m.Validations[0].Samples = 101
	if res := prove(t, m, &farm{p99: time.Microsecond}); res.Verdict != Inconclusive {
		t.Errorf("too few samples: %s", res.Verdict)
	}
}

func TestNames(t *testing.T) {
	in := Input{Model: model(1, 1, time.Second), Names: []string{"latncy"}}
	if _, err := Run(t.Context(), in); err == nil || !strings.Contains(err.Error(), "latncy") {
		t.Errorf("an unknown validation: %v", err)
	}
	if _, err := Run(t.Context(), Input{Model: model(0, 1, time.Second)}); err == nil {
		t.Error("nothing to measure was measured")
	}
}

func TestNotes(t *testing.T) {
	m := model(1, 1, time.Second)
	m.Validations = append(m.Validations, &inventory.Validation{
		Block: inventory.Block{Addr: "validation.counters"}, AllowUnmeasured: []string{"esxi", "switch.spine"}})
	notes := Notes(m)
	if len(notes) != 1 || !strings.Contains(notes[0].Text, "esxi, switch.spine") {
		t.Errorf("%+v", notes)
	}
}

// named is a metric of the table.
func named(name string) metric.ID {
	id, _ := metric.Parse(name)
	return id
}

// A metric that nothing measures is an error before anything is measured: its value would be
// 0, and 0 is within every limit.
func TestUnknownMetrics(t *testing.T) {
	for _, v := range []*inventory.Validation{
		{Probe: readProbe, Metrics: []*inventory.Metric{{Name: "p95", HasMax: true}}},
		{Probe: verbsProbe, Metrics: []*inventory.Metric{{Name: "added_p99", Measure: named("added_p99"), HasMax: true}}},
		{Probe: loadProbe, Load: &inventory.Load{Pattern: "randread"}, Metrics: []*inventory.Metric{{Name: "p95", HasMax: true}}},
		{Metrics: []*inventory.Metric{{Name: "x", Source: "switch.port.class.rdma.smell", HasMax: true}}},
		{Metrics: []*inventory.Metric{{Name: "x", Source: "switch.rnic.drops", HasMax: true}}},
		{Metrics: []*inventory.Metric{{Name: "p99", Measure: named("p99"), HasMax: true}}},
	} {
		m := model(1, 1, time.Second)
		v.Name, v.Addr = "odd", "validation.odd"
		m.Validations = append(m.Validations, v)
		if res, err := Run(t.Context(), Input{Model: m}); err == nil || !strings.Contains(err.Error(), "validation.odd, metric") {
			t.Errorf("%+v: %v, %v", v.Metrics[0], res, err)
		}
	}
	row := &Row{Wanted: 1, ProbeResult: agent.ProbeResult{Samples: 1}}
	v := &inventory.Validation{Name: "v"}
	if j := one(&Result{}, v, &inventory.Metric{Name: "p95", HasMax: true, Max: 1}, row); j.Verdict != Inconclusive {
		t.Errorf("%+v", j)
	}
	l := &Load{Reads: Operations{Done: 1}}
	if list := l.latencies(metric.ID{}, Judgement{Limit: 1}); len(list) != 1 || list[0].Verdict != Inconclusive {
		t.Errorf("%+v", list)
	}
}

// A target of another's is read as any other, from whichever namespace it
// shows; nobody reads it locally, and nobody counts what it has served.
func TestExternalTarget(t *testing.T) {
	m := model(1, 1, time.Second)
	target := m.Targets[0]
	target.Server, target.Engine, target.Subsystems[0].Namespaces = nil, "external", nil
	for i := range target.Portals {
		target.Portals[i].RNIC = nil
	}
	second := target.Portals[0]
	second.Address = netip.MustParseAddrPort("10.0.1.99:4420")
	target.Portals = append(target.Portals, second)
	limit := m.Validations[0].Metrics[0]
	limit.Name, limit.Measure = "p99", named("p99")
	res := prove(t, m, &farm{p99: 50 * time.Microsecond})
	if len(res.Rows) != 3 || len(res.Local) != 0 || res.Verdict != Pass {
		t.Errorf("%d rows, %d local, %s: %+v", len(res.Rows), len(res.Local), res.Verdict, res.Judgements)
	}
	pairs := map[string]bool{}
	for _, row := range res.Rows {
		pairs[row.Pair()] = true
	}
	if len(pairs) != 3 || !pairs["server.i1 → target.t1 over plane a at 10.0.1.99:4420"] || !pairs["server.i1 → target.t1 over plane b"] {
		t.Errorf("%v", pairs)
	}
	limit.Name, limit.Measure = "added_p99", named("added_p99")
	res = prove(t, m, &farm{p99: 50 * time.Microsecond})
	if res.Verdict != Inconclusive || !strings.Contains(res.Judgements[0].Why, "limit p99 instead") {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
}

// What the kernel serves is not counted by weft-target.
func TestKernelTarget(t *testing.T) {
	m := model(1, 1, time.Second)
	m.Targets[0].Engine = "nvmet"
	res := prove(t, m, &farm{p99: 50 * time.Microsecond})
	if got := verdicts(res, "bytes"); res.Verdict != Pass || len(got) != 0 {
		t.Errorf("%s, %v", res.Verdict, got)
	}
}

// Messages without NVMe go from server to server over every plane; the other end
// answers meanwhile, and touches no storage.
func TestMessages(t *testing.T) {
	m := model(2, 1, time.Second)
	m.Validations = append(m.Validations, &inventory.Validation{Block: inventory.Block{Addr: "validation.wire"}, Name: "wire", Probe: "verbs",
		Sizes: []int{64, 4096}, Samples: 100, Metrics: []*inventory.Metric{{Name: "p99", Measure: named("p99"), HasMax: true, Duration: true, Max: float64(60 * time.Microsecond)}}})
	f := &farm{p99: 50 * time.Microsecond}
	res := prove(t, m, f)
	messages := 0
	for _, row := range res.Rows {
		if row.Probe == "verbs" {
			messages++
		}
	}
	if messages != 2*2*2 || len(res.Rows) != messages+4 || res.Verdict != Pass {
		t.Errorf("%d of %d rows, %s: %+v", messages, len(res.Rows), res.Verdict, res.Judgements)
	}
	if got := verdicts(res, "p99"); got[Pass] != 8 {
		t.Errorf("%v", got)
	}
	if want := "t1 answers once at 10.0.1.10:18515 over rdma"; !slices.Contains(f.probes, want) {
		t.Errorf("no %q in %v", want, f.probes)
	}
	// Where the other end cannot answer nothing is proven, and its reason is told.
	f.deaf = true
	res = prove(t, m, f)
	if got := verdicts(res, "p99"); res.Verdict != Inconclusive || got[Inconclusive] != 8 {
		t.Errorf("%s, %v", res.Verdict, got)
	}
	for _, j := range res.Judgements {
		if j.Validation == "wire" && !strings.Contains(j.Why, "server.t1 does not answer at 10.0.") || strings.Contains(j.Why, "\n") {
			t.Errorf("%+v", j)
		}
	}
}
