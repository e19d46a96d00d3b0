package view

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/findings"
	"weft/internal/prove"
	"weft/plan"
)

const thousand = 1000

// oneCause is a plan, a verification and problems in files, each with one cause at a thousand
// places, and how it is shown.
var oneCause = []struct {
	name  string
	most  int      // lines
	want  []string // that are shown
	every string   // that --verbose shows for each place
	show  func(*strings.Builder, Style)
}{
	{"refusals", 8, []string{"✗ 1000 resources cannot be applied", `server.node["cn0001..1000"] mtu p0`, "hosts.weft.hcl:7  policy \"p\" forbids it"}, "forbids it",
		func(b *strings.Builder, s Style) {
			p := &plan.Plan{Owner: "o", Devices: []plan.PlannedDevice{}}
			for _, name := range many() {
				p.Refusals = append(p.Refusals, plan.Refusal{ID: plan.ID{Device: name, Kind: "mtu", Name: "p0"}, Range: hcl.Range{Filename: "hosts.weft.hcl", Start: hcl.Pos{Line: 7}},
					Text: `policy "p" forbids it (main.weft.hcl:3): no jumbo frames on ` + name, Hint: "leave it out with --exclude"})
			}
			Plan(b, p, Options{Style: s})
		}},
	{"unreachable devices", 6, []string{`✗ 1000 devices: server.node["cn0001..1000"]  connect to …: no route to host`, "hint: is … up?"}, "no route to host",
		func(b *strings.Builder, s Style) {
			p := &plan.Plan{Owner: "o"}
			for i, name := range many() {
				host := fmt.Sprintf("cn%04d.example.net", i+1)
				s.Names.Add(host)
				p.Devices = append(p.Devices, plan.PlannedDevice{Address: name, Error: "connect to " + host + ": no route to host", Hint: "is " + host + " up?"})
			}
			Plan(b, p, Options{Style: s})
		}},
	{"judgements", 4, []string{"fail: 1000 places, it was not marked; the fault is at switch.leaf", `server.node["cn0001..1000"] → target.nvme["st1"] over plane a`}, "it was not marked",
		func(b *strings.Builder, s Style) {
			r := &prove.Result{}
			for _, name := range many() {
				r.Judgements = append(r.Judgements, prove.Judgement{Validation: "path", Metric: "marked", Counted: true, Verdict: prove.Fail,
					Pair: name + ` → target.nvme["st1"] over plane a`, Why: "it was not marked", Where: "at switch.leaf"})
			}
			judgements(b, s, r)
		}},
	{"hops at their own places", 4, []string{"fail: 1000 places, pfc is off; the fault is there", `server.node["cn0001..1000"] p0`}, "pfc is off",
		func(b *strings.Builder, s Style) {
			r := &prove.Result{}
			for _, name := range many() {
				r.Judgements = append(r.Judgements, prove.Judgement{Validation: "path", Metric: "lossless", Counted: true, Verdict: prove.Fail, Pair: name + " p0", Why: "pfc is off", Where: "at " + name + " p0"})
			}
			judgements(b, s, r)
		}},
	{"rows", 14, []string{"plane a, 500 pairs: connect: refused", "cn0001", "worst of 500", "9.99 ms"}, " nvme ", nil},
	{"problems of many lines", 8, []string{"on main.weft.hcl line 1", "999 more like this (see --verbose): main.weft.hcl:2..1000"}, "a rate starts with a number",
		func(b *strings.Builder, s Style) {
			var diags hcl.Diagnostics
			for i := range thousand {
				diags = append(diags, problemAt(i+1, fmt.Sprintf("speed of link.l%d: a rate starts with a number", i)))
			}
			_ = Diagnostics(b, s, nil, diags)
		}},
	{"problems of one line", 8, []string{"line 7", "999 more like this (see --verbose): main.weft.hcl:7"}, "a rate starts with a number",
		func(b *strings.Builder, s Style) {
			var diags hcl.Diagnostics
			for i := range thousand {
				diags = append(diags, problemAt(7, fmt.Sprintf("speed of link.l%d: a rate starts with a number", i)))
			}
			_ = Diagnostics(b, s, nil, diags)
		}},
}

func problemAt(line int, detail string) *hcl.Diagnostic {
	at := hcl.Pos{Line: line, Column: 1, Byte: line}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "WF-LANG-010: not a rate", Detail: detail, Subject: &hcl.Range{Filename: "main.weft.hcl", Start: at, End: at}}
}

func many() (names []string) {
	for i := range thousand {
		names = append(names, fmt.Sprintf(`server.node["cn%04d"]`, i+1))
	}
	return names
}

// rows are a thousand measurements, half of which could not be made.
func rows(b *strings.Builder, s Style) {
	r := &prove.Result{}
	for i, name := range many() {
		row := &prove.Row{Initiator: name, Target: "target.nvme", Plane: "a"}
		row.Transport = "tcp"
		if i%2 == 0 {
			row.Why = "connect: refused"
		} else {
			row.Samples, row.P50, row.P99, row.P999 = 10, time.Microsecond, time.Duration(i)*10*time.Microsecond, time.Second
		}
		r.Rows = append(r.Rows, row)
	}
	measurements(b, s, r, r.Rows, 1, 2)
}

// TestOneCause holds that a thousand findings with one cause are one entry, and that --verbose
// lists each.
func TestOneCause(t *testing.T) {
	for _, c := range oneCause {
		t.Run(c.name, func(t *testing.T) {
			if c.show == nil {
				c.show = rows
			}
			var few, all strings.Builder
			c.show(&few, Style{Names: findings.Names{}})
			for _, want := range c.want {
				if !strings.Contains(few.String(), want) {
					t.Errorf("%q is not in\n%.3000s", want, few.String())
				}
			}
			if n := strings.Count(strings.TrimSpace(few.String()), "\n"); n > c.most {
				t.Errorf("%d lines, at most %d:\n%.3000s", n, c.most, few.String())
			}
			c.show(&all, Style{Names: findings.Names{}, Verbose: true})
			if n := strings.Count(all.String(), c.every); n < thousand/2 {
				t.Errorf("--verbose shows %q %d times", c.every, n)
			}
		})
	}
}

// TestDifferentCauses holds that what differs is shown apart, and lists of places keep to the
// width of a terminal.
func TestDifferentCauses(t *testing.T) {
	r := &prove.Result{}
	for i := range 10 {
		for _, why := range []string{"it was not marked", fmt.Sprintf("%d of 100 bytes left in queue 3", i)} {
			r.Judgements = append(r.Judgements, prove.Judgement{Validation: "path", Metric: "marked", Counted: true, Verdict: prove.Fail, Pair: fmt.Sprintf("server.a%dx → target.t%dx over plane a", i, 100-i), Why: why})
		}
	}
	var b strings.Builder
	failing(&b, Style{}, r.Judgements)
	for _, want := range []string{"fail: 10 places, it was not marked", "0 of 100 bytes", "fail: 6 more of another kind each, see --verbose"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if utf8.RuneCountInString(line) > screenWidth && !strings.Contains(line, "fail: ") {
			t.Errorf("longer than %d: %s", screenWidth, line)
		}
	}
}

// TestProgressOfFailures holds that measurements that fail do not fill the terminal.
func TestProgressOfFailures(t *testing.T) {
	var b strings.Builder
	emit := Progress(&b, Style{})
	for range thousand {
		emit(plan.Event{Type: plan.EventProbe, Level: "error", Message: "refused"})
	}
	emit(plan.Event{Type: plan.EventConnect, Level: "error", Message: "lost"})
	if n := strings.Count(b.String(), "\n"); n != mostPlaces+2 || !strings.Contains(b.String(), "✗ lost") {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
}
