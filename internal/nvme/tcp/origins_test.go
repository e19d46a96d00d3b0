//go:build linux && !race

package tcp

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/wire"
)

// counting is ground that counts what it executes.
type counting struct {
	ground
	n *atomic.Int64
}

func (h *counting) Execute(x *fabric.Exchange) {
	h.n.Add(1)
	h.ground.Execute(x)
}

// arrived waits until there is something to read for all targets.
func arrived(t *testing.T, all []*pair) {
	w, err := rawsock.NewWatch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i, p := range all {
		if err := w.Add(p.p.sock, int32(i), true, false); err != nil {
			t.Fatal(err)
		}
	}
	there := map[int32]bool{}
	for end := time.Now().Add(time.Minute); len(there) < len(all); {
		if w.Poll(func(i int32) { there[i] = true }); time.Now().After(end) {
			t.Fatalf("%d of %d have something", len(there), len(all))
		}
	}
}

// TestTurnsOfLongCommandsAreShorter: a turn is bounded by what its commands move,
// not only by how many they are.
func TestTurnsOfLongCommandsAreShorter(t *testing.T) {
	const size, depth = 128 << 10, 100
	p := newPair(t, 128, digests{})
	var commands atomic.Int64
	p.p.c.handler = &counting{*p.p.c.handler.(*ground), &commands}
	p.p.c.most = turnMost
	for tag := range uint16(depth) {
		cmd := wire.Command{Opcode: wire.OpRead, NSID: 1}
		cmd.SetBlocks(0, size/512)
		if err := p.q.Submit(tag, &cmd, fabric.Buffer{Bytes: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.q.Poll(make([]wire.Completion, depth)); err != nil {
		t.Fatal(err)
	}
	arrived(t, []*pair{p})
	if _, over := p.p.turn(); over {
		t.Fatal(p.p.why)
	}
	if n := commands.Load(); n == 0 || (n-1)*size >= turnMost*turnUnit {
		t.Errorf("%d commands of %d bytes in one turn", n, size)
	}
}

// TestOriginsHaveTurns: a host with one command waits for one short turn of
// another, however many connections that has and however full they are, and none
// of those is forgotten.
func TestOriginsHaveTurns(t *testing.T) {
	const busy, each = 8, 100
	l := new(pollLoop)
	var commands atomic.Int64
	add := func(remote string, n int) *pair {
		p := newPair(t, 128, digests{})
		p.p.loop, p.p.c.remote = l, remote
		p.p.c.handler = &counting{*p.p.c.handler.(*ground), &commands}
		l.join(p.p)
		for tag := range uint16(n) {
			cmd := wire.Command{Opcode: wire.OpRead, NSID: 1}
			cmd.SetBlocks(0, 1)
			if err := p.q.Submit(tag, &cmd, fabric.Buffer{Bytes: make([]byte, 512)}); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := p.q.Poll(make([]wire.Completion, 128)); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		return p
	}
	completed := func(p *pair) int {
		n, err := p.q.Poll(make([]wire.Completion, 128))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var all []*pair
	for i := range busy {
		all = append(all, add(fmt.Sprintf("10.0.0.1:%d", 1000+i), each))
	}
	quiet := add("10.0.0.2:1000", 1)
	arrived(t, append(all, quiet))
	l.turns()
	if n := commands.Load(); n > turnMost+1 || completed(quiet) != 1 {
		t.Errorf("%d commands in one round, want at most %d, and that of the other host done", n, turnMost+1)
	}
	got := make([]int, busy)
	end := time.Now().Add(time.Minute)
	for done := 0; done < busy; {
		if l.turns(); time.Now().After(end) {
			t.Fatalf("completed are %v of %d each", got, each)
		}
		done = 0
		for i, p := range all {
			if got[i] < each {
				got[i] += completed(p)
			}
			if got[i] == each {
				done++
			}
		}
		if done == 0 {
			continue
		}
		for i, n := range got {
			if n == 0 {
				t.Fatalf("connection %d has had no turn, completed are %v", i, got)
			}
		}
	}
}

// TestTurnsSendInParts: a turn sends so much at most, however much waits, and what
// it leaves is sent by later ones.
func TestTurnsSendInParts(t *testing.T) {
	const size, depth = 128 << 10, 100
	p := newPair(t, 128, digests{})
	for tag := range uint16(depth) {
		cmd := wire.Command{Opcode: wire.OpRead, NSID: 1}
		cmd.SetBlocks(0, size/512)
		if err := p.q.Submit(tag, &cmd, fabric.Buffer{Bytes: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	done := make([]wire.Completion, depth)
	for got := 0; got < depth; {
		p.p.c.most = turnMost
		before := p.p.c.out.sent
		if _, over := p.p.turn(); over {
			t.Fatal(p.p.why)
		}
		if sent := p.p.c.out.sent - before; sent > 2*turnBytes {
			t.Fatalf("%d bytes in one turn", sent)
		}
		n, err := p.q.Poll(done)
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
}
