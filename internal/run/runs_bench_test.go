package run

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"weft/internal/store"
	"weft/internal/store/nats"
	"weft/plan"
	"weft/plan/rollout"
)

// BenchmarkRuns is how long it takes to open a store and list 1,000 runs of six phases
// each, as weft runs does.
func BenchmarkRuns(b *testing.B) {
	place := b.TempDir()
	h := newHub(b)
	for name, records := range map[string]func() *Records{
		"directory": func() *Records { return In(place) },
		"hub": func() *Records {
			return InShared(b.TempDir(), Sharing{Name: "hub", Lease: time.Minute, Open: func(ctx context.Context) (store.Store, error) {
				return nats.Open(ctx, nats.Options{URL: "nats://hub", Owner: "test", Timeout: time.Minute, Connect: []client.Option{client.SetCustomDialer(h)}})
			}})
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := records().use(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for i := range 1000 {
				head := &Head{Format: headFormat, ID: plan.NewRunID(time.Unix(int64(i), 0)), Owner: "test", Rollout: "rollout.all", Begun: time.Unix(int64(i), 0), Who: "ann@host", State: rollout.Passed, Why: "a reason"}
				for n := range 6 {
					head.Phases = append(head.Phases, headPhase{Name: fmt.Sprint("phase-", n), State: rollout.Passed})
				}
				text, err := json.Marshal(head)
				if err != nil {
					b.Fatal(err)
				}
				if err := put(b.Context(), s, keyRun(head.ID), text); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for b.Loop() {
				r := records()
				list, err := r.Heads(b.Context(), false)
				if err != nil || len(list) != 1000 {
					b.Fatalf("%d runs: %v", len(list), err)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
