package initiator

import (
	"context"
	"errors"
	"runtime"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// Done is a command of a Lane that is over.
type Done struct {
	Slot int
	Err  error // nil: success
}

const (
	maxTries  = 5                     // of a command that is refused and may be tried again
	avoidTime = 10 * time.Millisecond // for which a path is left alone that refuses commands
	pollPause = 20 * time.Microsecond // between looks at several paths
	pollSpins = 200                   // looks before the first pause
)

// A Lane carries commands to a Device: one I/O queue of each path. A lane is
// for one goroutine. What happens to paths is hidden: a command is over when it
// has succeeded somewhere, was refused for good, or no path is left.
type Lane struct {
	d          *Device
	nsid       uint32
	index      int
	generation uint64
	paths      []lanePath
	commands   []laneCommand // by slot
	waiting    []int         // slots that have no path
	under      int           // commands not over
	turn       int           // of round robin
	losses     int           // paths that were lost
	spare      []wire.Completion
	ready      []Done
}

// lanePath is this lane's queue of a path.
type lanePath struct {
	ctrl  *Controller
	q     fabric.Queue // nil: down
	rank  int          // from usable
	under int
	avoid time.Time // until
}

type laneCommand struct {
	cmd   wire.Command
	buf   []byte
	busy  bool
	path  int // -1: waiting for one
	tries int
}

// Lane opens the next lane; there are Options.Queues of them.
func (d *Device) Lane() (*Lane, error) {
	d.mu.Lock()
	index, nsid := d.lanes, d.ns.ID
	d.lanes++
	d.mu.Unlock()
	if index >= d.o.Queues {
		return nil, errors.New("all lanes are open")
	}
	depth := d.Depth()
	return &Lane{
		d: d, nsid: nsid, index: index, generation: ^uint64(0), paths: make([]lanePath, len(d.paths)),
		commands: make([]laneCommand, depth), spare: make([]wire.Completion, depth),
		waiting: make([]int, 0, depth), ready: make([]Done, 0, depth),
	}, nil
}

// Depth is how many commands may be outstanding.
func (l *Lane) Depth() int { return len(l.commands) }

// Losses counts how often this lane has lost a path.
func (l *Lane) Losses() int { return l.losses }

// Submit hands over a read, a write or a flush (by opcode) under a slot that is
// free. The buffer belongs to the lane until Wait has returned the slot.
func (l *Lane) Submit(slot int, op uint8, lba uint64, blocks int, buf []byte) error {
	if slot < 0 || slot >= len(l.commands) || l.commands[slot].busy {
		return fabric.ErrTag
	}
	c := &l.commands[slot]
	*c = laneCommand{cmd: wire.Command{Opcode: op, NSID: l.nsid}, buf: buf, busy: true, path: -1}
	if len(buf) > 0 {
		c.cmd.SetBlocks(lba, blocks)
	}
	l.under++
	l.refresh()
	l.send(slot)
	return nil
}

// refresh takes over what has become of the paths.
func (l *Lane) refresh() {
	generation := l.d.generation.Load()
	if generation == l.generation {
		return
	}
	l.generation = generation
	for i, p := range l.d.paths {
		p.mu.Lock()
		ctrl, state := p.ctrl, p.state
		p.mu.Unlock()
		lp := &l.paths[i]
		if ctrl != lp.ctrl {
			l.down(i)
			lp.ctrl, lp.q = ctrl, nil
			if ctrl != nil {
				lp.q = ctrl.Queues()[l.index].q
			}
		}
		lp.rank, lp.avoid = usable(state), time.Time{}
	}
}

// down gives up a path; what was outstanding on it waits for another.
func (l *Lane) down(i int) {
	lp := &l.paths[i]
	if lp.q == nil {
		return
	}
	_ = lp.q.Close() // from now on it touches no buffer
	for slot := range l.commands {
		if c := &l.commands[slot]; c.busy && c.path == i {
			c.path = -1
			l.waiting = append(l.waiting, slot)
		}
	}
	lp.q, lp.under = nil, 0
	l.losses++
}

// broken is what a queue's error leads to.
func (l *Lane) broken(i int, err error) {
	ctrl := l.paths[i].ctrl
	l.down(i)
	ctrl.fail(err) // the path is connected anew
}

// choose is the best path, -1 if there is none now.
func (l *Lane) choose() int {
	best, now := -1, time.Time{}
	for k := range l.paths {
		i := (l.turn + k) % len(l.paths)
		lp := &l.paths[i]
		if lp.q == nil || lp.rank == 0 {
			continue
		}
		if !lp.avoid.IsZero() {
			if now.IsZero() {
				now = time.Now()
			}
			if now.Before(lp.avoid) {
				continue
			}
		}
		if best < 0 || lp.rank < l.paths[best].rank ||
			lp.rank == l.paths[best].rank && l.d.o.Policy == QueueDepth && lp.under < l.paths[best].under {
			best = i
		}
	}
	if best >= 0 {
		l.turn = (best + 1) % len(l.paths)
	}
	return best
}

// send gives a command to a path, or lets it wait for one.
func (l *Lane) send(slot int) {
	c := &l.commands[slot]
	for {
		i := l.choose()
		if i < 0 {
			l.waiting = append(l.waiting, slot)
			return
		}
		if err := l.paths[i].q.Submit(uint16(slot), &c.cmd, fabric.Buffer{Bytes: c.buf}); err != nil {
			l.broken(i, err)
			continue
		}
		c.path = i
		l.paths[i].under++
		return
	}
}

// Wait fills done with commands that are over; where block is false it may
// find none. With nothing outstanding it returns fabric.ErrIdle. Another error
// ends the lane: there is no path and none is expected, or the context has ended,
// which ends the waiting for a path and nothing else.
func (l *Lane) Wait(ctx context.Context, done []Done, block bool) (int, error) {
	for spins := 0; ; spins++ {
		if len(l.ready) > 0 {
			n := copy(done, l.ready)
			l.ready = l.ready[:copy(l.ready, l.ready[n:])]
			return n, nil
		}
		if l.under == 0 {
			return 0, fabric.ErrIdle
		}
		l.refresh()
		if len(l.waiting) > 0 {
			l.resend()
		}
		active, only := 0, -1
		for i := range l.paths {
			if l.paths[i].under > 0 {
				active, only = active+1, i
			}
		}
		switch {
		case active == 0:
			if err := l.d.await(ctx, l.generation, avoidTime); err != nil {
				return 0, err
			}
		case active == 1 && block && len(l.waiting) == 0:
			l.collect(only, true)
		default:
			for i := range l.paths {
				if l.paths[i].under > 0 {
					l.collect(i, false)
				}
			}
			if block && len(l.ready) == 0 && !l.d.o.Spin {
				pause(spins)
			}
		}
		if !block && len(l.ready) == 0 {
			return 0, nil
		}
	}
}

// pause lets others run between looks that find nothing.
func pause(spins int) {
	if spins < pollSpins {
		runtime.Gosched()
		return
	}
	time.Sleep(pollPause)
}

// resend tries the commands again that have no path.
func (l *Lane) resend() {
	for n := len(l.waiting); n > 0; n-- {
		slot := l.waiting[0]
		l.waiting = l.waiting[:copy(l.waiting, l.waiting[1:])]
		l.send(slot)
		if l.commands[slot].path < 0 {
			return // no path for this one, so for none
		}
		l.commands[slot].tries++
		l.d.mu.Lock()
		l.d.stats.Retried++
		l.d.mu.Unlock()
	}
}

// collect takes what has completed on a path.
func (l *Lane) collect(i int, block bool) {
	lp := &l.paths[i]
	n, err := 0, error(nil)
	if block {
		n, err = lp.q.Wait(l.spare)
	} else {
		n, err = lp.q.Poll(l.spare)
	}
	for k := range l.spare[:n] {
		l.completed(i, &l.spare[k])
	}
	if err != nil {
		l.broken(i, err)
	}
}

// completed judges a completion.
func (l *Lane) completed(i int, done *wire.Completion) {
	slot := int(done.CID)
	c := &l.commands[slot]
	l.paths[i].under--
	switch judge(done.Status, c.tries) {
	case elsewhere:
		l.paths[i].avoid = time.Now().Add(avoidTime)
		l.d.paths[i].recheck()
		fallthrough
	case again:
		c.path = -1
		l.waiting = append(l.waiting, slot)
		return
	}
	c.busy, c.buf = false, nil
	l.under--
	l.ready = append(l.ready, Done{slot, done.Status.Err()})
}

// verdict is what to do after a completion.
type verdict uint8

const (
	over verdict = iota
	again
	elsewhere
)

// judge tells statuses of the path, which another path may not have, from
// those that pass and from those of the command itself.
func judge(st wire.Status, tries int) verdict {
	switch st.Code() {
	case wire.Success:
		return over
	case wire.ANAInaccessible, wire.ANATransition, wire.ANAPersistentLoss, wire.InternalPathError, wire.ControllerPath, wire.HostPath, wire.AbortedSQDeletion:
		return elsewhere
	case wire.TransientTransport, wire.CommandInterrupted, wire.NSNotReady, wire.DataTransferError:
		if !st.DNR() && tries < maxTries {
			return again
		}
	}
	return over
}
