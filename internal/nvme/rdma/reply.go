package rdma

import (
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/wire"
)

// An answer is what remains of a command whose slot is free again.
type answer struct {
	cqe    wire.Completion
	out    *chunk // data before it, or nil
	bytes  int
	remote uint64 // where the data goes
	key    uint32
	taken  bool // the key is not to be used any more
	slot   int  // that may be received into now
}

// Alloc lends memory for data towards the host. Where none can be registered it
// is plain memory, and Push tries again.
func (c *conn) Alloc(_ *fabric.Exchange, n int) fabric.Buffer {
	out, err := c.chunk(n)
	if err != nil {
		return fabric.Buffer{Bytes: make([]byte, n)}
	}
	return out.buffer(n)
}

// Push keeps the data until Complete, which sends it together with the
// response. What is not the pool's is copied, and released at once.
func (c *conn) Push(x *fabric.Exchange, buf fabric.Buffer) {
	if len(buf.Bytes) == 0 {
		buf.Release()
		return
	}
	if !c.keep(x, buf) {
		buf.Release()
	}
}

// keep reports whether it has taken the buffer over.
func (c *conn) keep(x *fabric.Exchange, buf fabric.Buffer) bool {
	s := &c.slots[x.Slot()]
	c.mu.Lock()
	defer c.mu.Unlock()
	fits := s.pushed+len(buf.Bytes) <= x.Length() && x.Command.Direction() == wire.ToHost
	if c.dead || !fits || s.overflow || s.broken {
		s.overflow = s.overflow || !fits
		return false
	}
	if own, ok := buf.Owner.(*chunk); ok && own.home == c.pool && s.out == nil && &own.bytes[0] == &buf.Bytes[0] {
		s.out, s.pushed = own, len(buf.Bytes)
		return true
	}
	if s.out == nil || len(s.out.bytes) < s.pushed+len(buf.Bytes) {
		out, err := c.chunk(x.Length())
		if err != nil {
			s.broken = true
			return false
		}
		if s.out != nil {
			copy(out.bytes, s.out.bytes[:s.pushed])
			s.dropOut()
		}
		s.out = out
	}
	copy(s.out.bytes[s.pushed:], buf.Bytes)
	s.pushed += len(buf.Bytes)
	return false
}

// Settle has nothing to do: Push releases what is shared.
func (c *conn) Settle(*fabric.Exchange) {}

// Complete answers a command and frees its slot.
func (c *conn) Complete(x *fabric.Exchange, result uint64, st wire.Status) {
	for _, i := range c.complete(x, result, st) {
		fabric.Lose(c.handler, &c.slots[i].x, wire.InternalError)
	}
}

// Drop frees the slot of a command that is not answered.
func (c *conn) Drop(x *fabric.Exchange) {
	for _, i := range c.drop(x) {
		fabric.Lose(c.handler, &c.slots[i].x, wire.InternalError)
	}
}

// drop returns the commands that have waited for it in vain.
func (c *conn) drop(x *fabric.Exchange) (failed []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.slots[x.Slot()]
	if s.state != slotExecuting {
		return nil
	}
	if failed = c.vacate(s); !c.dead {
		c.receive(x.Slot())
		c.postNow()
	}
	return failed
}

// vacate frees a slot. It returns the commands that have waited for it in vain.
// The caller holds mu.
func (c *conn) vacate(s *slot) (failed []int) {
	if c.sqHead++; c.sqHead >= c.sqEntries {
		c.sqHead = 0
	}
	s.dropOut()
	s.dropIn()
	asked := s.asked
	*s = slot{x: fabric.NewExchange(c, s.x.Slot())}
	if asked > 0 && !c.dead {
		c.incoming.Set(c.incoming.Used() - asked)
		failed = c.unpark()
	}
	return failed
}

// postNow posts unless the end of the batch does. The caller holds mu.
func (c *conn) postNow() {
	if c.later {
		return
	}
	if err := c.post(); err != nil && c.fault == nil {
		c.fault = err
		c.home.hub.Wake()
	}
}

// complete returns the commands that have waited for it in vain.
func (c *conn) complete(x *fabric.Exchange, result uint64, st wire.Status) (failed []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.slots[x.Slot()]
	if s.state != slotExecuting {
		return nil
	}
	cmd := x.Command
	st = s.judge(&cmd, st)
	if st == wire.Success && cmd.Opcode == wire.OpFabrics && cmd.FabricsType() == wire.FabricsConnect {
		st = c.connect(cmd.Connect())
	}
	a := answer{
		cqe:  wire.Completion{Result: result, SQHead: wire.SQHeadNoFlow, SQID: c.qid, CID: cmd.CID, Status: st},
		slot: x.Slot(), remote: cmd.SGL.Address, key: cmd.SGL.Key,
		taken: cmd.SGL.Type == wire.SGLKeyedInvalidate,
	}
	if st.Code() == wire.Success {
		a.out, a.bytes, s.out = s.out, s.pushed, nil
	}
	failed = c.vacate(s)
	if c.dead {
		release(&a.out)
		return nil
	}
	if !c.noFlow {
		a.cqe.SQHead = c.sqHead
	}
	if len(c.free) == 0 {
		c.waiting = append(c.waiting, a)
	} else {
		c.answer(a)
	}
	c.postNow()
	return failed
}

// judge is the status of a command whose handler says st.
func (s *slot) judge(cmd *wire.Command, st wire.Status) wire.Status {
	switch {
	case st.Code() != wire.Success:
	case s.overflow:
		return wire.SGLInvalidLength.WithDNR()
	case s.broken, cmd.Direction() == wire.ToHost && s.pushed < int(cmd.SGL.Length):
		return wire.InternalError
	}
	return st
}

// answer queues data and response, and the slot's receive before them. A reply
// is free. The caller holds mu.
func (c *conn) answer(a answer) {
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	c.receive(a.slot)
	c.under = append(c.under, i)
	tells := verbs.Signaled
	if c.quiet < c.lazy && c.held+a.bytes <= lazyBytes && len(c.free) > 0 {
		tells = 0
		c.quiet, c.held = c.quiet+1, c.held+a.bytes
	} else {
		c.quiet, c.held = 0, 0
	}
	if a.out != nil {
		c.replies[i] = a.out
		c.sends = append(c.sends, verbs.Work{ID: c.id | workWrite | uint64(i), Op: verbs.OpWrite, Flags: c.writeFlags, Local: a.out.piece(a.bytes), Remote: a.remote, Key: a.key})
	}
	at := int(i) * wire.CompletionSize
	_, _ = a.cqe.AppendBinary(c.answers[at:at:cap(c.answers)])
	w := verbs.Work{
		ID: c.id | workReply | uint64(i), Op: verbs.OpSend, Flags: tells | verbs.Inline,
		Local: verbs.Piece{Addr: c.answerMem.Addr + uint64(at), Len: wire.CompletionSize, Key: c.answerMem.Local},
	}
	if a.taken {
		w.Op, w.Key = verbs.OpSendInvalidate, a.key
	}
	c.sends = append(c.sends, w)
}

// replied frees what a reply has used that is done, and those before it:
// they are done in the order in which they were sent.
func (c *conn) replied(last uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, i := range c.under {
		release(&c.replies[i])
		c.free = append(c.free, i)
		if i == last {
			c.under = c.under[:copy(c.under, c.under[n+1:])]
			break
		}
	}
	n := 0
	for ; n < len(c.waiting) && len(c.free) > 0; n++ {
		c.answer(c.waiting[n])
	}
	c.waiting = c.waiting[:copy(c.waiting, c.waiting[n:])]
}

// connect takes over what a Connect that succeeded has agreed. The caller
// holds mu.
func (c *conn) connect(v wire.ConnectCommand) wire.Status {
	if c.connected {
		return wire.Success
	}
	if err := c.grow(); err != nil {
		c.tell(err)
		return wire.InternalError // another time there may be memory
	}
	c.connected = true
	c.late.Stop()
	c.l.waiting.Leave(c)
	c.qid = v.QID
	c.noFlow = v.NoFlow()
	c.sqEntries = v.SQSize + 1
	return wire.Success
}
