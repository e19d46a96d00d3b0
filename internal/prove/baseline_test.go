package prove

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/latency"
	"weft/inventory"
)

// measuredRow is a row of n samples around a latency.
func measuredRow(transport, plane string, around time.Duration, n int, seed uint64) *Row {
	r := &Row{Initiator: "server.i1", Target: "target.t1", Plane: plane, Wanted: n}
	h := latency.New()
	r.Transport, r.Size, r.Samples = transport, 4096, n
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		h.Record(around + time.Duration(rng.ExpFloat64()*float64(around)/10))
	}
	text, _ := h.MarshalText()
	r.Histogram = string(text)
	r.P99 = h.Quantile(0.99)
	return r
}

func TestBaseline(t *testing.T) {
	v := &inventory.Validation{Block: inventory.Block{Addr: "validation.l"}, Name: "l", Probe: readProbe}
	metric := func(name string) *inventory.Metric {
		m := &inventory.Metric{Name: name, Measure: named(name), Regression: 0.1}
		v.Metrics = []*inventory.Metric{m, {Name: "errors", Measure: failures, HasMax: true}}
		return m
	}
	result := func(around, local time.Duration, n int, seed uint64) *Result {
		return &Result{Rows: []*Row{measuredRow("tcp", "a", around, n, seed)}, Local: []*Row{measuredRow(localTransport, "", local, n, seed+1)}}
	}
	base := &Baseline{Format: BaselineFormat}
	if n := base.Record(result(100*time.Microsecond, 10*time.Microsecond, 5000, 1), time.Now()); n != 2 || len(base.Entries) != 2 {
		t.Fatalf("%d recorded, %d kept", n, len(base.Entries))
	}
	if n := base.Record(result(100*time.Microsecond, 10*time.Microsecond, 5000, 1), time.Now()); n != 2 || len(base.Entries) != 2 {
		t.Errorf("the same again: %d recorded, %d kept", n, len(base.Entries))
	}
	failed := result(time.Second, time.Second, 100, 9)
	failed.Rows[0].Errors, failed.Local[0].Wanted = 1, 101
	if n := base.Record(failed, time.Now()); n != 0 {
		t.Errorf("%d were recorded that had failed", n)
	}
	raw, _ := json.Marshal(base)
	again := new(Baseline)
	if err := json.Unmarshal(raw, again); err != nil || again.Check(false) != nil {
		t.Fatal(err, again.Check(false))
	}
	if again.Check(true) == nil || (&Baseline{Format: 9}).Check(false) == nil || (&Baseline{Format: 1, Entries: []Entry{{Histogram: "?"}}}).Check(false) == nil {
		t.Error("a baseline that cannot be compared with was taken")
	}
	for _, tt := range []struct {
		name    string
		metric  string
		now     *Result
		base    *Baseline
		verdict Verdict
		why     string
	}{
		{"the same", "p99", result(100*time.Microsecond, 10*time.Microsecond, 5000, 7), again, Pass, ""},
		{"much worse", "p99", result(150*time.Microsecond, 10*time.Microsecond, 5000, 7), again, Fail, "may grow by 10 %"},
		{"worse, but few samples", "p99", result(117*time.Microsecond, 10*time.Microsecond, 30, 7), again, Inconclusive, "do not tell"},
		{"added", "added_p99", result(100*time.Microsecond, 10*time.Microsecond, 5000, 7), again, Pass, ""},
		{"more added", "added_p99", result(150*time.Microsecond, 10*time.Microsecond, 5000, 7), again, Fail, "it was"},
		{"no baseline", "p99", result(100*time.Microsecond, 10*time.Microsecond, 5000, 7), nil, Inconclusive, "no baseline"},
	} {
		m := metric(tt.metric)
		judge(tt.now, v, tt.base, nil)
		i := slices.IndexFunc(tt.now.Judgements, func(j Judgement) bool { return j.Metric == m.Name })
		if i < 0 || tt.now.Judgements[i].Verdict != tt.verdict || !strings.Contains(tt.now.Judgements[i].Why, tt.why) {
			t.Errorf("%s: %+v", tt.name, tt.now.Judgements)
		}
	}
	// With a limit of its own the first run is judged by that.
	m := metric("p99")
	m.HasMax, m.Max = true, float64(time.Second)
	first := result(100*time.Microsecond, 10*time.Microsecond, 5000, 7)
	if judge(first, v, nil, nil); first.Judgements[0].Verdict != Pass || first.Judgements[0].Note == "" || len(first.Judgements) != 2 {
		t.Errorf("%+v", first.Judgements)
	}
	second := result(100*time.Microsecond, 10*time.Microsecond, 5000, 7)
	if judge(second, v, again, nil); len(second.Judgements) != 3 || second.Judgements[1].Against.IsZero() {
		t.Errorf("%+v", second.Judgements)
	}
}

// In a pod of 64 servers no server carries two flows at a time, and there are
// as many rounds as the busiest server has flows, not as there are pairs.
func TestSchedule(t *testing.T) {
	m := model(48, 16, time.Second)
	all := flows(m, m.Validations, false)
	plan := rounds(all)
	seen := 0
	for n, round := range plan {
		busy := map[*inventory.Server]bool{}
		for _, i := range round {
			f := all[i]
			if busy[f.from] || busy[f.target.Server] && !f.local {
				t.Fatalf("round %d: %s disturbs another", n, f)
			}
			busy[f.from], busy[f.target.Server] = true, true
			seen++
		}
	}
	if most := busiest(all); seen != len(all) || len(plan) > 2*most || len(all) != 48*16*2+16 {
		t.Errorf("%d of %d flows in %d rounds; the busiest server has %d", seen, len(all), len(plan), most)
	} else {
		t.Logf("%d flows in %d rounds; the busiest server has %d", len(all), len(plan), most)
	}
	list, err := Schedule(m, nil)
	if err != nil || len(list) != len(plan) || !strings.Contains(list[0][0], "(local)") {
		t.Errorf("%v %v", list[0], err)
	}
	if _, err := Schedule(m, []string{"nothing"}); err == nil {
		t.Error("a schedule of nothing")
	}
}

// busiest is how many flows the server has that has most.
func busiest(all []flow) int {
	n := map[any]int{}
	most := 0
	for _, f := range all {
		for _, s := range slices.Compact([]any{f.from, f.far()}) {
			n[s]++
			most = max(most, n[s])
		}
	}
	return most
}
