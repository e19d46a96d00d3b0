package target

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// load keeps depth commands outstanding at a limiter, for so long; each host
// thinks a while before its next command. It returns commands and bytes in a
// second.
func load(l *limiter, depth int, size func() int, think func() time.Duration, lasts time.Duration) (iops, bandwidth float64) {
	type command struct{ size int }
	of := &queue{ctrl: new(controller)}
	issued := make(map[*fabric.Exchange]command)
	done := make(chan *fabric.Exchange, depth)
	l.perform = func(j job) { done <- j.x }
	end := time.Now().Add(lasts)
	commands, bytes := 0, 0
	submit := func(x *fabric.Exchange) {
		issued[x] = command{size()}
		if l.take(job{queue: of, x: x}, issued[x].size) {
			done <- x
		}
	}
	for range depth {
		submit(new(fabric.Exchange))
	}
	for time.Now().Before(end) {
		x := <-done
		if time.Now().After(end) {
			break
		}
		commands++
		bytes += issued[x].size
		time.Sleep(think())
		submit(x)
	}
	l.set(Limits{}) // lets go what still waits
	synctest.Wait()
	return float64(commands) / lasts.Seconds(), float64(bytes) / lasts.Seconds()
}

// Limits hold within 2 % by a clock that only the limiter moves.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	sizes := func(n ...int) func() int { return func() int { return n[rand.IntN(len(n))] } }
	for name, c := range map[string]struct {
		limits Limits
		depth  int
		size   func() int
		think  time.Duration // at most
		lasts  time.Duration
	}{
		"few":            {Limits{IOPS: 10}, 4, sizes(4096), 0, 60 * time.Second},
		"one at a time":  {Limits{IOPS: 5000}, 1, sizes(4096), 0, 5 * time.Second},
		"many":           {Limits{IOPS: 200_000}, 128, sizes(4096), 0, 2 * time.Second},
		"thinking":       {Limits{IOPS: 1000}, 32, sizes(4096), time.Millisecond / 2, 10 * time.Second},
		"bandwidth":      {Limits{Bandwidth: 100 << 20}, 32, sizes(4096), 0, 4 * time.Second},
		"mixed sizes":    {Limits{Bandwidth: 500 << 20}, 32, sizes(512, 4096, 131072), 0, 10 * time.Second},
		"IOPS bind":      {Limits{IOPS: 1000, Bandwidth: 1 << 40}, 32, sizes(4096), 0, 5 * time.Second},
		"bandwidth bind": {Limits{IOPS: 1 << 40, Bandwidth: 50 << 20}, 32, sizes(131072), 0, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(nil)
				l.set(c.limits)
				time.Sleep(time.Hour) // idle time is not saved up
				think := func() time.Duration { return rand.N(c.think + 1) }
				iops, bandwidth := load(l, c.depth, c.size, think, c.lasts)
				t.Logf("%.0f IOPS, %.0f B/s", iops, bandwidth)
				within := func(got float64, limit uint64) bool {
					return got > 0.98*float64(limit) && got < 1.02*float64(limit)
				}
				if !within(iops, c.limits.IOPS) && !within(bandwidth, c.limits.Bandwidth) {
					t.Errorf("%.0f IOPS and %.0f B/s reach neither of %+v", iops, bandwidth, c.limits)
				}
				if c.limits.IOPS > 0 && iops > 1.02*float64(c.limits.IOPS) || c.limits.Bandwidth > 0 && bandwidth > 1.02*float64(c.limits.Bandwidth) {
					t.Errorf("%.0f IOPS and %.0f B/s are more than %+v", iops, bandwidth, c.limits)
				}
			})
		})
	}
}

// limited is a rig whose namespace 1 does one command in a second, until it is
// reloaded with a higher limit.
func limited(t *testing.T, r *rig) {
	c := r.another()
	c.Subsystems[0].Namespaces[0].Limits = Limits{IOPS: 1}
	r.reload(c)
	_, q := r.both()
	r.want(wire.Success, q, blocks(wire.OpRead, 1, 0, 1), make([]byte, 512))
	r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: 1}, nil) // not limited
	for tag := range uint16(20) {
		cmd := blocks(wire.OpRead, 1, 0, 1)
		if err := q.Submit(1+tag, &cmd, fabric.Buffer{Bytes: make([]byte, 512)}); err != nil {
			t.Fatal(err)
		}
	}
	other := blocks(wire.OpRead, 3, 0, 1)
	if err := q.Submit(0, &other, fabric.Buffer{Bytes: make([]byte, 4096)}); err != nil {
		t.Fatal(err)
	}
	left := 21
	wait := func(t *testing.T, until func() bool) {
		for !until() {
			var done [21]wire.Completion
			n, err := q.Wait(done[:])
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range done[:n] {
				if left--; c.Status != wire.Success {
					t.Errorf("command %d: %v", c.CID, c.Status)
				}
				if c.CID == 0 {
					other.Opcode = 0
				}
			}
		}
	}
	// The others go on: on a slow machine one or two of the limited may as well.
	wait(t, func() bool { return other.Opcode == 0 })
	t.Run("raised", func(t *testing.T) {
		c.Subsystems[0].Namespaces[0].Limits = Limits{IOPS: 1 << 30}
		r.reload(c)
		wait(t, func() bool { return left == 0 })
	})
	if n := r.target.Stats()[0].Namespaces[0]; n.Reads != 21 || n.Throttled == 0 || n.ThrottleTime == 0 {
		t.Errorf("%+v", n)
	}
}

func TestLimitsOfANamespace(t *testing.T) {
	t.Parallel()
	fabrics(t, limited)
}

// What waits for its limit goes with its connection, and does not hold up the
// end of the target.
func TestLimitedCommandsEnd(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		c := r.another()
		c.Subsystems[0].Namespaces[0].Limits = Limits{IOPS: 1}
		r.reload(c)
		limit := r.target.limiters()[0]
		waits := func(n int) (have int) {
			t.Helper()
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				limit.mu.Lock()
				have = limit.waiting.count
				limit.mu.Unlock()
				if have == n || n > 0 && have > n {
					return have
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d commands wait, want %d", have, n)
				}
			}
		}
		_, id := r.admin(subNQN, hostNQN, 0)
		submit := func(q fabric.Queue) {
			for tag := range uint16(30) {
				cmd := blocks(wire.OpRead, 1, 0, 1)
				if err := q.Submit(tag, &cmd, fabric.Buffer{Bytes: make([]byte, 512)}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := q.Poll(make([]wire.Completion, 1)); err != nil {
				t.Fatal(err)
			}
		}
		first, second := r.io(subNQN, hostNQN, id, 1), r.io(subNQN, hostNQN, id, 2)
		submit(first)
		waits(10)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		waits(0)
		submit(second)
		least := waits(10) // the rest may come too late
		if err := r.target.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		waits(0)
		if n := r.target.Stats()[0].Namespaces[0]; n.Reads < uint64(least) {
			t.Errorf("%+v, %d commands were waiting", n, least)
		}
	})
}
