//go:build linux && !race

package tcp

import (
	"fmt"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/wire"
)

// gathering is connections of one poller that has no thread (see pair).
type gathering struct {
	loop  *pollLoop
	pairs []*pair
	buf   []byte
	next  int
}

func newGathering(tb testing.TB, connections int) *gathering {
	tb.Helper()
	c := &gathering{loop: &pollLoop{crowd: crowd{when: usualCrowding()}}, buf: make([]byte, 4096)}
	if err := c.loop.open(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.loop.watch.Close() })
	blocks := pages(tb, 1<<20)
	for range connections {
		p := newPairOn(tb, 1, digests{}, blocks)
		p.p.loop = c.loop
		c.loop.number++
		p.p.number = c.loop.number
		c.loop.join(p.p)
		c.pairs = append(c.pairs, p)
	}
	return c
}

// reads has so many connections, others every time, read once, and gives the poller
// rounds until all have been answered.
func (c *gathering) reads(tb testing.TB, active int) {
	var cmd wire.Command
	from := c.next
	for k := range active {
		cmd = wire.Command{Opcode: wire.OpRead, NSID: 1}
		cmd.SetBlocks(8, 8)
		q := c.at(from + k).q
		if err := q.Submit(0, &cmd, fabric.Buffer{Bytes: c.buf}); err != nil {
			tb.Fatal(err)
		}
		if _, err := q.Poll(nil); err != nil { // sends
			tb.Fatal(err)
		}
	}
	var done [1]wire.Completion
	for k := range active {
		for {
			n, err := c.at(from + k).q.Poll(done[:])
			if err != nil {
				tb.Fatal(err)
			}
			if n > 0 {
				break
			}
			c.loop.step()
		}
	}
	c.next = from + active
}

// at spreads numbers over the connections.
func (c *gathering) at(k int) *pair { return c.pairs[(k*37)%len(c.pairs)] }

// BenchmarkCrowd is the processor time of both ends together for a read of 4 KiB
// where so many connections are there, and so many of them have a command at once.
func BenchmarkCrowd(b *testing.B) {
	for _, connections := range []int{1, 4, 8, 16, 64, 256, 1024} {
		for _, active := range []int{1, 4, 16, 64, 1024} {
			if active > connections {
				break
			}
			b.Run(fmt.Sprintf("connections=%d/active=%d", connections, active), func(b *testing.B) {
				if err := rawsock.Own(-1); err != nil {
					b.Fatal(err)
				}
				c := newGathering(b, connections)
				for range 2 * connections {
					c.reads(b, active)
				}
				b.ResetTimer()
				before := threadTime()
				n := 0
				for ; n < b.N; n += active {
					c.reads(b, active)
				}
				b.ReportMetric(float64(threadTime()-before)/float64(n), "cpu-ns/op")
			})
		}
	}
}

// TestCrowd: many connections of which few have something are a crowd, and those of
// which many have are none; all are served either way, those that were silent, too.
func TestCrowd(t *testing.T) {
	c := newGathering(t, 16)
	reads := func(active int) {
		t.Helper()
		for range 2 * c.loop.when.every {
			c.reads(t, active)
		}
	}
	is := func(want bool, what string) {
		t.Helper()
		if c.loop.crowded != want {
			t.Errorf("%s: a crowd: %v", what, c.loop.crowded)
		}
	}
	reads(16)
	is(false, "all have something")
	reads(1)
	is(true, "one has something")
	for range 2 * coolAfter {
		c.loop.step()
	}
	if len(c.loop.cool) != 16 || len(c.loop.watched) != 16 {
		t.Errorf("%d of 16 are silent, %d are watched", len(c.loop.cool), len(c.loop.watched))
	}
	is(false, "nobody is left")
	reads(1)
	reads(16)
	is(false, "all have something again")
	if n := len(c.loop.watched); n != len(c.loop.cool) {
		t.Errorf("%d are watched, %d are silent", n, len(c.loop.cool))
	}
	reads(1)
	is(true, "one has something again")
	reads(16)
	is(false, "and all")
}
