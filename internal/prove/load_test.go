package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// A mill does loads; it keeps what it was asked for.
type mill struct {
	mu    sync.Mutex
	asked []agent.LoadRequest
	fails string // why loads fail
	bad   int64  // blocks that are not what was written
	uses  map[string][]string
	mute  string // server that does not say what it uses
	stuck bool   // no flush ends
}

type millHost struct {
	remote.Host
	*mill
	name string
}

func (h *millHost) Name() string { return h.name }

func (h *millHost) Run(_ context.Context, c remote.Cmd) (remote.Output, error) {
	text, err := io.ReadAll(c.Stdin)
	if err != nil {
		return remote.Output{}, err
	}
	q, err := agent.ParseRequest(text)
	if err != nil || q.Load == nil {
		return remote.Output{}, fmt.Errorf("%s: %v", text, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, *q.Load)
	took := func(d time.Duration) string {
		hist := latency.New()
		for range 100 {
			hist.Record(d)
		}
		text, _ := hist.MarshalText()
		return string(text)
	}
	w := &agent.Worked{Read: agent.Operations{Done: 100, IOPS: 700, BytesPerSec: 700 * 4096, Histogram: took(100 * time.Microsecond)}}
	if q.Load.Work.Overwrite != "" {
		w.Write = agent.Operations{Done: 100, IOPS: 300, BytesPerSec: 300 * 4096, Histogram: took(time.Millisecond)}
		w.Checked, w.Bad = 1000, h.bad
	}
	if q.Load.Work.FlushEach > 0 && !h.stuck {
		w.Flush = agent.Operations{Done: 3, Histogram: took(time.Millisecond)}
	}
	reply := agent.Reply{Format: agent.RequestFormat, Version: "v1", Load: &agent.LoadResult{Transport: "tcp", Mode: "event", Worked: w}}
	if h.fails != "" {
		reply.Error, reply.Load.Failed = h.fails, 3
	}
	out, err := json.Marshal(reply)
	return remote.Output{Stdout: out}, err
}

// loadModel is a pair over two planes with a scratch namespace, and a load on it.
func loadModel(pattern string, metrics ...*inventory.Metric) *inventory.Model {
	m := model(1, 1, time.Second)
	m.Targets[0].Transport = []string{"tcp"}
	sub := m.Targets[0].Subsystems[0]
	sub.Name, sub.AllowHosts = "data", []string{"nqn:kernel", "nqn:probe"}
	sub.Namespaces = append(sub.Namespaces, &inventory.Namespace{ID: 7, UUID: "u7", Scratch: true, From: &inventory.Volume{}})
	m.Initiators[0].HostNQN = "nqn:kernel"
	m.Validations = []*inventory.Validation{{Block: inventory.Block{Addr: "validation.work"}, Name: "work", Probe: "nvme-load", Sizes: []int{4096}, Depth: 8, Runtime: time.Second,
		Load: &inventory.Load{Pattern: pattern, ReadShare: 70, Queues: 2, Span: 1 << 20}, Metrics: metrics}}
	return m
}

const scratch = "target.t1/namespace.data.7"

func (h *mill) prove(t *testing.T, m *inventory.Model, allowed ...string) *Result {
	t.Helper()
	res, err := Run(t.Context(), Input{
		Model: m, Names: []string{"work"}, MayWrite: allowed,
		Volume: func(*inventory.Volume, *inventory.Server) string { return "/volume" },
		Host: func(_ context.Context, s *inventory.Server) (remote.Host, error) {
			return &millHost{mill: h, name: s.Name}, nil
		},
		Uses: func(_ context.Context, s *inventory.Server, _ remote.Host, uuid string) ([]string, error) {
			if s.Name == h.mute {
				return nil, errors.New("it is away")
			}
			return h.uses[s.Name+" "+uuid], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func limitOf(name string, max time.Duration) *inventory.Metric {
	return &inventory.Metric{Name: name, Measure: named(name), HasMax: true, Duration: true, Max: float64(max)}
}

func TestLoadReads(t *testing.T) {
	h := new(mill)
	res := h.prove(t, loadModel("randread", limitOf("p99", 200*time.Microsecond), least("iops", 600), most("iops", 650), least("throughput", 0.01)))
	if res.Verdict != Fail || len(res.Loads) != 2 || len(h.asked) != 2 {
		t.Fatalf("%s, %d loads: %+v", res.Verdict, len(res.Loads), res.Judgements)
	}
	if got := verdicts(res, "p99"); got[Pass] != 2 || len(got) != 1 {
		t.Errorf("p99 %v", got)
	}
	if got := verdicts(res, "iops"); got[Pass] != 2 || got[Fail] != 2 {
		t.Errorf("iops %v", got)
	}
	if got := verdicts(res, "errors"); got[Pass] != 2 {
		t.Errorf("errors %v", got)
	}
	q := h.asked[0]
	if q.NSID != 1 || q.Pattern != "randread" || q.Depth != 8 || *q.Work != (agent.Work{ReadShare: 70, Queues: 2, Span: 1 << 20}) {
		t.Errorf("%+v %+v", q, q.Work)
	}
}

// What writes goes to the scratch namespace and no other, and latencies of reads and of
// writes are judged apart.
func TestLoadWrites(t *testing.T) {
	h := new(mill)
	res := h.prove(t, loadModel("randrw", limitOf("p99", 200*time.Microsecond)), scratch)
	if len(h.asked) != 2 || h.asked[0].NSID != 7 || h.asked[0].Work.Overwrite != "nqn:t1/7" {
		t.Fatalf("%+v", h.asked)
	}
	if got := verdicts(res, "p99"); got[Pass] != 2 || got[Fail] != 2 || res.Verdict != Fail {
		t.Errorf("%v: %+v", got, res.Judgements)
	}
	if got := verdicts(res, "integrity"); got[Pass] != 2 {
		t.Errorf("integrity %v", got)
	}
	h = &mill{bad: 2, fails: "nqn:t1/7 does not keep what is written"}
	res = h.prove(t, loadModel("write", limitOf("p99", time.Second)), scratch)
	if got := verdicts(res, "integrity"); got[Fail] != 2 || res.Verdict != Fail {
		t.Errorf("bad blocks: %v", got)
	}
}

// A load that flushes and has no flush that ended says nothing of how long its writes take
// to last, and does not pass.
func TestLoadWithoutFlushes(t *testing.T) {
	m := loadModel("randrw", limitOf("p99", time.Second))
	m.Validations[0].Load.FlushEach = 8
	if res := new(mill).prove(t, m, scratch); res.Verdict != Pass || len(res.Loads[0].Missing) != 0 {
		t.Errorf("%s: %+v", res.Verdict, res.Judgements)
	}
	res := (&mill{stuck: true}).prove(t, m, scratch)
	if got := verdicts(res, "p99"); res.Verdict != Inconclusive || got[Inconclusive] != 2 || got[Pass] != 4 {
		t.Errorf("%s, %v", res.Verdict, got)
	}
	if !slices.ContainsFunc(res.Judgements, func(j Judgement) bool {
		return strings.HasSuffix(j.Pair, ", flushes") && strings.Contains(j.Why, "none of the flushes that the load is made of ended within 1s")
	}) {
		t.Errorf("%+v", res.Judgements)
	}
	// Nor does it where only what goes is limited, or nothing but errors is; what is known
	// to be too little fails.
	for _, c := range []struct {
		metric *inventory.Metric
		want   Verdict
	}{
		{&inventory.Metric{Name: "iops", Measure: metric.Of(metric.Commands), HasMin: true, Min: 1}, Inconclusive},
		{&inventory.Metric{Name: "throughput", Measure: metric.Of(metric.Bits), HasMin: true, Min: 1e-9}, Inconclusive},
		{&inventory.Metric{Name: "iops", Measure: metric.Of(metric.Commands), HasMin: true, Min: 1e12}, Fail},
		{&inventory.Metric{Name: "errors", Measure: failures, HasMax: true}, Inconclusive},
	} {
		m := loadModel("randrw", c.metric)
		m.Validations[0].Load.FlushEach = 8
		res := (&mill{stuck: true}).prove(t, m, scratch)
		if got := verdicts(res, "errors"); res.Verdict != c.want || got[Inconclusive] != 2 || got[Pass] != 0 {
			t.Errorf("%s: %s, errors %v, want %s: %+v", c.metric.Name, res.Verdict, got, c.want, res.Judgements)
		}
	}
}

// Loads are sampled as reads are, and what is left out is counted.
func TestLoadSampled(t *testing.T) {
	m := model(9, 4, time.Second)
	v := loadModel("randread", limitOf("p99", time.Second)).Validations[0]
	v.Pairs = "sampled"
	m.Validations = []*inventory.Validation{v}
	list, left := loadings(m, m.Validations, nil)
	if len(list) != 18 || len(left) != 1 || left[0].Verdict != NotMeasured || !strings.HasPrefix(left[0].Why, "54 of 72 ways") {
		t.Errorf("%d loads, %+v", len(list), left)
	}
}

// Nothing is written that was not declared and named, or that a host uses or may use; and
// none of that passes.
func TestLoadWritesNothing(t *testing.T) {
	work := func(edit func(*inventory.Model, *mill), allowed ...string) (*Result, *mill) {
		m, h := loadModel("randwrite", limitOf("p99", time.Second)), new(mill)
		edit(m, h)
		return h.prove(t, m, allowed...), h
	}
	for name, c := range map[string]struct {
		edit    func(*inventory.Model, *mill)
		allowed string
		says    string
	}{
		"not allowed": {func(*inventory.Model, *mill) {}, "", "weft verify --i-will-write '" + scratch + "'"},
		"another one": {func(*inventory.Model, *mill) {}, "target.t1/namespace.data.1", "needs permission"},
		"not scratch": {func(m *inventory.Model, _ *mill) { m.Targets[0].Subsystems[0].Namespaces[1].Scratch = false }, scratch, ""},
		"used": {func(_ *inventory.Model, h *mill) {
			h.uses = map[string][]string{"i1 u7": {"/dev/nvme0n7 is mounted on /db"}}
		}, scratch, "server.i1 uses the namespace: /dev/nvme0n7 is mounted on /db"},
		"not known": {func(_ *inventory.Model, h *mill) { h.mute = "i1" }, scratch, "is unknown: it is away"},
		"a host unknown": {func(m *inventory.Model, _ *mill) {
			m.Targets[0].Subsystems[0].AllowHosts = []string{"nqn:probe", "nqn:stranger"}
		}, scratch, "admits nqn:stranger, which is not an initiator in these files"},
	} {
		res, h := work(c.edit, c.allowed)
		if len(h.asked) != 0 || res.Verdict == Pass {
			t.Errorf("%s: %s, %+v", name, res.Verdict, h.asked)
		}
		if c.says != "" && !slices.ContainsFunc(res.Loads, func(l *Load) bool { return strings.Contains(l.Why, c.says) }) {
			t.Errorf("%s: %+v", name, res.Loads[0])
		}
		for _, j := range res.Judgements {
			if j.Verdict == Pass {
				t.Errorf("%s: %+v", name, j)
			}
		}
	}
}

// A sample has as many ways as it takes, and says what it leaves out.
func TestSample(t *testing.T) {
	t.Parallel()
	for _, n := range [][2]int{{1, 1}, {3, 2}, {2, 3}, {9, 4}, {4, 9}} {
		m := model(n[0], n[1], time.Second)
		all := readFlows(m, m.Validations)
		kept := sample(all)
		hosts, portals, local := map[string]int{}, map[string]int{}, 0
		for _, f := range kept {
			if f.local {
				local++
				continue
			}
			hosts[f.from.Name+f.portal.Plane.Name]++
			portals[f.portal.Address.String()]++
		}
		if len(hosts) != 2*n[0] || len(portals) != 2*n[1] || local != n[1] || len(kept)-local != 2*max(n[0], n[1]) {
			t.Errorf("%v: %d of %d ways, hosts %v, portals %v", n, len(kept)-local, len(all), hosts, portals)
		}
		fair := (n[0] + n[1] - 1) / n[1]
		for p, many := range portals {
			if many > fair {
				t.Errorf("%v: %d hosts at %s, want at most %d", n, many, p, fair)
			}
		}
	}
	m := model(9, 4, time.Second)
	m.Validations[0].Pairs = "sampled"
	res := prove(t, m, &farm{p99: 50 * time.Microsecond})
	i := slices.IndexFunc(res.Judgements, func(j Judgement) bool { return j.Metric == coverage })
	if len(res.Rows) != 18 || len(res.Local) != 4 || i < 0 || res.Judgements[i].Verdict != NotMeasured || !strings.HasPrefix(res.Judgements[i].Why, "54 of 72 ways") {
		t.Errorf("%d rows, %+v", len(res.Rows), res.Judgements)
	}
	// Where another validation wants all, all are measured.
	whole := *m.Validations[0]
	whole.Pairs, whole.Name = "all", "whole"
	m.Validations = append(m.Validations, &whole)
	if res := prove(t, m, &farm{p99: 50 * time.Microsecond}); len(res.Rows) != 72 || len(verdicts(res, coverage)) != 0 {
		t.Errorf("%d rows", len(res.Rows))
	}
}
