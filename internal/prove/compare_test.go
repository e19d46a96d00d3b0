package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/remote"
	"weft/inventory"
)

// A bench is two machines whose processors count what reads over them cost.
type bench struct {
	mu    sync.Mutex
	clock map[string]busyness // by server, in ticks
	other map[string]int64    // ticks in a hundred that a server is busy anyway
	costs map[string]int64    // ticks of each end for a load over a way
	p99   map[string]time.Duration
	fails map[string]int // way → number of its load that fails; from 1
	loads map[string]int
	mute  string // server that does not say how busy it is
	order []string
}

func newBench() *bench {
	return &bench{clock: map[string]busyness{}, other: map[string]int64{}, loads: map[string]int{},
		costs: map[string]int64{"rdma": 25, "tcp": 50, "local": 10}, p99: map[string]time.Duration{"rdma": 20 * time.Microsecond, "tcp": 50 * time.Microsecond, "local": 10 * time.Microsecond}}
}

// pass lets time pass on all machines, of a hundred ticks.
func (b *bench) pass() {
	for _, s := range []string{"i1", "t1"} {
		b.clock[s] = busyness{b.clock[s].busy + b.other[s], b.clock[s].whole + 100}
	}
}

type benchHost struct {
	remote.Host
	*bench
	name string
}

func (h *benchHost) Name() string { return h.name }

func (h *benchHost) ReadFile(_ context.Context, path string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if path != "/proc/stat" || h.name == h.mute {
		return nil, fs.ErrNotExist
	}
	c := h.clock[h.name]
	return fmt.Appendf(nil, "cpu 0 0 %d %d 0 0 0 0 0 0\n", c.busy, c.whole-c.busy), nil
}

// Run does requests: the one read of an idle window and a load each take a hundred ticks.
func (h *benchHost) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	if c.Args[0] == agent.TargetBin {
		return remote.Output{Stdout: []byte("{}")}, nil
	}
	if c.Args[0] == "sh" { // it rests
		if h.name == h.mute {
			return remote.Output{}, &remote.ExitError{Code: 1}
		}
		before, _ := h.ReadFile(ctx, "/proc/stat")
		h.mu.Lock()
		h.pass()
		h.mu.Unlock()
		after, err := h.ReadFile(ctx, "/proc/stat")
		return remote.Output{Stdout: append(append(before, "cpu0 1\n"...), after...)}, err
	}
	text, err := io.ReadAll(c.Stdin)
	if err != nil {
		return remote.Output{}, err
	}
	q, err := agent.ParseRequest(text)
	if err != nil {
		return remote.Output{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	reply := agent.Reply{Format: agent.RequestFormat, Version: "v1"}
	if q.Read != nil {
		err = h.read(q.Read, &reply)
	} else {
		h.loaded(q.Load, &reply)
	}
	out, jerr := json.Marshal(reply)
	if err == nil {
		err = jerr
	}
	if reply.Error != "" {
		return remote.Output{}, &remote.ExitError{Code: 3, Output: remote.Output{Stdout: out}}
	}
	return remote.Output{Stdout: out}, err
}

func wayOf(path string, over agent.Way) string {
	if path != "" {
		return "local"
	}
	return strings.Join(over.Transports, ",")
}

func (h *benchHost) read(q *agent.ReadRequest, reply *agent.Reply) error {
	way := wayOf(q.Path, q.Over)
	hist := latency.New()
	for range q.Samples {
		hist.Record(h.p99[way])
	}
	text, err := hist.MarshalText()
	reply.Probe = &agent.ProbeResult{Transport: way, Op: "read", Size: q.Size, Samples: q.Samples, Histogram: string(text)}
	if q.Samples == 1 {
		h.pass()
	} else {
		h.order = append(h.order, way)
	}
	return err
}

func (h *benchHost) loaded(q *agent.LoadRequest, reply *agent.Reply) {
	way := wayOf(q.Path, q.Over)
	h.loads[way]++
	h.pass()
	if h.loads[way] == h.fails[way] {
		reply.Error = "load: 2 commands failed, the first: the cable is out"
		reply.Load = &agent.LoadResult{Mode: "event", Reads: 7, Failed: 2}
		return
	}
	ends := []string{"i1", "t1"}
	if way == "local" {
		ends = []string{h.name}
	}
	for _, s := range ends {
		c := h.clock[s]
		// No two blocks are the same, and what differs is the same for all ways.
		h.clock[s] = busyness{c.busy + h.costs[way]*int64(10+h.loads[way])/10, c.whole}
	}
	const reads = 122070 // of 4 KiB: 4 Gbit
	reply.Load = &agent.LoadResult{Transport: way, Mode: "event", Reads: reads, IOPS: reads, BytesPerSec: reads * 4096}
}

// compareModel is one pair over one plane, and a validation that compares.
func compareModel(metrics ...*inventory.Metric) *inventory.Model {
	m := model(1, 1, time.Second)
	t := m.Targets[0]
	t.Engine, t.Transport, t.Portals = "weft", []string{"rdma", "tcp"}, t.Portals[:1]
	m.Validations = []*inventory.Validation{{Block: inventory.Block{Addr: "validation.worth"}, Name: "worth", Compare: []string{"rdma", "tcp", "local"},
		Sizes: []int{4096}, Samples: 100, Depth: 8, Runtime: time.Millisecond, Metrics: metrics}}
	return m
}

func least(name string, min float64) *inventory.Metric {
	return &inventory.Metric{Name: name, Measure: named(name), HasMin: true, Min: min}
}

func most(name string, max float64) *inventory.Metric {
	return &inventory.Metric{Name: name, Measure: named(name), HasMax: true, Max: max}
}

func (b *bench) prove(t *testing.T, m *inventory.Model, in Input) *Result {
	t.Helper()
	in.Model, in.Volume = m, func(*inventory.Volume, *inventory.Server) string { return "/volume" }
	in.Host = func(_ context.Context, s *inventory.Server) (remote.Host, error) {
		return &benchHost{bench: b, name: s.Name}, nil
	}
	res, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// worth runs the validation alone.
func (b *bench) worth(t *testing.T, m *inventory.Model) *Result {
	t.Helper()
	return b.prove(t, m, Input{Names: []string{"worth"}})
}

func TestCompare(t *testing.T) {
	b := newBench()
	res := b.worth(t, compareModel(least("cpu_saved", 0.45), most("cpu_saved", 0.55), least("ratio", 2), most("ratio", 3), least("throughput", 3), most("throughput", 5)))
	if res.Verdict != Pass || len(res.Compared) != 1 || len(res.Judgements) != 6 {
		t.Fatalf("%s, %d compared: %+v", res.Verdict, len(res.Compared), res.Judgements)
	}
	c := res.Compared[0]
	saved, why := c.Saved()
	if why != "" || math.Abs(saved.Value-0.5) > 0.02 || saved.Low > saved.Value || saved.High < saved.Value {
		t.Errorf("saved %+v %s", saved, why)
	}
	tcp, _ := c.way("tcp").Cost()
	if spared, why := c.Spared(); why != "" || math.Abs(spared.Value-tcp.Value/2) > 0.05*tcp.Value || spared.Low > spared.Value || spared.High < spared.Value {
		t.Errorf("spared %+v of %+v %s", spared, tcp, why)
	}
	if ratio, why := c.Ratio(); why != "" || math.Abs(ratio.Value-2.5) > 0.01 {
		t.Errorf("ratio %+v %s", ratio, why)
	}
	// 25 ticks of 10 ms more in each block, by a tenth, at both ends, for 4 Gbit.
	if cost, why := c.way("rdma").Cost(); why != "" || math.Abs(cost.Value-2*25*1.55*1e4/4) > 2500 {
		t.Errorf("cost %+v %s", cost, why)
	}
	for _, w := range c.Ways {
		if w.Samples != 100 || len(w.Blocks) != CompareBlocks || w.Why != "" || w.Mode != "event" || w.P99 < b.p99[w.Over]*99/100 {
			t.Errorf("%+v", w)
		}
	}
	if c.way("local").Server != "server.t1" || c.way("tcp").Server != "server.i1" {
		t.Errorf("%+v %+v", c.way("local"), c.way("tcp"))
	}
	// Each block has each way once.
	for n := range CompareBlocks {
		if block := slices.Sorted(slices.Values(b.order[3*n : 3*n+3])); !slices.Equal(block, []string{"local", "rdma", "tcp"}) {
			t.Errorf("block %d: %v", n, block)
		}
	}
	// What is kept says the same.
	text, err := json.Marshal(res)
	again := new(Result)
	if err == nil {
		err = json.Unmarshal(text, again)
	}
	if err != nil {
		t.Fatal(err)
	}
	if kept, _ := again.Compared[0].Saved(); kept != saved {
		t.Errorf("%+v, kept %+v", saved, kept)
	}
}

// Limits on both sides of what was measured pass and fail; one that lies within what
// the blocks leave open says nothing.
func TestCompareLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    *inventory.Metric
		want Verdict
	}{
		{least("cpu_saved", 0.4), Pass}, {least("cpu_saved", 0.6), Fail}, {most("cpu_saved", 0.4), Fail}, {most("cpu_saved", 0.6), Pass},
		{least("ratio", 2.6), Fail}, {most("throughput", 3.9), Fail},
	} {
		res := newBench().worth(t, compareModel(c.m))
		if res.Verdict != c.want {
			t.Errorf("%+v: %s, want %s: %+v", c.m, res.Verdict, c.want, res.Judgements)
		}
	}
	b := newBench()
	res := b.worth(t, compareModel(least("cpu_saved", 0.4)))
	i := res.Judgements[0].Interval
	if i == nil || i.High <= i.Low {
		t.Fatalf("%+v", res.Judgements)
	}
	for _, limit := range []float64{(i.Low + i.Value) / 2, (i.Value + i.High) / 2} {
		if res := newBench().worth(t, compareModel(least("cpu_saved", limit))); res.Verdict != Inconclusive || !strings.Contains(res.Judgements[0].Why, "leave open") {
			t.Errorf("%g within %+v: %+v", limit, i, res.Judgements)
		}
	}
}

// What files or machines rule out is not measured, and where that is so everywhere
// nothing passes.
func TestCompareNotMeasured(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*inventory.Model)
		way    string
		want   string
	}{
		"one transport": {func(m *inventory.Model) { m.Targets[0].Transport = []string{"rdma"} }, "tcp", "does not list tcp, and nothing is opened"},
		"iWARP": {func(m *inventory.Model) {
			m.Targets[0].Portals[0].RNIC.Fabric = &inventory.Fabric{Transport: "iwarp"}
		}, "tcp", "one of the two is served: rdma"},
		"a fabric for TCP": {func(m *inventory.Model) {
			m.Targets[0].Portals[0].RNIC.Fabric = &inventory.Fabric{Block: inventory.Block{Addr: "fabric.x"}, Transport: "tcp"}
		}, "rdma", "fabric.x is made for TCP"},
	} {
		m := compareModel(least("cpu_saved", 0.1))
		c.change(m)
		b := newBench()
		res := b.worth(t, m)
		w := res.Compared[0].way(c.way)
		if res.Verdict != Inconclusive || !w.Untried || !strings.Contains(w.Why, c.want) || b.loads[c.way] != 0 {
			t.Errorf("%s: %s, %+v, %d loads", name, res.Verdict, w, b.loads[c.way])
		}
		if j := res.Judgements[0]; !strings.Contains(j.Why, c.want) || j.Verdict != Inconclusive {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

func TestCompareCosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*bench)
		want   string
	}{
		"another load":      {func(b *bench) { b.other["t1"] = 6 }, "server.t1 was busy with other things for 6 %"},
		"a machine is mute": {func(b *bench) { b.mute = "t1" }, "server.t1 does not say how busy it is"},
		"nothing spent":     {func(b *bench) { b.costs["rdma"] = 0 }, "use a longer runtime"},
	} {
		b := newBench()
		c.change(b)
		res := b.worth(t, compareModel(least("cpu_saved", 0.1), least("ratio", 2)))
		if j := res.Judgements[0]; res.Verdict != Inconclusive || j.Verdict != Inconclusive || !strings.Contains(j.Why, c.want) {
			t.Errorf("%s: %s %+v", name, res.Verdict, j)
		}
		if j := res.Judgements[1]; j.Verdict != Pass { // latencies are what they are
			t.Errorf("%s: %+v", name, j)
		}
	}
	// What is idle is taken off.
	b := newBench()
	b.other["i1"], b.other["t1"] = 4, 4
	res := b.worth(t, compareModel(least("cpu_saved", 0.45), most("cpu_saved", 0.55)))
	if res.Verdict != Pass {
		t.Errorf("%+v", res.Judgements)
	}
}

// Reads that fail fail, whatever is limited, and their way is left alone.
func TestCompareFails(t *testing.T) {
	b := newBench()
	b.fails = map[string]int{"rdma": 4}
	res := b.worth(t, compareModel(least("cpu_saved", 0.1)))
	w := res.Compared[0].way("rdma")
	if res.Verdict != Fail || w.Errors != 2 || len(w.Blocks) != 3 || b.loads["rdma"] != 4 || b.loads["tcp"] != CompareBlocks {
		t.Errorf("%s %+v, loads %v", res.Verdict, w, b.loads)
	}
	if got := verdicts(res, "errors"); got[Fail] != 1 || verdicts(res, "cpu_saved")[Inconclusive] != 1 {
		t.Errorf("%+v", res.Judgements)
	}
}

// --compare wants no validation; what is compared over TCP is not degraded.
func TestCompareAnyway(t *testing.T) {
	m := compareModel()
	m.Validations = nil
	w := compareWanted(nil, true)
	if w.samples != defaultSamples/CompareBlocks || w.depth != throughputDepth || w.runtime != throughputTime || !slices.Equal(w.ways, []string{"rdma", "tcp", "local"}) || !slices.Equal(w.sizes, []int{defaultSize}) {
		t.Errorf("%+v", w)
	}
	if compareWanted([]*inventory.Validation{{Probe: readProbe}}, false) != nil {
		t.Error("nobody asked, and it is compared")
	}
	v := &inventory.Validation{Name: "worth", Compare: []string{"tcp"}, Sizes: []int{4096}, Samples: 10, Depth: 1, Runtime: time.Millisecond, Metrics: nil,
		Before: &inventory.Before{Server: m.Initiators[0].Server, Device: "/dev/disk/by-id/x"}}
	m.Validations = []*inventory.Validation{v}
	res := newBench().prove(t, m, Input{Names: []string{"worth"}})
	if len(res.Compared) != 2 || res.Compared[1].Target != "" || res.Compared[1].Pair() != "server.i1 (/dev/disk/by-id/x)" || res.Compared[1].Ways[0].Over != "before" || res.Compared[1].Ways[0].Why != "" {
		t.Errorf("%+v", res.Compared)
	}
	if slices.ContainsFunc(res.Judgements, func(j Judgement) bool { return j.Metric == Transport }) {
		t.Errorf("degraded: %+v", res.Judgements)
	}
	// A pair whose turn comes later is not compared, and nothing passes for that.
	res = newBench().prove(t, compareModel(least("ratio", 1)), Input{Names: []string{"worth"}, There: func(*inventory.Server, *inventory.Target) bool { return false }})
	if res.Verdict != Inconclusive || len(res.Compared) != 0 {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
}
