package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"weft/internal/latency"
)

// The table is sound: what a row needs for its source it has, and names are names once.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, id := range All(func(Row) bool { return true }) {
		r := id.Row()
		if names[r.Name] {
			t.Errorf("%s stands there twice", r.Name)
		}
		names[r.Name] = true
		if r.Title == "" || r.Says == "" || r.Unit == "" || r.Source == 0 {
			t.Errorf("%s lacks something: %+v", r.Name, r)
		}
		if (r.Source == Latency) != (r.Quantile > 0) || (r.Source == Latency) != (r.Unit == Duration) {
			t.Errorf("%s: a latency is a quantile, and a duration", r.Name)
		}
		if len(r.Probes)+len(r.Ways) == 0 {
			t.Errorf("nothing measures %s", r.Name)
		}
		if (r.Column || r.Gauge != "") && (r.Source != Latency || r.Added) {
			t.Errorf("%s has a column or a gauge of quantiles", r.Name)
		}
		if least := math.Round(1 / (1 - r.Quantile)); r.Source == Latency && !r.Column && !r.Added && float64(r.Least) < least {
			t.Errorf("%s is told by %d samples, and takes %.0f", r.Name, r.Least, least)
		}
		got, ok := Parse(r.Name)
		if ok == r.Implied || ok && got != id {
			t.Errorf("%s is read as %v, %t", r.Name, got, ok)
		}
	}
	if id, ok := Parse("p98"); ok || id.Row().Name != "" || id != (ID{}) {
		t.Errorf("p98 is %v, %t", id, ok)
	}
	if Names(Columns())[0] != "p50" || OfProbe("socket")[0] != "p50" || strings.Join(OfComparisons(), " ") != "throughput cpu_saved ratio" {
		t.Errorf("%v %v %v", Names(Columns()), OfProbe("socket"), OfComparisons())
	}
}

// Each quantile of the table is the one of the histogram, also with its interval, and those
// without a column need samples enough.
func TestQuantiles(t *testing.T) {
	few, many := latency.New(), latency.New()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		many.Record(time.Duration(10000 + r.IntN(90000)))
	}
	for range 100 {
		few.Record(time.Duration(10000 + r.IntN(90000)))
	}
	for _, h := range []*latency.Histogram{few, many} {
		q := QuantilesOf(h)
		for _, id := range All(func(r Row) bool { return r.Source == Latency && !r.Added }) {
			want := h.Quantile(id.Row().Quantile)
			enough := h.Count() >= id.Row().Least
			if got, ok := q.Quantile(id); ok != enough || ok && got != want {
				t.Errorf("%s of %d samples is %v, %t, and %v in the histogram", id, h.Count(), got, ok, want)
			}
			e, ok := id.Estimate(h, nil)
			if ok != enough || ok && (e.Value != float64(want) || e.Low > e.Value || e.High < e.Value) {
				t.Errorf("%s of %d samples is estimated as %+v, %t", id, h.Count(), e, ok)
			}
		}
		if _, ok := q.Quantile(Of(Failures)); ok {
			t.Error("errors are a quantile")
		}
		both := QuantilesOf(few).Max(q)
		for _, id := range All(func(r Row) bool { return r.Source == Latency && !r.Added }) {
			a, hasA := QuantilesOf(few).Quantile(id)
			b, hasB := q.Quantile(id)
			if got, ok := both.Quantile(id); ok != (hasA || hasB) || got != max(a, b) {
				t.Errorf("the greater of %s is %v, %t", id, got, ok)
			}
		}
	}
	added, _ := Parse("added_p99")
	if _, ok := added.Estimate(many, nil); ok {
		t.Error("added_p99 is known without the local read")
	}
	e, ok := added.Estimate(many, few)
	if want := float64(many.Quantile(0.99) - few.Quantile(0.99)); !ok || e.Value != want || e.High-e.Low <= 0 {
		t.Errorf("added_p99 is %+v, and the difference %v", e, want)
	}
}

// The page of measurements has a line for each metric that files may write.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../prove/prove.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range All(func(r Row) bool { return !r.Implied }) {
		r := id.Row()
		limit := "max"
		if r.More {
			limit = "min, max"
		}
		var by []string
		for _, p := range r.Probes {
			by = append(by, fmt.Sprintf("`%q`", p))
		}
		if len(r.Ways) > 0 {
			by = append(by, "`compare`")
		}
		from := strings.Join(by, ", ")
		if len(r.Probes) == 4 {
			from = "every probe"
		}
		line := fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", r.Name, r.Says, r.Unit, limit, from)
		if !strings.Contains(string(page), line) {
			t.Errorf("internal/prove/prove.md lacks the line\n%s", line)
		}
	}
}
