package report

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/internal/tally"
	"weft/internal/view"
	"weft/plan"
	"weft/plan/rollout"
)

func counted(name string, priority int, value uint64) prove.Sample {
	return prove.Sample{Counter: prove.Counter{Device: "switch.leaf", Port: "Ethernet1/1", Priority: priority, Name: name}, Value: value}
}

// Counters are told from the first reading that has them to the last: what is a fault
// first, what went back as that, what has not grown in a number.
func TestCounted(t *testing.T) {
	reading := func(s ...prove.Sample) *prove.Snapshot { return &prove.Snapshot{Samples: s} }
	off := counted(tally.WatchdogEvents, 3, 0)
	off.Off = "there is no watchdog"
	last := reading(counted(tally.TxBytes, 3, 900), counted(tally.Drops, 3, 7), counted(tally.PFCRx, 3, 5), counted(tally.IngressDrops, tally.AllPriorities, 2), off)
	last.Missing = []prove.Missing{{Device: "server.a", Port: "p0", Why: "it is away"}}
	r := &Report{Measured: []Measured{
		{Result: &prove.Result{Before: reading(counted(tally.TxBytes, 3, 100), counted(tally.Drops, 3, 7), off), After: reading(counted(tally.TxBytes, 3, 500), counted(tally.PFCRx, 3, 9))}},
		{Result: &prove.Result{}},
		{Result: &prove.Result{Before: reading(counted(tally.IngressDrops, tally.AllPriorities, 1)), After: last}}}}
	c := r.Counted()
	if c == nil || len(c.Grown) != 3 || c.Still != 1 || c.More != 0 || len(c.Missing) != 1 || c.Missing[0] != "server.a p0: it is away" {
		t.Fatalf("%+v", c)
	}
	for i, want := range []string{"pfc_rx 3 went back", "ingress_drops  +1", "tx_bytes 3 +800"} {
		if g := c.Grown[i]; fmt.Sprint(g.Name, " ", g.Priority, " ", g.By()) != want {
			t.Errorf("%d: %+v, want %s", i, g, want)
		}
	}
	if (&Report{Measured: []Measured{{Result: &prove.Result{After: last}}}}).Counted() != nil {
		t.Error("one reading is a before and an after")
	}
}

// What was not measured is said, with its reason, once for all places that share it, and
// what is measured is not among it.
func TestNotMeasured(t *testing.T) {
	r := finished(t, sample())
	text := ""
	for _, g := range r.NotMeasured() {
		text += g.What + " | " + g.Where() + " | " + g.Why + "\n"
	}
	for _, want := range []string{"reads | server.node[\"cn1\"] → target.nvme[\"st0\"] over plane a | the server is down\n", "healthy.drops | switch.leaf-a Ethernet1/1 priority 3 (rdma) | inconclusive: refused\n",
		"comparison over tcp | server.a → target.b over plane a | nothing | is <opened>\n", "throughput | server.c → target.b over plane a | it did not run\n",
		"counters before and after |  | devices were not asked twice", "hardware |  | the hardware was not read", "speed |  | it is weft's lab"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"added_p99", "the storage itself", "RDMA beside TCP", "latency |"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	g := gaps{}
	for n := range 5 {
		g.add("a", "b", fmt.Sprint(n))
	}
	if len(g) != 1 || g[0].Where() != "0, 1, 2 and 2 more" {
		t.Errorf("%+v", g)
	}
}

// The course has each phase that something is known of, and marks what did not pass
// however little room there is.
func TestCourse(t *testing.T) {
	r := sample()
	r.Course = &Course{Happens: []Happening{{Time: begun.Add(2 * time.Minute), What: "paused", By: "ann", Text: "a <gate>"}}}
	r.Course.Wrote("plane-a", begun.Add(20*time.Second))
	r.Course.Wrote("plane-a", begun.Add(10*time.Second))
	if s := r.Course.Changed; len(s) != 1 || !s[0].From.Equal(begun.Add(10*time.Second)) || !s[0].To.Equal(begun.Add(20*time.Second)) {
		t.Errorf("%+v", s)
	}
	for n := range 50 {
		v := rollout.Sample{Time: begun.Add(time.Duration(n) * time.Millisecond), Verdict: rollout.Pass}
		if n == 20 {
			v.Verdict = rollout.Fail
		}
		r.Run.Phases[0].Verdicts = append(r.Run.Phases[0].Verdicts, v)
	}
	picture := string(r.course())
	if strings.Count(picture, "✗") != 1 || strings.Count(picture, "✓") > 5 || !strings.Contains(picture, ">plane-a<") || strings.Contains(picture, ">rest<") || !strings.Contains(picture, ">2m0s<") {
		t.Errorf("%s", picture)
	}
	text := write(t, finished(t, r).HTML)
	strict(t, text)
	if !strings.Contains(text, "a &lt;gate&gt;") || !strings.Contains(text, "phases over time") {
		t.Error("the course is not on the page")
	}
	if !strings.Contains(text, ", 21 times: ") || !strings.Contains(text, ", 29 times: ") {
		t.Error("verdicts that repeat one another are not put together")
	}
	if (&Report{}).course() != "" {
		t.Error("a course of no run")
	}
}

// rolled is the report of a rollout over 64 servers: 48 initiators, 16 targets, two planes,
// with all that a report tells.
func rolled(t testing.TB) *Report {
	r := &Report{Owner: "pod", Made: begun.Add(3 * time.Hour), Wiring: pod(64, false), Course: new(Course), Hardware: &Hardware{From: begun, To: begun},
		Run:  &rollout.Run{ID: "r1", Rollout: "rollout.pod", State: rollout.Passed, Begun: begun},
		Plan: &Plan{Created: begun, Devices: 66}}
	nics := view.Table{Head: []string{"nic", "card", "pci", "pcie", "driver", "firmware", "link"}}
	for n, server := range r.Wiring.Servers {
		phase := fmt.Sprintf("batch-%d", n/8)
		if n%8 == 0 {
			r.Run.Phases = append(r.Run.Phases, rollout.PhaseRun{Name: phase, State: rollout.Passed})
		}
		for _, port := range []string{"p0", "p1"} {
			nics.Rows = append(nics.Rows, []string{server + " " + port, "NVIDIA ConnectX-7 15b3:1021", "0000:41:00.0", "32 GT/s x16", "mlx5_core", "28.43.1014", "up 100G"})
			for _, kind := range []string{"mtu", "pfc", "dscp", "ets", "address"} {
				s := plan.PlannedStep{ID: plan.ID{Device: server, Kind: kind, Name: port}, Phase: phase, Send: []string{kind + " set dev ens1f0np0 to what was declared", "save"}, Undo: []string{kind + " set dev ens1f0np0 to what was there"}}
				for k := range 3 {
					s.Changes = append(s.Changes, plan.Change{Path: fmt.Sprintf("an.attribute.%d", k), Before: "1500", After: "9000", Impact: plan.ImpactTraffic})
				}
				r.Plan.Steps = append(r.Plan.Steps, s)
				r.Course.Wrote(phase, begun.Add(time.Duration(n)*time.Minute))
			}
		}
	}
	r.Hardware.Tables = []view.Table{nics}
	res, one := measured(1, 1, 60*time.Microsecond, 20), row("", "", "", "tcp", 4096, 60*time.Microsecond, 20)
	for n := range 48 * 16 * 2 {
		flow := *one
		flow.Initiator, flow.Target, flow.Plane = fmt.Sprintf(`server.node["cn%d"]`, n/32), fmt.Sprintf(`target.nvme["st%d"]`, n/2%16), string(rune('a'+n%2))
		flow.P99 += time.Duration(n)
		res.Rows = append(res.Rows, &flow)
	}
	res.Before, res.After = new(prove.Snapshot), new(prove.Snapshot)
	for port := range 256 {
		for n, name := range []string{tally.TxBytes, tally.TxPackets, tally.Drops, tally.PFCRx, tally.PFCTx} {
			s := prove.Sample{Counter: prove.Counter{Device: "switch.leaf", Port: fmt.Sprintf("Ethernet1/%d", port), Priority: 3, Name: name}}
			res.Before.Samples = append(res.Before.Samples, s)
			s.Value = uint64(port * n)
			res.After.Samples = append(res.After.Samples, s)
		}
	}
	r.Measured = []Measured{{Phase: "batch-0", Recorded: true, Time: begun, Result: measured(2, 2, 70*time.Microsecond, 20)}, {Time: begun.Add(2 * time.Hour), Result: res}}
	for n := range 300 {
		l := prove.Look{Phase: fmt.Sprintf("batch-%d", n*8/300), Time: begun.Add(time.Duration(n) * 20 * time.Second), Verdict: prove.Pass, Worst: map[string]float64{}}
		for k := range 12 {
			l.Worst[fmt.Sprintf("healthy.metric_%d", k)] = float64((n * k) % 17)
		}
		r.Soak = append(r.Soak, l)
		r.Run.Phases[n*8/300].Verdicts = append(r.Run.Phases[n*8/300].Verdicts, rollout.Sample{Time: l.Time, Verdict: rollout.Pass})
	}
	return finished(t, r)
}

// A rollout of 64 servers is a page of less than 5 MB, which a browser opens. It does so in a
// moment because steps fold by device and are little each, and what is below is not laid out.
func TestRolloutOf64(t *testing.T) {
	r := rolled(t)
	for n := range 500 {
		r.Measured[1].Result.Judgements = append(r.Measured[1].Result.Judgements, prove.Judgement{Validation: "v", Metric: "p99", Pair: fmt.Sprintf("pair %d", n), Verdict: prove.Fail, Latency: true, Value: 2, Limit: 1})
	}
	page := write(t, r.HTML)
	elements := strict(t, page)
	if len(page) > 5<<20 {
		t.Errorf("%d bytes", len(page))
	}
	if devices, steps := 64, len(r.Plan.Steps); elements["details"] > devices+10 || elements["h4"] != steps || elements["pre"] != steps || elements["main"] != 1 || elements["section"] < 8 {
		t.Errorf("%d steps on %d devices are %v", steps, devices, elements)
	}
	if !strings.Contains(page, "<summary>480 more</summary>") {
		t.Error("500 places that fail do not fold")
	}
	t.Logf("%d bytes", len(page))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serve(w, page) }))
	defer server.Close()
	if said := browse(t, server.URL, "--screenshot="+filepath.Join(t.TempDir(), "page.png")); said != "" {
		t.Errorf("the browser says: %s", said)
	}
}

// A browser prints the report, on more pages than one. Of a rollout of many servers the
// steps are lines, so that somebody can read it.
func TestPrinted(t *testing.T) {
	for name, tt := range map[string]struct {
		report      *Report
		least, most int
	}{
		"decided":     {decided(t, 64), 3, 60},
		"rolled over": {rolled(t), 10, 150},
	} {
		t.Run(name, func(t *testing.T) {
			page := write(t, tt.report.HTML)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serve(w, page) }))
			defer server.Close()
			paper := filepath.Join(t.TempDir(), "report.pdf")
			if said := browse(t, server.URL, "--print-to-pdf="+paper); said != "" {
				t.Errorf("the browser says: %s", said)
			}
			text, err := os.ReadFile(paper)
			if err != nil {
				t.Fatal(err)
			}
			pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(text, -1))
			if !bytes.HasPrefix(text, []byte("%PDF-")) || pages < tt.least || pages > tt.most {
				t.Errorf("%d pages in %d bytes, want %d to %d", pages, len(text), tt.least, tt.most)
			}
			t.Logf("%d pages", pages)
		})
	}
}
