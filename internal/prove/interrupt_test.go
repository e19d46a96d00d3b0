package prove

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/inventory"
)

// Whoever interrupts a verification gets the context's error, wherever it was.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &farm{p99: time.Microsecond, busy: map[string]int{}, served: map[string]uint64{}}
	f.fails = func(string) bool { cancel(); return false }
	_, err := Run(ctx, Input{
		Model: model(2, 2, time.Second), Volume: func(*inventory.Volume, *inventory.Server) string { return "/volume" },
		Host: func(_ context.Context, s *inventory.Server) (remote.Host, error) {
			return &farmHost{farm: f, name: s.Name}, nil
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// A portal outside every plane is over the fabric all the same, and judged.
func TestPortalWithoutPlane(t *testing.T) {
	m := model(1, 1, time.Microsecond)
	for i := range m.Targets[0].Portals {
		m.Targets[0].Portals[i].Plane = nil
	}
	res := prove(t, m, &farm{p99: time.Second})
	if len(res.Rows) != 2 || len(res.Local) != 1 || res.Verdict != Fail {
		t.Errorf("%d rows, %d local, %s", len(res.Rows), len(res.Local), res.Verdict)
	}
}

// Without a validation that reads, refused reads fail all the same; and what
// cannot be measured does not pass when it is asked for by name.
func TestNothingLimited(t *testing.T) {
	m := model(1, 1, time.Second)
	m.Validations = []*inventory.Validation{{Block: inventory.Block{Addr: "validation.counters"}, Name: "counters",
		Metrics: []*inventory.Metric{{Name: "rdma_drops", Source: "switch.port.class.gold.drops", HasMax: true}}}}
	refused := &farm{p99: time.Microsecond, fails: func(string) bool { return true }}
	if res := prove(t, m, refused); res.Verdict != Fail {
		t.Errorf("every read was refused: %s", res.Verdict)
	}
	f := &farm{p99: time.Microsecond, busy: map[string]int{}, served: map[string]uint64{}}
	res, err := Run(t.Context(), Input{
		Model: m, Names: []string{"counters"}, Volume: func(*inventory.Volume, *inventory.Server) string { return "/volume" },
		Host: func(_ context.Context, s *inventory.Server) (remote.Host, error) {
			return &farmHost{farm: f, name: s.Name}, nil
		},
	})
	if err != nil || res.Verdict != Inconclusive {
		t.Errorf("counters are not measured: %v, %+v", err, res)
	}
}

// No sample and no error is no data.
func TestNoErrorsOfNothing(t *testing.T) {
	m := model(1, 1, time.Second)
	m.Validations[0].Metrics = []*inventory.Metric{{Name: "errors", Measure: failures, HasMax: true}}
	m.Validations[0].Samples = 1000 // the farm answers 100
	res := prove(t, m, &farm{p99: time.Microsecond})
	if slices.ContainsFunc(res.Judgements, func(j Judgement) bool { return j.Metric == "errors" && j.Verdict == Pass }) || res.Verdict != Inconclusive {
		t.Errorf("%s: %+v", res.Verdict, res.Judgements)
	}
}
