package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weft/internal/store"
	"weft/internal/store/dir"
	"weft/plan/rollout"
)

// flicker is a store that is away while off says so of a key that is written.
type flicker struct {
	store.Store
	off func(key string) bool
}

func (s *flicker) Create(ctx context.Context, key string, value []byte) (store.Revision, error) {
	if s.off(key) {
		return 0, &store.UnavailableError{Err: errors.New("it is away")}
	}
	return s.Store.Create(ctx, key, value)
}

func (s *flicker) Update(ctx context.Context, key string, value []byte, at store.Revision) (store.Revision, error) {
	if s.off(key) {
		return 0, &store.UnavailableError{Err: errors.New("it is away")}
	}
	return s.Store.Update(ctx, key, value, at)
}

// A run that takes devices over and loses its store meanwhile is gone on with when that is
// back, whatever it was about to write.
func TestTakeOverCutOff(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int{"after the devices were marked": 2, "after the run was said to be abandoned": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t.TempDir())
			f.model.Rollouts[0].Phases[1].Approve = "manual"
			f.records = sharedAt(t, t.TempDir()) // whose store is lost afterwards
			var stop *rollout.Stop
			if err := f.start(within(t), f.env()); !errors.As(err, &stop) || stop.State != rollout.Waiting {
				t.Fatalf("it waits: %v", err)
			}
			lost := f.boxes(t)["a"].Mark
			root, writes, away := t.TempDir(), 0, true
			f.records = func() *Records {
				return InShared(t.TempDir(), Sharing{Name: root, Lease: time.Hour, Open: func(ctx context.Context) (store.Store, error) {
					s, err := dir.Open(ctx, root, dir.Options{})
					return &flicker{s, func(key string) bool {
						if strings.HasPrefix(key, "mark/") {
							writes++
						}
						return away && writes >= at && (at == 2 || strings.HasPrefix(key, "mark/"))
					}}, err
				}})
			}
			e := f.env()
			s := f.site(e)
			made, err := s.Plan(within(t), s.Input, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Records.TakeOver(within(t), &s.Input, lost.Run, "ann"); err != nil {
				t.Fatal(err)
			}
			var cause *Error
			if err := Start(within(t), e, s, made, Order{}); !errors.As(err, &cause) || cause.Cause != Waits {
				t.Fatalf("it is cut off with %v", err)
			}
			away = false
			if err := Resume(within(t), f.env(), Order{}); !errors.As(err, &stop) || stop.State != rollout.Waiting {
				t.Fatalf("it is gone on with to %v", err)
			}
			if err := Promote(within(t), f.env(), Order{}); err != nil {
				t.Fatal(err)
			}
			f.is(t, "new")
			st, err := f.env().Records.use(within(t))
			if err != nil {
				t.Fatal(err)
			}
			var gone Abandoned
			if there, err := getLarge(within(t), st, keyAbandoned(lost.Run), &gone); err != nil || !there || gone.By != "ann" {
				t.Errorf("that the run is abandoned is not kept: %+v, %v", gone, err)
			}
		})
	}
}
