package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"weft/plan/rollout"
)

// Of several leaders at once one leads: the others are told, or find nothing left to do, and
// each step is carried out once.
func TestTwoLeaders(t *testing.T) { everyStore(t, twoLeaders) }

func twoLeaders(t *testing.T, records func() *Records) {
	const leaders = 4
	f := sited(t, records)
	f.crewAt(t, "dc1", "dc2")
	ctx, end := context.WithCancel(within(t))
	defer end()
	var others sync.WaitGroup
	for range 2 { // services that go on with any run
		others.Go(func() {
			if err := Lead(ctx, f.env(), false); !errors.Is(err, context.Canceled) {
				t.Errorf("who leads as a service is told %v", err)
			}
		})
	}
	errs := make([]error, leaders)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = f.lead(ctx, f.env()) })
	}
	all.Wait()
	for _, err := range errs {
		if cause := new(Error); err != nil && (!errors.As(err, &cause) || cause.Cause != Taken && cause.Cause != Ended) {
			t.Errorf("a leader is told %v", err)
		}
	}
	heads := func() (list []*Head) {
		list, err := f.env().Records.Heads(within(t), false)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for ctx.Err() == nil && (len(heads()) == 0 || heads()[0].State.Underway()) {
		time.Sleep(shortIdle)
	}
	end()
	others.Wait()
	f.is(t, "new")
	steps := 0
	for _, h := range heads() {
		rec, err := f.env().Records.Find(within(t), h.ID)
		if err != nil || rec.State != rollout.Passed {
			t.Fatalf("run %s is %+v: %v", h.ID, rec, err)
		}
		journal, err := rec.Journal(within(t))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(journal)
		if err != nil {
			t.Fatal(err)
		}
		steps += bytes.Count(text, []byte(`"do":"step","state":"done"`))
	}
	if steps != 4 {
		t.Errorf("%d steps were carried out", steps)
	}
}
