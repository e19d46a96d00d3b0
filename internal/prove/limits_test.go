package prove

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"weft/internal/latency"
	"weft/internal/metric"
	"weft/internal/remote"
	"weft/inventory"
	"weft/inventory/language"
)

// rowOf is a read that took the same time so many times, without the p99.
func rowOf(initiator string, p99 time.Duration) *Row {
	h := latency.New()
	for range 1000 {
		h.Record(p99)
	}
	text, err := h.MarshalText()
	if err != nil {
		panic(err)
	}
	row := &Row{Initiator: initiator, Target: "target.t", Plane: "a", Quantiles: metric.Quantiles{P50: p99, P99: p99, P999: p99}, Wanted: 1000}
	row.Transport, row.Size, row.Samples, row.Histogram = "tcp", 4096, 1000, string(text)
	return row
}

// A limit of observed values passes only where all of them are known.
func TestLimitsOfObservedValues(t *testing.T) {
	const byPaths = `initiator.i["a"].live_paths >= 2 ? "100us" : "50us"`
	const byBaseline = `"${validation.v.baseline["4KiB"].p99 * 1.2}us"`
	kept := func(rows ...*Row) *Baseline {
		b := &Baseline{Format: BaselineFormat}
		b.Record(&Result{Rows: rows}, time.Now())
		return b
	}
	a, b := `server.cn["a"]`, `server.cn["b"]`
	for _, test := range []struct {
		name    string
		max     string
		live    int // of a; below 0 it does not answer
		p99     time.Duration
		base    *Baseline
		verdict Verdict
		why     string
	}{
		{"paths", byPaths, 2, 90 * time.Microsecond, nil, Pass, ""},
		{"fewer paths", byPaths, 1, 90 * time.Microsecond, nil, Fail, ""},
		{"unknown paths", byPaths, -1, time.Nanosecond, nil, Inconclusive, "it is away"},
		{"within the baseline", byBaseline, 0, 119 * time.Microsecond, kept(rowOf(a, 70*time.Microsecond), rowOf(b, 100*time.Microsecond)), Pass, ""},
		{"beyond the baseline", byBaseline, 0, 122 * time.Microsecond, kept(rowOf(a, 70*time.Microsecond), rowOf(b, 100*time.Microsecond)), Fail, ""},
		{"no baseline", byBaseline, 0, time.Nanosecond, nil, Inconclusive, "there is no baseline"},
		{"a baseline of another pair", byBaseline, 0, time.Nanosecond, kept(rowOf(a, time.Second)), Inconclusive, `does not know server.cn["b"]`},
		{"a size of nobody", `"${validation.v.baseline["8KiB"].p99}us"`, 0, time.Nanosecond, kept(rowOf(a, time.Second), rowOf(b, time.Second)), Inconclusive, "max cannot be evaluated"},
		{"what the baseline does not tell", `"${validation.v.baseline["4KiB"].added_p99}us"`, 0, time.Nanosecond, kept(rowOf(a, time.Second), rowOf(b, time.Second)), Inconclusive, "max cannot be evaluated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := attachedFiles + "validation \"v\" {\n  probe = \"nvme-read\"\n  metric \"p99\" { max = " + test.max + " }\n}\n"
			m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(files)}}, hush)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			res := &Result{Rows: []*Row{rowOf(b, test.p99)}}
			r := &run{measured: res, in: Input{Model: m, Baseline: test.base,
				Attached: func(_ context.Context, _ remote.Host, i *inventory.Initiator) (*Attached, error) {
					if test.live < 0 {
						return nil, errors.New("it is away")
					}
					return &Attached{LivePaths: test.live}, nil
				}}, hosts: hosts{dial: func(context.Context, *inventory.Server) (remote.Host, error) { return nil, nil }}}
			validations, unknown := r.limited(t.Context(), m.Validations)
			judge(res, validations[0], test.base, unknown)
			j := res.Judgements[0]
			if j.Metric != "p99" || j.Verdict != test.verdict || !strings.Contains(j.Why, test.why) {
				t.Errorf("%+v", j)
			}
			if _, err := json.Marshal(res); err != nil {
				t.Error(err)
			}
			if m.Validations[0].Metrics[0].Limit == nil {
				t.Error("the model was changed: the next measurement would have the limit of this one")
			}
		})
	}
}

// Reads that were refused fail whatever the limit is.
func TestUnknownLimitHidesNoFailure(t *testing.T) {
	m := new(inventory.Metric)
	unknown := unknownLimits{m: "it is away"}
	for verdict, want := range map[Verdict]Verdict{Fail: Fail, Pass: Inconclusive, Inconclusive: Inconclusive} {
		j := Judgement{Verdict: verdict, Limit: 7}
		if unknown.spoil(m, &j); j.Verdict != want || j.Limit != 0 {
			t.Errorf("%s became %+v", verdict, j)
		}
	}
	j := Judgement{Verdict: Pass, Limit: 7}
	if unknown.spoil(new(inventory.Metric), &j); j.Verdict != Pass || j.Limit != 7 {
		t.Errorf("a known limit: %+v", j)
	}
}
