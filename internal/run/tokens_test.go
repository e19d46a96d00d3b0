package run

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weft/internal/store"
	"weft/plan"
)

// A slow store takes a second for an answer, and has the mark of one run.
type slowStore struct {
	store.Store
	mine  Marking
	asked *atomic.Int64
	away  *atomic.Bool
}

func (s slowStore) Get(_ context.Context, key string) (store.Entry, error) {
	s.asked.Add(1)
	time.Sleep(time.Second)
	if s.away.Load() {
		return store.Entry{}, &store.UnavailableError{Err: errors.New("away")}
	}
	if key != keyMark(s.mine.Mark.Run) {
		return store.Entry{}, &store.NotFoundError{Key: key}
	}
	text, err := json.Marshal(s.mine)
	if err == nil {
		text, err = json.Marshal(heldValue{Value: text})
	}
	return store.Entry{Key: key, Value: text, Revision: 1}, err
}

// Many devices with marks of many runs are judged in the time of one question for each
// run, which are asked side by side.
func TestMineAsksSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		name := func(n int) string { return plan.NewRunID(begun.Add(time.Duration(n))) }
		var asked atomic.Int64
		var away atomic.Bool
		s := slowStore{mine: Marking{Mark: plan.Mark{Run: name(0), Token: "t"}}, asked: &asked, away: &away}
		r := InShared(t.TempDir(), Sharing{Name: "slow", Open: func(context.Context) (store.Store, error) { return s, nil }})
		const runs, devices = 10, 100
		look := func() (mine int64) {
			var all sync.WaitGroup
			var n atomic.Int64
			for i := range devices {
				all.Go(func() {
					if r.Mine(plan.Mark{Run: name(i % runs), Token: "t"}) {
						n.Add(1)
					}
				})
			}
			all.Wait()
			return n.Load()
		}
		if mine := look(); mine != devices/runs || asked.Load() != runs || time.Since(begun) != time.Second {
			t.Errorf("%d are mine, after %d questions in %v", mine, asked.Load(), time.Since(begun))
		}
		if look(); asked.Load() != runs {
			t.Errorf("what was just answered is asked again: %d questions", asked.Load())
		}
		if r.Mine(plan.Mark{Run: name(0), Token: "another"}) || !r.Mine(plan.Mark{Run: name(0)}) {
			t.Error("the token does not decide")
		}

		// What was not there may have come; what is there stays.
		time.Sleep(2 * askedAgain)
		if look(); asked.Load() != 2*runs-1 {
			t.Errorf("%d questions in all", asked.Load())
		}

		// Who does not answer has said nothing.
		time.Sleep(2 * askedAgain)
		away.Store(true)
		if r.Mine(plan.Mark{Run: name(1)}) {
			t.Error("a run of which nothing is known is mine")
		}
		was := asked.Load()
		if away.Store(false); r.Mine(plan.Mark{Run: name(1)}) || asked.Load() != was+1 {
			t.Errorf("%d questions after one that was not answered, not 1", asked.Load()-was)
		}
	})
}
