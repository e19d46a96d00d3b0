package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/latency"
	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/require"
	"weft/plan"
	"weft/plan/rollout"
)

var begun = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// row is one flow of samples around a latency.
func row(initiator, target, plane, transport string, size int, around time.Duration, n int) *prove.Row {
	r := &prove.Row{Initiator: initiator, Target: target, Plane: plane, Wanted: n}
	r.Transport, r.Mode, r.Size, r.Samples, r.Depth, r.Op = transport, "event", size, n, 1, "read"
	h := latency.New()
	rng := rand.New(rand.NewPCG(uint64(around), uint64(n)))
	for range n {
		h.Record(around + time.Duration(rng.ExpFloat64()*float64(around)/4))
	}
	text, _ := h.MarshalText()
	r.Histogram = string(text)
	r.P50, r.P99, r.P999 = h.Quantile(0.5), h.Quantile(0.99), h.Quantile(0.999)
	return r
}

// measured is initiators × targets over two planes.
func measured(initiators, targets int, around time.Duration, samples int) *prove.Result {
	res := &prove.Result{Verdict: prove.Fail}
	for t := range targets {
		res.Local = append(res.Local, row(fmt.Sprintf(`server.node["st%d"]`, t), fmt.Sprintf(`target.nvme["st%d"]`, t), "", "local", 4096, around/10, samples))
		for i := range initiators {
			for _, plane := range []string{"a", "b"} {
				res.Rows = append(res.Rows, row(fmt.Sprintf(`server.node["cn%d"]`, i), fmt.Sprintf(`target.nvme["st%d"]`, t), plane, "tcp", 4096, around+time.Duration(i+t)*time.Microsecond, samples))
			}
		}
	}
	if len(res.Rows) > 4 {
		res.Rows[1].Errors, res.Rows[1].FirstErr = 3, `connection refused <by "somebody"> & others`
		res.Rows[2].Why, res.Rows[2].Samples = "the server is down", 0
	}
	res.Judgements = []prove.Judgement{
		{Validation: "latency", Metric: "added_p99", Pair: `server.node["cn0"] → target.nvme["st0"] over plane a`, Size: 4096, Verdict: prove.Pass, Value: 2e4, Limit: 3e4, Latency: true},
		{Validation: "latency", Metric: "added_p99", Pair: "another <pair> | with a bar", Size: 4096, Verdict: prove.Fail, Value: 9e4, Limit: 3e4, Latency: true, Why: "it was 1µs"},
		{Validation: "healthy", Metric: "drops", Pair: "switch.leaf-a Ethernet1/1 priority 3 (rdma)", Verdict: prove.Inconclusive, Why: "refused", Counted: true},
		{Validation: "healthy", Metric: "paused", Pair: "server.a p0", Verdict: prove.Pass, Value: 0.0001, Limit: 0.001, Counted: true, Unit: "ratio", Note: "a note"},
	}
	rdma := &prove.Compared{Over: "rdma", Server: "server.a", Samples: 100, Quantiles: metric.Quantiles{P50: 1e4, P99: 2e4, P999: 3e4}}
	for range prove.CompareBlocks {
		rdma.Blocks = append(rdma.Blocks, prove.Block{P99: 2e4, IOPS: 31234, BitsPerSec: 9.4e9, CPU: 777})
	}
	res.Compared = []*prove.Comparison{{Initiator: "server.a", Target: "target.b", Plane: "a", Size: 4096, Ways: []*prove.Compared{rdma, {Over: "tcp", Untried: true, Why: "nothing | is <opened>"}}}}
	res.Throughput = []*prove.Throughput{{Initiator: "server.a", Target: "target.b", Plane: "a", Transport: "tcp", BitsPerSec: 9.4e9, IOPS: 18000, CPUPerGbit: 60000},
		{Initiator: "server.c", Target: "target.b", Plane: "a", Transport: "tcp", Why: "it did not run"}}
	return res
}

func sample() *Report {
	r := &Report{Weft: "test", Owner: "pilot <x>", Simulated: true, Made: begun.Add(time.Hour),
		Run: &rollout.Run{ID: "r1", Rollout: "rollout.pilot", State: rollout.Paused, Why: "a gate | failed", Begun: begun,
			Phases:   []rollout.PhaseRun{{Name: "plane-a", State: rollout.Passed, Approved: "ann", Verdicts: []rollout.Sample{{Time: begun, Verdict: rollout.Pass}}}, {Name: "rest", State: rollout.Gating}},
			Accepted: []rollout.Acceptance{{What: "healthy.drops", By: "ann", Time: begun}}},
		Plan: &Plan{Created: begun, Devices: 2, Steps: []plan.PlannedStep{{ID: plan.ID{Device: "switch.leaf-a", Kind: "port", Name: "Ethernet1/1"}, Phase: "plane-a",
			Changes: []plan.Change{{Path: "pfc", Before: "off", After: "on", Impact: plan.ImpactTraffic}}, Send: []string{"interface Ethernet1/1", "priority-flow-control mode on"}, Undo: []string{"no it <"}}}},
		Thresholds: []prove.Threshold{{Validation: "latency", Metric: "added_p99", Size: 4096, HasMax: true, Max: 3e4, Duration: true, Regression: 0.1, Place: "rollout.weft.hcl:24"},
			{Validation: "healthy", Metric: "paused", Source: "server.rnic.class.rdma.rx_pause_duration", Unit: "ratio", HasMax: true, Max: 0.001, Place: "rollout.weft.hcl:9"}},
		Measured: []Measured{{Phase: "plane-a", Time: begun.Add(time.Minute), Result: measured(3, 2, 60*time.Microsecond, 500)},
			{Phase: "baseline", Recorded: true, Time: begun, Result: measured(3, 2, 50*time.Microsecond, 500)}},
	}
	for n := range 5 {
		s := prove.Look{Phase: "plane-a", Time: begun.Add(time.Duration(n) * time.Second), Verdict: prove.Pass, Worst: map[string]float64{"healthy.drops": float64(n), "healthy.paused": 0}}
		if n == 3 {
			s.Verdict, s.Verdicts = prove.Fail, map[string]prove.Verdict{"healthy.drops": prove.Fail}
		}
		r.Soak = append(r.Soak, s)
	}
	return r
}

func write(t testing.TB, face func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := face(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func finished(t testing.TB, r *Report) *Report {
	t.Helper()
	r.Finish()
	return r
}

func TestFaces(t *testing.T) {
	r := finished(t, sample())
	if r.Verdict != prove.Fail || !r.Measured[0].Recorded {
		t.Errorf("verdict %s, first %s", r.Verdict, r.Measured[0].Title())
	}
	again := new(Report)
	if err := json.Unmarshal([]byte(write(t, r.JSON)), again); err != nil || again.Format != Format || len(again.Measured) != 2 || len(again.Measured[0].Result.Rows) != 12 || again.Run.ID != "r1" {
		t.Errorf("%v %+v", err, again)
	}
	md := write(t, r.Markdown)
	for _, want := range []string{"**SIMULATED**", "✗ fail", "| ✗ fail | latency.added_p99 | 1 of 2 pass | 90.0 µs | 30.0 µs |", "? inconclusive", "another `<pair>` \\| with a bar",
		"| latency.added_p99 | 4 KiB reads | at most 30.0 µs, at most 10 % over the baseline | rollout.weft.hcl:24 |", "| plane-a | switch.leaf-a/port.Ethernet1/1 | 1 | traffic |", "9.4 | 18000 | 60000",
		"| server.a | target.b | a | 4 KiB | rdma | 10.0 µs | 20.0 µs | 30.0 µs | 31234 | 9.4 ± 0 | 777 ± 0 |", "| tcp | not measured: nothing \\| is `<opened>` |", "processor time saved by RDMA: not measured: tcp: nothing"} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	var suites junitSuites
	if err := xml.Unmarshal([]byte(write(t, r.JUnit)), &suites); err != nil || suites.Tests != 8 || suites.Fails != 1 || suites.Errors != 1 {
		t.Errorf("%v %+v", err, suites)
	}
	for _, s := range suites.Suites {
		for _, c := range s.Cases {
			if c.Failed != nil && !strings.Contains(c.Failed.Message, "limit 30.0 µs") {
				t.Errorf("%+v", c.Failed)
			}
		}
	}
}

// What devices and peers say is text, and no Markdown: nobody is linked,
// mentioned or shown a picture.
func TestMarkdownCells(t *testing.T) {
	for in, want := range map[string]string{
		`server.node["cn1"] → target.array over plane a`: `server.node["cn1"] → target.array over plane a`,
		"refused [click here](https://evil.example/)":    "refused [click `here](https://evil.example/)`",
		"![x](//evil.example/p.png)":                     "`![x](//evil.example/p.png)`",
		"@admins please":                                 "`@admins` please",
		"mail a@b.example or www.evil.example":           "mail `a@b.example` or `www.evil.example`",
		"see #12 and other/repo#3 and !4":                "see `#12` and `other/repo#3` and `!4`",
		"&#64;admins &lt;script&gt;":                     "`&#64;admins` `&lt;script&gt;`",
		"<script>alert(1)</script> | a":                  "`<script>alert(1)</script>` \\| a",
		"a ``` b":                                        "a ''' b",
		"**bold** __x__":                                 `\*\*bold\*\* \_\_x\_\_`,
		`a\|b`:                                           "`a\\¦b`",
		"x\n# heading\r\n| row |":                        `x # heading \| row \|`,
		"\x1b[31mred\u202e":                              "`\\x1b[31mred\\u202e`",
		"5% of 100 Gbit/s & more < 30 µs":                "5% of 100 Gbit/s & more `<` 30 µs",
	} {
		if got := cell(in); got != want {
			t.Errorf("%q is %q, wanted %q", in, got, want)
		}
	}
}

// After is what was measured when something had been changed: not what a later
// run has recorded before it began.
func TestBeforeAndAfter(t *testing.T) {
	at := func(minute int, recorded bool, phase string) Measured {
		return Measured{Phase: phase, Recorded: recorded, Time: begun.Add(time.Duration(minute) * time.Minute), Result: measured(1, 1, time.Microsecond, 5)}
	}
	for _, c := range []struct {
		name          string
		all           []Measured
		before, after int // minutes; -1: none
	}{
		{"a run", []Measured{at(1, true, "baseline"), at(2, false, "rest"), at(3, false, "")}, 1, 3},
		{"a verification before a run", []Measured{at(1, false, ""), at(2, true, "baseline")}, -1, -1},
		{"and one after it", []Measured{at(1, false, ""), at(2, true, "baseline"), at(3, false, "")}, 1, 3},
		{"only one", []Measured{at(1, false, "")}, -1, -1},
	} {
		r := finished(t, &Report{Measured: c.all})
		before, after := r.beforeAfter()
		if c.before < 0 && before == nil && after == nil {
			continue
		}
		if before == nil || after == nil || !before.Time.Equal(begun.Add(time.Duration(c.before)*time.Minute)) || !after.Time.Equal(begun.Add(time.Duration(c.after)*time.Minute)) {
			t.Errorf("%s: %+v %+v", c.name, before, after)
		}
	}
}

// What fails a gate is marked at the metric that failed, and at no other.
func TestTimelineMarksWhatFailed(t *testing.T) {
	r := sample()
	for metric, want := range map[string]int{"healthy.drops": 1, "healthy.paused": 0} {
		if got := strings.Count(string(timeline(r.Soak, metric, r.value(metric), nil)), "✗"); got != want {
			t.Errorf("%s has %d marks, wanted %d", metric, got, want)
		}
	}
	r.Soak[3].Verdicts = nil // as kept by an earlier weft
	if got := strings.Count(string(timeline(r.Soak, "healthy.paused", r.value("healthy.paused"), nil)), "✗"); got != 1 {
		t.Errorf("%d marks where nobody knows what failed", got)
	}
}

// A limit that nothing was held against is not said to be zero.
func TestNothingJudgedHasNoLimit(t *testing.T) {
	for _, l := range Lines(&prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Metric: "drops", Counted: true, Verdict: prove.Inconclusive, Why: "nobody counts"}}}) {
		if l.Worst != "not known" || l.Limit != "–" {
			t.Errorf("worst %q, limit %q", l.Worst, l.Limit)
		}
	}
}

// strict reads a page as XML, which is stricter than HTML, and collects what it
// might load or run.
func strict(t *testing.T, text string) (elements map[string]int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	elements = map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		elements[e.Name.Local]++
		for _, a := range e.Attr {
			name := a.Name.Local
			if name == "src" || name == "href" && !strings.HasPrefix(a.Value, "data:") || strings.HasPrefix(name, "on") || strings.Contains(a.Value, "url(") {
				t.Errorf("%s loads or runs something: %s=%q", e.Name.Local, name, a.Value)
			}
		}
	}
}

func TestHTML(t *testing.T) {
	text := write(t, finished(t, sample()).HTML)
	elements := strict(t, text)
	if elements["script"]+elements["img"]+elements["iframe"] > 0 || strings.Contains(text, "@import") || strings.Contains(text, "url(") {
		t.Error("the page loads or runs something")
	}
	if elements["svg"] < 6 {
		t.Errorf("%d pictures", elements["svg"])
	}
	for _, want := range []string{"prefers-color-scheme: dark", "@media print", "SIMULATED", "pilot &lt;x&gt;", "rollout.weft.hcl:24", "priority-flow-control mode on", "p99 before and after",
		"healthy.drops over time", "Not judged, which ann accepted", "connection refused &lt;by", "the server is down", "at most 10 % over the baseline", "60000", "RDMA, TCP and local, compared", "777 ± 0", "not measured: nothing | is &lt;opened&gt;", "NVMe/RDMA takes 10 to 20 µs, NVMe/TCP 25 to 40 µs</td><td>rdma p50 10 µs</td>", "SIGCOMM 2016",
		"@media screen and (prefers-color-scheme: dark)", `counter(page) " of " counter(pages)`, "5 looks, worst 4", "Measured by gate of phase plane-a"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(text, "ZgotmplZ") || strings.Contains(text, "%!") {
		t.Error("the template refused something")
	}
}

// An empty report is a page, too, and has passed nothing.
func TestNothingMeasured(t *testing.T) {
	r := finished(t, &Report{Owner: "x"})
	if r.Verdict != prove.Inconclusive {
		t.Errorf("verdict %s", r.Verdict)
	}
	strict(t, write(t, r.HTML))
	write(t, r.Markdown)
	write(t, r.JUnit)
	bad := &Report{Measured: []Measured{{Result: &prove.Result{Rows: []*prove.Row{{Plane: "a"}}}}}}
	bad.Measured[0].Result.Rows[0].Samples, bad.Measured[0].Result.Rows[0].Histogram = 1, "?"
	if finished(t, bad).HTML(io.Discard) == nil {
		t.Error("a histogram that cannot be read was drawn")
	}
}

// many is a report of 4,096 pairs.
func many() *Report {
	res, one := &prove.Result{}, row("", "", "", "tcp", 4096, 60*time.Microsecond, 20)
	for n := range 64 * 64 {
		r := *one
		r.Initiator, r.Target, r.Plane = fmt.Sprintf(`server.node["cn%d"]`, n/64), fmt.Sprintf(`target.nvme["st%d"]`, n%64/2), string(rune('a'+n%2))
		r.P99 += time.Duration(n)
		res.Rows = append(res.Rows, &r)
	}
	return &Report{Owner: "pod", Made: begun, Measured: []Measured{{Time: begun, Result: res}}}
}

// 4096 pairs are a page of less than 5 MB.
func TestManyPairs(t *testing.T) {
	r := many()
	text := write(t, finished(t, r).HTML)
	if strict(t, text); len(text) > 5<<20 || strings.Count(text, "<tr>") < 4096 {
		t.Errorf("%d bytes, %d rows", len(text), strings.Count(text, "<tr>"))
	}
	t.Logf("%d rows are %d bytes", len(r.Measured[0].Result.Rows), len(text))
}

// A browser opens the page without network: it requests nothing, complains of
// nothing and paints something in both schemes.
func TestBrowser(t *testing.T) {
	dir, page := t.TempDir(), write(t, finished(t, sample()).HTML)
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
		serve(w, page)
	}))
	defer server.Close()
	paint := func(name string, flags ...string) []byte {
		picture := filepath.Join(dir, name)
		if said := browse(t, server.URL+"/report.html", append(flags, "--screenshot="+picture)...); len(said) > 0 {
			t.Errorf("the browser says: %s", said)
		}
		data, err := os.ReadFile(picture)
		if err != nil || len(data) < 10_000 {
			t.Fatalf("a blank picture: %d bytes, %v", len(data), err)
		}
		return data
	}
	light := paint("light.png")
	dark := paint("dark.png", "--blink-settings=preferredColorScheme=0")
	mu.Lock()
	defer mu.Unlock()
	if asked["/report.html"] != 2 || len(asked) != 1 {
		t.Errorf("the page asks for more than itself: %v", asked)
	}
	if bytes.Equal(light, dark) {
		t.Error("the page looks the same in both schemes")
	}
}

// outer is a page that opens the report, which itself runs no script, and says
// when it is painted.
const outer = `<!DOCTYPE html><link rel="icon" href="data:,"/><body><script>
const begun = performance.now(), frame = document.createElement("iframe");
frame.width = 1000; frame.height = 1200; frame.src = "report.html";
frame.onload = () => requestAnimationFrame(() => requestAnimationFrame(() => console.log("opened after", performance.now() - begun)));
document.body.append(frame);
</script>`

// BenchmarkOpen is how long a browser that has started takes until it has painted a report
// of 4,096 pairs, one of a rollout of 64 servers, and the page that WEFT_PAGE names.
func BenchmarkOpen(b *testing.B) {
	reports := map[string]string{"pairs": write(b, finished(b, many()).HTML), "rollout": write(b, rolled(b).HTML)}
	if name := os.Getenv("WEFT_PAGE"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		reports["named"] = string(text)
	}
	for name, page := range reports {
		b.Run(name, func(b *testing.B) { benchmarkOpen(b, page) })
	}
}

// benchmarkOpen tells the median: a machine that others use now and then takes a second off.
func benchmarkOpen(b *testing.B, page string) {
	pages := map[string]string{"/": outer, "/report.html": page}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, pages[r.URL.Path]) }))
	defer server.Close()
	var all []float64
	for b.Loop() {
		said, ms := browse(b, server.URL, "--screenshot="+filepath.Join(b.TempDir(), "page.png")), 0.0
		_, after, _ := strings.Cut(said, "opened after ")
		if _, err := fmt.Sscan(after, &ms); err != nil {
			b.Fatalf("%v: %s", err, said)
		}
		all = append(all, ms)
	}
	slices.Sort(all)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(all[len(all)/2], "ms/open")
}

func serve(w http.ResponseWriter, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, page)
}

// browse opens a page in a browser of its own, and returns what its console says.
func browse(t testing.TB, url string, flags ...string) (said string) {
	require.Long(t, "seconds")
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		require.Missing(t, require.Chromium, "no chromium: its part is not run")
	}
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--no-first-run", "--user-data-dir="+filepath.Join(home, "profile"), "--enable-logging=stderr",
		"--window-size=1000,1400", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", url)...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, ":CONSOLE") {
			said += line
		}
	}
	return said
}

// A verdict that decides nothing is an error for JUnit, never a case that passes.
func TestJUnitVerdicts(t *testing.T) {
	for _, v := range append(prove.Verdicts(), "perhaps") {
		var s junitSuite
		var c junitCase
		s.judged(&c, v, &junitText{Message: "why"})
		if passes := c.Failed == nil && c.Error == nil; passes != (v == prove.Pass) || s.Fails+s.Errors != map[bool]int{true: 0, false: 1}[passes] {
			t.Errorf("%q: %+v %+v", v, s, c)
		}
		if v.Mark() == "" || Mark(v) == "" {
			t.Errorf("%q has no mark", v)
		}
	}
}
