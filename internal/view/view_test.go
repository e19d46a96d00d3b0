package view

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/latency"
	"weft/internal/prove"
	"weft/plan"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1500: "1.50 µs", 99_960: "100 µs", 12_345_678: "12.3 ms", 2 * time.Second: "2.00 s", -1500: "−1.50 µs",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int]string{512: "512 B", 4096: "4 KiB", 1 << 20: "1 MiB", 5000: "5000 B"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func step(device, kind, name string, impact plan.Impact) plan.PlannedStep {
	return plan.PlannedStep{
		ID:      plan.ID{Device: device, Kind: kind, Name: name},
		Range:   hcl.Range{Filename: "hosts.weft.hcl", Start: hcl.Pos{Line: 7}},
		Changes: []plan.Change{{Path: "bytes", Before: "1500", After: "9000", Impact: impact}},
		Send:    []string{"$ do " + name}, Undo: []string{"$ undo " + name},
	}
}

// Equal changes are folded, the worst impact comes first, and every step is
// still named.
func TestPlanFolds(t *testing.T) {
	p := &plan.Plan{
		Owner: "o", Simulated: true,
		Devices: []plan.PlannedDevice{{Address: "server.a", Items: 3}, {Address: "server.b", Items: 1}, {Address: "switch.c", Items: 2, Error: "no route", Hint: "plug it in"}},
		Steps: []plan.PlannedStep{
			step("server.a", "file", "x", plan.ImpactNone), step("server.a", "mtu", "p0", plan.ImpactLinkFlap),
			step("server.a", "mtu", "p1", plan.ImpactLinkFlap), step("server.b", "mtu", "p0", plan.ImpactLinkFlap),
		},
		Notes: []plan.Note{{Block: "pool.x", Text: "not yet"}},
	}
	var b strings.Builder
	Plan(&b, p, Options{Lines: true})
	out := b.String()
	for _, want := range []string{
		"SIMULATED", "✗ switch.c  no route", "hint: plug it in",
		"~ mtu  3: server.a p0 p1, server.b p0  impact link-flap", "bytes  1500 → 9000",
		"$ do p1", "      to undo:\n        $ undo p0\n", "hosts.weft.hcl:7", "pool.x  not yet",
		"Plan: 4 to change, 3 with impact link-flap; 0 as declared; 2 not read.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Index(out, "~ mtu") > strings.Index(out, "~ file") {
		t.Errorf("the worst impact does not come first:\n%s", out)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("colour without being asked")
	}
}

// TestPlanFoldsLongLines holds that a long value keeps to the width of a terminal, and is one line
// without one.
func TestPlanFoldsLongLines(t *testing.T) {
	long := step("server.a", "boot", "p0", plan.ImpactNone)
	long.Changes = []plan.Change{{Path: "script.line[7]", Before: strings.Repeat("ip link set dev eth0 mtu 9000; ", 20), After: strings.Repeat("ip link set dev eth1 mtu 9000; ", 20)}}
	p := &plan.Plan{Owner: "o", Steps: []plan.PlannedStep{long}}
	var narrow, wide strings.Builder
	Plan(&narrow, p, Options{Style: Style{Width: 80}, Concise: true})
	Plan(&wide, p, Options{Concise: true})
	for line := range strings.Lines(narrow.String()) {
		if strings.Contains(line, "mtu") && len([]rune(line)) > 81 {
			t.Errorf("%d characters: %s", len([]rune(line)), line)
		}
	}
	if strings.Count(narrow.String(), "eth0")+strings.Count(narrow.String(), "eth1") != 40 || strings.Count(wide.String(), "mtu 9000") != 40 || !strings.Contains(wide.String(), " → ip link") {
		t.Errorf("%s\n%s", narrow.String(), wide.String())
	}
}

// Ledgers that change differently are told apart.
func TestPlanTellsLedgersApart(t *testing.T) {
	keep := func(device string, c plan.Change) plan.PlannedStep {
		return plan.PlannedStep{ID: plan.ID{Device: device, Kind: plan.LedgerKind, Name: "roster"}, Changes: []plan.Change{c}}
	}
	p := &plan.Plan{Owner: "o", Steps: []plan.PlannedStep{
		keep("server.a", plan.Change{Path: "adopted", Before: "package.x"}),
		keep("server.b", plan.Change{Path: "adopted", Before: "package.y"}),
		keep("server.c", plan.Change{Path: "adopted", Before: "package.x"}),
	}}
	var b strings.Builder
	Plan(&b, p, Options{})
	for _, want := range []string{
		"left as it was found: package.x on 2 servers",
		"left as it was found: package.y on 1 server ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestAppliedShowsWhatCameBack(t *testing.T) {
	p := &plan.Plan{Owner: "o", Steps: []plan.PlannedStep{step("switch.c", "qos", "roce", plan.ImpactTraffic)}}
	err := &plan.RefusedError{Line: "pause pfc-cos 3", Reply: "      ^\r\n% Invalid command at '^' marker.\r\n"}
	r := &plan.Result{Devices: []plan.DeviceResult{{Device: "switch.c", Outcome: plan.DeviceRolledBack, Err: err,
		Steps: []plan.StepResult{{ID: p.Steps[0].ID, Outcome: plan.StepFailed, Err: err}}}}}
	var b strings.Builder
	Applied(&b, p, r, Style{}, time.Second)
	for _, want := range []string{
		"↩ switch.c  rolled-back", `refused "pause pfc-cos 3": % Invalid command at '^' marker.`,
		"declared  hosts.weft.hcl:7", "sent      pause pfc-cos 3", "answered        ^\n", "                % Invalid command",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	var refused *plan.RefusedError
	if !errors.As(r.Devices[0].Err, &refused) {
		t.Error("the cause is lost")
	}
}

func TestVerify(t *testing.T) {
	row := func(from, plane string, d time.Duration) *prove.Row {
		r := &prove.Row{Initiator: from, Target: `target.nvme["st1"]`, Plane: plane}
		h := latency.New()
		r.Size, r.Depth, r.Transport, r.Mode, r.Remote = 4096, 1, "tcp", "event", "10.0.0.1:4420"
		for i := range 100 {
			h.Record(d + time.Duration(i)*d/10)
		}
		r.Samples, r.P50, r.P99, r.P999 = 100, h.Quantile(.5), h.Quantile(.99), h.Quantile(.999)
		text, _ := h.MarshalText()
		r.Histogram = string(text)
		return r
	}
	down := row(`server.node["cn2"]`, "b", time.Microsecond)
	down.Samples, down.FirstErr = 0, "connection refused"
	down.Degraded = true
	res := &prove.Result{
		Rows:  []*prove.Row{row(`server.node["cn1"]`, "a", 30*time.Microsecond), down},
		Local: []*prove.Row{row(`server.node["st1"]`, "", 3*time.Microsecond)},
		Judgements: []prove.Judgement{
			{Validation: "latency", Metric: "p99", Pair: "one", Verdict: prove.Pass, Value: 3e4, Limit: 1e6, Latency: true},
			{Validation: "latency", Metric: "p99", Pair: "two", Verdict: prove.Fail, Value: 2e6, Limit: 1e6, Latency: true, Why: "connection refused"},
		},
		Verdict: prove.Fail,
	}
	var b strings.Builder
	Verify(&b, res, Style{})
	for _, want := range []string{
		"4 KiB reads, queue depth 1", "cn1", "st1 10.0.0.1:4420", "tcp event", "connection refused", "DEGRADED", "█",
		"✗ latency.p99", "1 of 2 pass", "worst 2.00 ms, limit 1.00 ms", "fail: two, 2.00 ms: connection refused", "verdict: fail",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}
