package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"weft/internal/prove"
	"weft/internal/tally"
)

func TestPrometheus(t *testing.T) {
	res := &prove.Result{After: &prove.Reading{Samples: []prove.Sample{
		{Counter: prove.Counter{Device: `server.node["a"]`, Port: "p0", Priority: 3, Name: "pfc_rx"}, Value: 7},
		{Counter: prove.Counter{Device: "switch.a", Port: "Ethernet1/1", Priority: tally.AllPriorities, Name: "ingress_drops"}, Value: 1}}},
		Judgements: []prove.Judgement{{Validation: "v", Metric: "m", Pair: "switch.a Ethernet1/1", Verdict: prove.Fail, Value: 2.5},
			{Validation: "v", Metric: "m", Pair: "switch.b Ethernet1/1", Verdict: prove.Inconclusive}}}
	text := string(prometheus("pod", res))
	for _, want := range []string{`weft_counter{owner="pod",device="server.node[\"a\"]",port="p0",priority="3",name="pfc_rx"} 7` + "\n",
		`priority="",name="ingress_drops"} 1`, `weft_metric{owner="pod",validation="v",metric="m",place="switch.a Ethernet1/1",size="0",baseline="false"} 2.5`,
		`weft_verdict{owner="pod",validation="v",metric="m",place="switch.b Ethernet1/1",size="0",baseline="false"} -1`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Count(text, "\nweft_metric{") != 1 {
		t.Errorf("what is not known has a value:\n%s", text)
	}
}

// The endpoint answers what was seen last, and nothing before the first look.
func TestPrometheusEndpoint(t *testing.T) {
	var said bytes.Buffer
	a := &app{stdout: io.Discard, stderr: &said}
	var page atomic.Pointer[[]byte]
	stop, err := a.answer("127.0.0.1:0", &page)
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
	text := []byte("weft_verdict 1\n")
	page.Store(&text)
	if code, body := get(); code != http.StatusOK || body != string(text) {
		t.Errorf("%d %s", code, body)
	}
	if _, err := a.answer("256.0.0.1:1", &page); err == nil {
		t.Error("an address that there cannot be")
	}
}
