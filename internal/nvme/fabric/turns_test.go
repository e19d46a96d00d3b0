package fabric_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
)

// TestTurns: however many connections a source has, so many of them have a turn at
// a time, every one has it in the end, and those of other sources have theirs
// meanwhile.
func TestTurns(t *testing.T) {
	const most, connections, each = 2, 16, 200
	var yields atomic.Int64
	turns := fabric.NewTurns(most, func() { yields.Add(1) })
	var inside, done atomic.Int64
	var all sync.WaitGroup
	for i := range connections {
		turn := turns.Open(fmt.Sprintf("10.0.0.1:%d", 1000+i))
		all.Go(func() {
			defer turn.Close()
			for range each {
				turn.Take()
				if n := inside.Add(1); n > most {
					t.Errorf("%d have a turn at a time, want at most %d", n, most)
				}
				runtime.Gosched()
				inside.Add(-1)
				turn.Leave()
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != connections*each {
		t.Errorf("%d turns, want %d", done.Load(), connections*each)
	}

	if yields.Load() > 0 {
		t.Errorf("other threads were let go on %d times for one source alone", yields.Load())
	}

	held := []*fabric.Turn{turns.Open("10.0.0.1:1"), turns.Open("10.0.0.1:2")}
	for _, one := range held {
		one.Take()
	}
	other := turns.Open("10.0.0.2:1")
	other.Take() // does not wait for those
	time.Sleep(2 * fabric.TurnTime)
	if other.Pass(); yields.Load() == 0 {
		t.Error("a turn that has lasted does not let other threads go on")
	}
	before := yields.Load()
	time.Sleep(2 * fabric.TurnTime)
	if other.Leave(); yields.Load() == before {
		t.Error("a turn that ends late does not let other threads go on")
	}

	next := turns.Open("10.0.0.1:3")
	has := make(chan struct{})
	go func() { next.Take(); next.Leave(); close(has) }()
	for passed := false; !passed; {
		held[0].Pass() // lets it go first, once it waits
		select {
		case <-has:
			passed = true
		default:
			runtime.Gosched()
		}
	}
	held[0].Leave()
}
