package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/tally"
)

// sighting is a look with something of all that Prometheus is told.
func sighting() *prove.Result {
	row := &prove.Row{Initiator: `server.node["a"]`, Target: "target.t", Plane: "a", Quantiles: metric.Quantiles{P99: 1500 * time.Microsecond}}
	row.Samples, row.Size, row.Transport = 5, 4096, "tcp"
	return &prove.Result{Rows: []*prove.Row{row, {Initiator: "server.b", Plane: "a", Why: "it is away"}},
		After: &prove.Snapshot{Samples: []prove.Sample{
			{Counter: prove.Counter{Device: `server.node["a"]`, Port: "p0", Priority: 3, Name: "pfc_rx"}, Value: 7},
			{Counter: prove.Counter{Device: "switch.a", Port: "Ethernet1/1", Priority: tally.AllPriorities, Name: "ingress_drops"}, Value: 1},
			{Counter: prove.Counter{Device: "switch.a", Port: "Ethernet1/1", Priority: 3, Name: "pfc_watchdog.events"}, Off: "there is none"}}},
		Judgements: []prove.Judgement{{Validation: "v", Metric: "m", Pair: "switch.a Ethernet1/1", Verdict: prove.Fail, Value: 2.5},
			{Validation: "v", Metric: "m", Pair: "switch.a Ethernet1/1", Verdict: prove.Fail, Value: 2.5},
			{Validation: "v", Metric: "m", Pair: "switch.a Ethernet1/1", Verdict: prove.Pass, Value: 2.5, Least: true},
			{Validation: "v", Metric: "m", Pair: "switch.b Ethernet1/1", Verdict: prove.Inconclusive}}}
}

func TestPrometheus(t *testing.T) {
	seen := newSeenLast("pod")
	seen.last.Store(sighting())
	answer := httptest.NewRecorder()
	seen.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := answer.Body.String()
	for _, want := range []string{`weft_counter{device="server.node[\"a\"]",name="pfc_rx",owner="pod",port="p0",priority="3"} 7` + "\n",
		`name="ingress_drops",owner="pod",port="Ethernet1/1",priority=""} 1`, `weft_metric{baseline="false",limit="",metric="m",owner="pod",place="switch.a Ethernet1/1",size="0",validation="v"} 2.5`,
		`weft_verdict{baseline="false",limit="",metric="m",owner="pod",place="switch.b Ethernet1/1",size="0",validation="v"} -1`, `limit="least",metric="m",owner="pod",place="switch.a Ethernet1/1",size="0",validation="v"} 1`,
		`weft_pair_p99_seconds{initiator="server.node[\"a\"]",over="tcp",owner="pod",plane="a",portal="",size="4096",target="target.t"} 0.0015`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if answer.Code != http.StatusOK || strings.Count(text, "\nweft_metric{") != 2 || strings.Count(text, "\nweft_counter{") != 2 || strings.Count(text, "\nweft_pair_p99_seconds{") != 1 {
		t.Errorf("%d: what is not known has a value, or something stands there twice:\n%s", answer.Code, text)
	}
}

// The endpoint answers what was seen last, and nothing before the first look.
func TestPrometheusEndpoint(t *testing.T) {
	var said bytes.Buffer
	p := newServices(nil, io.Discard, &said, nil)
	w := &watchCommand{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric}
	seen := newSeenLast("pod")
	stop, err := w.answer("127.0.0.1:0", seen.handler())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	_, url, _ := strings.Cut(strings.TrimSpace(said.String()), "http://")
	get := func() (int, string) {
		r, err := http.Get("http://" + url)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	if code, _ := get(); code != http.StatusServiceUnavailable {
		t.Errorf("before the first look: %d", code)
	}
	seen.last.Store(&prove.Result{Judgements: []prove.Judgement{{Validation: "v", Metric: "m", Verdict: prove.Pass}}})
	if code, body := get(); code != http.StatusOK || !strings.Contains(body, `validation="v"} 1`) {
		t.Errorf("%d %s", code, body)
	}
	if _, err := w.answer("256.0.0.1:1", seen.handler()); err == nil {
		t.Error("an address that there cannot be")
	}
}

// The dashboard for Grafana asks for nothing that weft does not tell: no other metric, label
// or counter.
func TestFabricDashboard(t *testing.T) {
	text, err := os.ReadFile("../../examples/grafana/fabric.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := newSeenLast("pod")
	seen.last.Store(sighting())
	answer := httptest.NewRecorder()
	seen.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	labels := map[string]string{} // of each metric
	for line := range strings.Lines(answer.Body.String()) {
		if name, rest, ok := strings.Cut(line, "{"); ok && !strings.HasPrefix(line, "#") {
			labels[name] += "," + rest
		}
	}
	asked := regexp.MustCompile(`\b(weft_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(string(text), -1)
	if len(asked) < 10 {
		t.Fatalf("%d metrics", len(asked))
	}
	counters := map[string]bool{tally.TxBytes: true, tally.PFCRx: true, tally.Drops: true, tally.IngressDrops: true, tally.WatchdogEvents: true}
	for _, m := range asked {
		of, ok := labels[m[1]]
		if !ok {
			t.Errorf("weft does not tell %s", m[1])
		}
		for _, l := range regexp.MustCompile(`(\w+)=~?\\"([^"\\]*)\\"`).FindAllStringSubmatch(m[2], -1) {
			if !strings.Contains(of, ","+l[1]+"=") {
				t.Errorf("%s has no label %s", m[1], l[1])
			}
			for name := range strings.SplitSeq(l[2], "|") {
				if l[1] == "name" && !counters[name] {
					t.Errorf("nothing is counted as %s", name)
				}
			}
		}
	}
	for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(string(text), -1) {
		for label := range strings.SplitSeq(by[1], ", ") {
			if !strings.Contains(labels["weft_counter"]+labels["weft_pair_p99_seconds"], ","+label+"=") {
				t.Errorf("nothing has a label %s", label)
			}
		}
	}
}
