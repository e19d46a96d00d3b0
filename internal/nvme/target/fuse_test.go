package target

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// everyCarrier are the carriers, and RDMA in memory, which must leave none of it.
func everyCarrier(t *testing.T, run func(*testing.T, fabric.Transport)) {
	carriers(t, run)
	t.Run("rdma", func(t *testing.T) {
		f := new(verbstest.Fabric)
		t.Cleanup(func() {
			if n, k := f.Registered(), f.Links(); n != 0 || k != 0 {
				t.Errorf("%d regions of memory and %d connections are left", n, k)
			}
		})
		run(t, &rdma.Transport{Verbs: f})
	})
}

// A sent command is one of a case, and what is to come back.
type sent struct {
	cmd  wire.Command
	data []byte
	want wire.Status
}

// fused is a command with FUSE.
func fused(fuse, op uint8, nsid uint32, lba uint64, n int) wire.Command {
	c := blocks(op, nsid, lba, n)
	c.Flags |= fuse
	return c
}

// conversation sends commands back to back and compares what comes back.
func (r *rig) conversation(name string, q fabric.Queue, cmds []sent) {
	r.Helper()
	for i := range cmds {
		if err := q.Submit(uint16(i), &cmds[i].cmd, fabric.Buffer{Bytes: cmds[i].data}); err != nil {
			r.Fatalf("%s: %v", name, err)
		}
	}
	var done [16]wire.Completion
	for left := len(cmds); left > 0; {
		n, err := q.Wait(done[:])
		if err != nil {
			r.Fatalf("%s: %d answers are missing: %v", name, left, err)
		}
		for _, c := range done[:n] {
			if want := cmds[c.CID].want; c.Status != want {
				r.Errorf("%s: command %d: %v, want %v", name, c.CID, c.Status, want)
			}
		}
		left -= n
	}
}

// TestFused is the conversations that fused commands lead to, with data in capsules and
// with data that is fetched.
func TestFused(t *testing.T) {
	everyCarrier(t, func(t *testing.T, carrier fabric.Transport) {
		c := config(t)
		c.Subsystems[0].Namespaces[0].Limits = Limits{IOPS: 1 << 20}
		readOnly, err := backend.NewMemory(1<<20, 512)
		if err != nil {
			t.Fatal(err)
		}
		c.Subsystems[0].Namespaces = append(c.Subsystems[0].Namespaces, Namespace{ID: 9, Backend: readOnly, ReadOnly: true})
		r := newRig(t, carrier, c)
		admin, id := r.admin(subNQN, hostNQN, 0)
		for qid, inside := range []int{InCapsule, 0} {
			q := r.dialWith(uint16(qid+1), inside)
			r.want(wire.Success, q, connectCommand(uint16(qid+1), 0), connectData(subNQN, hostNQN, id))
			for nsid, size := range map[uint32]int{1: 512, 3: 4096} {
				t.Run(fmt.Sprintf("%d in capsules, blocks of %d", inside, size), func(*testing.T) {
					r.fusedCases(q, nsid, size)
				})
			}
		}
		f := fused(wire.FuseFirst, wire.OpCompare, 1, 0, 1)
		r.want(wire.InvalidField.WithDNR(), admin, f, make([]byte, 512))
	})
}

func (r *rig) fusedCases(q fabric.Queue, nsid uint32, size int) {
	const lba = 5
	empty, old, now, other := make([]byte, size), bytes.Repeat([]byte{1}, size), bytes.Repeat([]byte{2}, size), bytes.Repeat([]byte{3}, size)
	first := func(data []byte, st wire.Status) sent {
		return sent{fused(wire.FuseFirst, wire.OpCompare, nsid, lba, len(data)/size), data, st}
	}
	second := func(data []byte, st wire.Status) sent {
		return sent{fused(wire.FuseSecond, wire.OpWrite, nsid, lba, len(data)/size), data, st}
	}
	with := func(s sent, change func(*wire.Command)) sent {
		change(&s.cmd)
		return s
	}
	flush := sent{wire.Command{Opcode: wire.OpFlush, NSID: nsid}, nil, wire.Success}
	at := func(lba uint64) func(*wire.Command) {
		return func(c *wire.Command) { _, n := c.Blocks(); c.SetBlocks(lba, n) }
	}
	in := func(nsid uint32) func(*wire.Command) { return func(c *wire.Command) { c.NSID = nsid } }
	const failed, missing = wire.AbortedFailedFuse, wire.AbortedMissingFuse
	field := wire.InvalidField.WithDNR()
	for name, c := range map[string]struct {
		cmds []sent
		left []byte // in the block
	}{
		"same":                   {[]sent{first(old, wire.Success), second(now, wire.Success)}, now},
		"to the medium":          {[]sent{first(old, wire.Success), with(second(now, wire.Success), func(c *wire.Command) { c.CDW12 |= fua })}, now},
		"differs":                {[]sent{first(other, wire.CompareFailed.WithDNR()), second(now, failed)}, old},
		"two pairs":              {[]sent{first(old, wire.Success), second(now, wire.Success), with(first(empty, wire.Success), at(lba+2)), with(second(empty, wire.Success), at(lba+2))}, now},
		"no second":              {[]sent{first(old, missing), flush}, old},
		"no first":               {[]sent{second(now, missing), flush}, old},
		"not adjacent":           {[]sent{first(old, missing), flush, second(now, missing)}, old},
		"two first":              {[]sent{first(other, missing), first(old, wire.Success), second(now, wire.Success)}, now},
		"two second":             {[]sent{first(old, wire.Success), second(now, wire.Success), second(other, missing)}, now},
		"another block":          {[]sent{first(old, field), with(second(now, field), at(lba+1))}, old},
		"another namespace":      {[]sent{first(old, failed), with(second(now, wire.InvalidNamespace.WithDNR()), in(7))}, old},
		"a read-only one":        {[]sent{with(first(make([]byte, 512), failed), in(9)), with(second(make([]byte, 512), wire.NSWriteProtected.WithDNR()), in(9))}, old},
		"two blocks":             {[]sent{first(append(old, old...), wire.AtomicUnitExceeded.WithDNR()), second(append(now, now...), failed)}, old},
		"two blocks to write":    {[]sent{first(old, failed), second(append(now, now...), wire.AtomicUnitExceeded.WithDNR())}, old},
		"first beyond the end":   {[]sent{with(first(old, wire.LBAOutOfRange.WithDNR()), at(1<<40)), second(now, failed)}, old},
		"second beyond the end":  {[]sent{first(old, failed), with(second(now, wire.LBAOutOfRange.WithDNR()), at(1<<40))}, old},
		"first is no Compare":    {[]sent{with(first(old, field), func(c *wire.Command) { c.Opcode = wire.OpWrite }), second(now, failed)}, old},
		"second is no Write":     {[]sent{first(old, failed), with(second(now, field), func(c *wire.Command) { c.Opcode = wire.OpCompare })}, old},
		"reserved":               {[]sent{with(first(old, field), func(c *wire.Command) { c.Flags |= 3 }), flush}, old},
		"reserved after a first": {[]sent{first(old, missing), with(second(now, field), func(c *wire.Command) { c.Flags |= 3 })}, old},
		"unknown after a first":  {[]sent{first(old, missing), {wire.Command{Opcode: 0x80}, nil, wire.InvalidOpcode.WithDNR()}}, old},
		"first too short":        {[]sent{{fused(wire.FuseFirst, wire.OpCompare, nsid, lba, 1), old[:size/2], wire.SGLInvalidLength.WithDNR()}, second(now, failed)}, old},
		"second too short":       {[]sent{first(old, failed), {fused(wire.FuseSecond, wire.OpWrite, nsid, lba, 1), now[:size/2], wire.SGLInvalidLength.WithDNR()}}, old},
	} {
		if c.cmds[0].cmd.NSID == 9 && size != 512 {
			continue
		}
		r.want(wire.Success, q, blocks(wire.OpWrite, nsid, lba, 1), old)
		r.conversation(name, q, c.cmds)
		got := make([]byte, size)
		r.want(wire.Success, q, blocks(wire.OpRead, nsid, lba, 1), got)
		if !bytes.Equal(got, c.left) {
			r.Errorf("%s: the block holds %d, want %d", name, got[0], c.left[0])
		}
	}
}

// What goes wrong at the blocks is told of the half that it has gone wrong in.
func TestFusedBackendErrors(t *testing.T) {
	for name, c := range map[string]struct {
		fails           broken
		compared, wrote wire.Status
	}{
		"reading": {broken{err: errors.New("worn")}, wire.UnrecoveredRead.WithDNR(), wire.AbortedFailedFuse},
		"writing": {broken{err: errors.New("worn"), compares: true}, wire.Success, wire.WriteFault.WithDNR()},
		"full":    {broken{err: syscall.ENOSPC, compares: true}, wire.Success, wire.CapacityExceeded.WithDNR()},
		"gone":    {broken{err: backend.ErrClosed}, wire.InvalidNamespace.WithDNR(), wire.AbortedFailedFuse},
	} {
		t.Run(name, func(t *testing.T) {
			r := brokenRig(t, &c.fails)
			_, q := r.both()
			data := make([]byte, 512)
			r.conversation(name, q, []sent{
				{fused(wire.FuseFirst, wire.OpCompare, 1, 0, 1), data, c.compared},
				{fused(wire.FuseSecond, wire.OpWrite, 1, 0, 1), data, c.wrote},
			})
			if s := r.target.Stats()[0].Namespaces[0]; s.Errors != 1 || s.Writes != 0 {
				t.Errorf("%+v, want one error and no write", s)
			}
			c.fails.err = nil // to close it
		})
	}
}

// Hosts that count in one block by Compare and Write, over controllers and queues of
// their own, lose no count, whatever the backend, the mode and the limits are. Others
// write next to it meanwhile.
func TestFusedRace(t *testing.T) {
	const hosts, each = 4, 12
	for name, change := range map[string]func(*Namespace){
		"alone":  func(*Namespace) {},
		"limits": func(n *Namespace) { n.Limits = Limits{IOPS: 20_000, Bandwidth: 64 << 20} },
	} {
		t.Run(name, func(t *testing.T) {
			everyCarrier(t, func(t *testing.T, carrier fabric.Transport) {
				c := config(t)
				for i := range c.Subsystems[0].Namespaces {
					change(&c.Subsystems[0].Namespaces[i])
				}
				r := newRig(t, carrier, c)
				for _, nsid := range []uint32{1, 3} {
					var racers sync.WaitGroup
					for h := range hosts {
						racers.Go(func() { r.count(nsid, h, each) })
					}
					racers.Wait()
					if got := r.counted(nsid); got != hosts*each {
						t.Errorf("namespace %d: %d hosts have counted to %d each, together to %d", nsid, hosts, each, got)
					}
				}
			})
		})
	}
}

// count counts on by so many in block 7 of a namespace.
func (r *rig) count(nsid uint32, host, many int) {
	c, err := r.connect(hostNQN)
	if err != nil {
		r.Error(err)
		return
	}
	defer c.Close()
	q, ns := c.Queues()[0], namespaceOf(c, nsid)
	have, next := make([]byte, ns.BlockSize), make([]byte, ns.BlockSize)
	for range many {
		for {
			if err := errors.Join(q.Read(ns, 7, have), q.Write(ns, 8, have)); err != nil {
				r.Error(err)
				return
			}
			copy(next, have)
			binary.LittleEndian.PutUint64(next, binary.LittleEndian.Uint64(have)+1)
			next[len(next)-1] = byte(host)
			same, err := q.CompareAndWrite(ns, 7, have, next)
			if err != nil {
				r.Error(err)
				return
			}
			if same {
				break
			}
		}
	}
}

// counted is what they have counted to.
func (r *rig) counted(nsid uint32) uint64 {
	c, err := r.connect(hostNQN)
	if err != nil {
		r.Fatal(err)
	}
	defer c.Close()
	ns := namespaceOf(c, nsid)
	have := make([]byte, ns.BlockSize)
	if err := c.Queues()[0].Read(ns, 7, have); err != nil {
		r.Error(err)
	}
	return binary.LittleEndian.Uint64(have)
}

func namespaceOf(c *initiator.Controller, nsid uint32) initiator.Namespace {
	for _, ns := range c.Namespaces() {
		if ns.ID == nsid {
			return ns
		}
	}
	return initiator.Namespace{}
}

// A first half that never gets its second holds nothing: an abort, a reset and the end of
// the connection end it, and the target closes without waiting for it. The memory of all
// carriers is counted by them.
func TestFirstHalfAlone(t *testing.T) {
	everyCarrier(t, func(t *testing.T, carrier fabric.Transport) {
		r := newRig(t, carrier, config(t))
		admin, id := r.admin(subNQN, hostNQN, 0)
		first := fused(wire.FuseFirst, wire.OpCompare, 1, 0, 1)
		data := make([]byte, 512)
		lonely := func(qid uint16) fabric.Queue {
			q := r.io(subNQN, hostNQN, id, qid)
			if err := q.Submit(3, &first, fabric.Buffer{Bytes: data}); err != nil {
				t.Fatal(err)
			}
			if n, err := q.Poll(make([]wire.Completion, 1)); n != 0 || err != nil {
				t.Fatalf("%d completions, %v", n, err)
			}
			return q
		}

		q := lonely(1)
		abort := func(sqid, cid uint32) uint64 {
			return r.want(wire.Success, admin, wire.Command{Opcode: wire.OpAbort, CDW10: cid<<16 | sqid}, nil)
		}
		if abort(1, 4) != 1 || abort(2, 3) != 1 || abort(0, 3) != 1 {
			t.Error("a command was aborted that is not there")
		}
		for abort(1, 3) != 0 { // it may not have come yet
		}
		var done [1]wire.Completion
		if _, err := q.Wait(done[:]); err != nil || done[0].CID != 3 || done[0].Status != wire.AbortRequested {
			t.Errorf("aborted: %+v, %v", done[0], err)
		}
		r.want(wire.AbortedMissingFuse, q, fused(wire.FuseSecond, wire.OpWrite, 1, 0, 1), data)

		if err := lonely(2).Close(); err != nil {
			t.Fatal(err)
		}
		reset := lonely(3)
		r.want(wire.Success, admin, setCC(0), nil)
		r.dead(reset)
		r.want(wire.Success, admin, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
		lonely(4)
	})
}

// TestFusedInAnyOrder has the data of fused commands come, or fail to come, in every
// order that a carrier can bring it in, and compares with what the specification says.
func TestFusedInAnyOrder(t *testing.T) {
	for seed := range uint64(120) {
		fusedInAnyOrder(t, rand.New(rand.NewPCG(seed, 28)))
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

func fusedInAnyOrder(t *testing.T, dice *rand.Rand) {
	tgt := fuzzTarget(t)
	p := &paper{pushed: map[*fabric.Exchange]int{}, done: map[*fabric.Exchange][]wire.Status{}}
	admin, io := tgt.Accept(p), tgt.Accept(p)
	p.command(t, admin, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	p.command(t, admin, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
	p.command(t, io, connectCommand(1, 0), connectData(subNQN, hostNQN, admin.(*queue).ctrl.id))

	type begun struct {
		*fabric.Exchange
		lost bool
	}
	var all []*fabric.Exchange
	var waiting []begun
	lost := map[*fabric.Exchange]bool{}
	kinds := []uint8{wire.FuseFirst, wire.FuseSecond, wire.FuseFirst, wire.FuseSecond, wire.NotFused}
	for range 1 + dice.IntN(8) {
		x := new(fabric.Exchange)
		*x = fabric.NewExchange(p, 0)
		fuse := kinds[dice.IntN(len(kinds))]
		op := map[uint8]uint8{wire.FuseFirst: wire.OpCompare, wire.FuseSecond: wire.OpWrite, wire.NotFused: wire.OpWrite}[fuse]
		x.Command = fused(fuse|wire.FlagsSGL, op, 1, 0, 1)
		x.Command.SGL.Length = 512
		all = append(all, x)
		pull, st := io.Begin(x)
		lost[x] = dice.IntN(8) == 0
		if st != wire.Success {
			fabric.Lose(io, x, st)
			continue
		}
		x.Data = make([]byte, pull) // as it is there
		waiting = append(waiting, begun{x, lost[x]})
		for len(waiting) > 0 && dice.IntN(2) == 0 {
			i := dice.IntN(len(waiting))
			p.comes(io, waiting[i].Exchange, waiting[i].lost)
			waiting = append(waiting[:i], waiting[i+1:]...)
		}
	}
	for _, x := range waiting {
		p.comes(io, x.Exchange, x.lost)
	}
	if err := tgt.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	io.Disconnected(nil)
	admin.Disconnected(nil)
	if err := tgt.Close(); err != nil {
		t.Fatal(err)
	}
	for i, x := range all {
		if len(p.done[x]) != 1 {
			t.Errorf("command %d of %d, FUSE %d: completed %d times", i, len(all), x.Command.Fuse(), len(p.done[x]))
			continue
		}
		if st, want := p.done[x][0], fusedStatus(all, i, lost); !slices.Contains(want, st) {
			t.Errorf("command %d of %d, FUSE %d: %v, want one of %v", i, len(all), x.Command.Fuse(), st, want)
		}
	}
}

// fusedStatus is what the specification says of command i of all that came before the
// connection has ended. What has gone wrong twice is told one way or the other.
func fusedStatus(all []*fabric.Exchange, i int, lost map[*fabric.Exchange]bool) (may []wire.Status) {
	fuse := func(i int) uint8 {
		if i < 0 || i >= len(all) {
			return wire.NotFused
		}
		return all[i].Command.Fuse()
	}
	if lost[all[i]] {
		may = append(may, wire.TransientTransport)
	}
	other := -1
	switch {
	case fuse(i) == wire.FuseFirst && fuse(i+1) == wire.FuseSecond:
		other = i + 1
	case fuse(i) == wire.FuseSecond && fuse(i-1) == wire.FuseFirst:
		other = i - 1
	case fuse(i) == wire.FuseSecond:
		return []wire.Status{wire.AbortedMissingFuse}
	case fuse(i) == wire.FuseFirst && i < len(all)-1:
		return append(may, wire.AbortedMissingFuse)
	case fuse(i) == wire.FuseFirst && len(may) == 0:
		return []wire.Status{wire.AbortedSQDeletion}
	}
	if other >= 0 && lost[all[other]] {
		may = append(may, wire.AbortedFailedFuse)
	}
	if len(may) == 0 {
		may = append(may, wire.Success)
	}
	return may
}

// comes brings the data of a command, or fails to.
func (p *paper) comes(h fabric.Handler, x *fabric.Exchange, lost bool) {
	if lost {
		fabric.Lose(h, x, wire.TransientTransport)
		return
	}
	h.Execute(x)
}

// command is run for a command whose data is all of some.
func (p *paper) command(t *testing.T, h fabric.Handler, c wire.Command, data []byte) {
	t.Helper()
	c.SGL.Length = uint32(len(data))
	raw, _ := c.AppendBinary(nil)
	p.run(t, h, raw, data)
}
