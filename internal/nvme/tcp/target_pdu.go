package tcp

import (
	"math"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// check judges the common header of a PDU from the host.
func (c *targetConn) check(h *wire.PDUHeader) error {
	switch h.Type {
	case wire.PDUICReq:
		if c.ready {
			return breach(wire.FatalSequence, atType, "second ICReq")
		}
		return checkSizes(h, wire.ICSize, digests{})
	case wire.PDUH2CTermReq:
		return checkSizes(h, wire.TermReqMax, digests{})
	case wire.PDUCapsuleCmd, wire.PDUH2CData:
		if !c.ready {
			return breach(wire.FatalSequence, atType, "%v before ICReq", h.Type)
		}
	default:
		return breach(wire.FatalHeaderField, atType, "%v from a host", h.Type)
	}
	most := wire.DataHeaderSize + c.l.maxData
	if h.Type == wire.PDUCapsuleCmd {
		if c.most > 0 && c.begun >= c.most {
			c.full = true
			return errFull
		}
		unsent, ok := c.out.room()
		if c.unsent, c.full = unsent, !ok; c.full {
			return errFull
		}
		c.mu.Lock()
		most = wire.CapsuleCmdSize + c.inCapsule
		c.mu.Unlock()
	}
	if err := checkSizes(h, most, c.rx.digests); err != nil {
		return err
	}
	if want := h.Type.HeaderLen() + c.rx.digests.behind(h.Type); int64(h.PLen) > int64(want) && int(h.PDO) != want {
		return breach(wire.FatalHeaderField, atPDO, "%v with data at %d, want %d", h.Type, h.PDO, want)
	}
	return nil
}

// header takes the header of a PDU and says where its data goes.
func (c *targetConn) header(h *wire.PDUHeader, raw []byte) ([]byte, error) {
	switch h.Type {
	case wire.PDUICReq:
		return nil, c.introduce(raw)
	case wire.PDUCapsuleCmd:
		return c.command(h, raw)
	case wire.PDUH2CData:
		return c.hostData(h, raw)
	}
	var p wire.TermReq
	if err := p.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	return nil, &errTerminated{p.Reason, p.Info}
}

// introduce answers ICReq.
func (c *targetConn) introduce(raw []byte) error {
	var req wire.ICReq
	if err := req.UnmarshalBinary(raw); err != nil {
		return err
	}
	switch {
	case req.PFV != 0:
		return breach(wire.FatalUnsupported, 8, "ICReq with PDU format version %d", req.PFV)
	case req.HPDA > 31:
		return breach(wire.FatalHeaderField, 10, "ICReq with data alignment %d", req.HPDA)
	}
	c.ready = true
	c.hostAlign = (int(req.HPDA) + 1) * 4
	c.places(1)
	resp := wire.NewICResp()
	resp.MaxH2CData = uint32(c.l.maxData)
	c.rx.digests = digestsOf(req.Digest)
	resp.Digest = c.rx.digests.field()
	b := c.out.lock()
	b.small, _ = resp.AppendBinary(b.small)
	b.mark()
	c.out.unlock()
	return nil
}

// command begins a command.
func (c *targetConn) command(h *wire.PDUHeader, raw []byte) ([]byte, error) {
	var p wire.CapsuleCmd
	if err := p.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	s, err := c.take()
	if err != nil {
		return nil, err
	}
	s.x.Command = p.Command
	c.begun += max(1, min(s.x.Length(), c.l.params.MaxTransfer)/turnUnit)
	inside := c.rx.digests.dataLen(h)
	var st wire.Status
	s.pull, st = fabric.Begin(c.handler, &s.x, checkData(&p.Command, inside), c.l.params.MaxTransfer)
	if st != wire.Success {
		c.lose(s, st)
		return nil, nil
	}
	c.owe(s, inside)
	if s.pull == 0 && inside == 0 {
		c.execute(s)
		return nil, nil
	}
	if inside > 0 {
		if s.pull > 0 {
			s.data = c.l.pool.Get(s.pull)
		}
		c.setState(s, slotCapsule)
		c.landing = s
		return s.data.Bytes, nil
	}
	c.fetch(s)
	return nil, nil
}

// owe reckons with the memory that a command takes without more of the host: for
// its answer, or for data that has come with it.
func (c *targetConn) owe(s *slot, inside int) {
	switch {
	case s.x.Command.Direction() == wire.ToHost && s.x.Length() > 0:
		s.owed = fabric.PoolSize(min(s.x.Length(), c.l.params.MaxTransfer))
	case inside > 0 && s.pull > 0:
		s.owed = fabric.PoolSize(s.pull)
	}
	c.out.owed.Add(int64(s.owed))
}

// fetch asks for the data of a command, or parks it until there is room.
func (c *targetConn) fetch(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.parked) > 0 || !c.incoming.Room() {
		s.state = slotParked
		c.parked = append(c.parked, uint16(s.x.Slot()))
		return
	}
	c.ask(s)
}

// unpark asks for the data of commands that have waited for room.
func (c *targetConn) unpark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for ; n < len(c.parked) && !c.dead && c.incoming.Room(); n++ {
		c.ask(&c.slots[c.parked[n]])
	}
	c.parked = c.parked[:copy(c.parked, c.parked[n:])]
}

// ask sends an R2T. The caller holds mu.
func (c *targetConn) ask(s *slot) {
	s.state, s.asked = slotR2T, fabric.PoolSize(s.pull)
	c.incoming.Set(c.incoming.Used() + s.asked)
	r2t := wire.NewR2T(s.x.Command.CID, uint16(s.x.Slot()), 0, s.pull)
	c.rx.digests.dress(&r2t.PDUHeader, false)
	b := c.out.lock()
	from := len(b.small)
	b.small, _ = r2t.AppendBinary(b.small)
	b.seal(from, c.rx.digests)
	c.out.unlock()
}

// checkData judges how a command describes its data; inside is how much of it
// came in the capsule.
func checkData(cmd *wire.Command, inside int) wire.Status {
	if st := cmd.Validate(); st != wire.Success {
		return st
	}
	if cmd.SGL.Length == 0 {
		if inside > 0 {
			return wire.SGLInvalidLength.WithDNR()
		}
		return wire.Success
	}
	switch cmd.SGL.Type {
	case wire.SGLInCapsule:
		switch {
		case cmd.SGL.Address != 0:
			return wire.SGLInvalidOffset.WithDNR()
		case int64(cmd.SGL.Length) != int64(inside):
			return wire.SGLInvalidLength.WithDNR()
		}
	case wire.SGLTransport:
		if inside > 0 {
			return wire.SGLInvalidLength.WithDNR()
		}
	default:
		return wire.SGLInvalidType.WithDNR()
	}
	return wire.Success
}

// places makes room for n commands at once. None may be outstanding.
func (c *targetConn) places(n int) {
	c.slots = make([]slot, n)
	c.free = make([]uint16, n)
	for i := range c.slots {
		c.slots[i].x = fabric.NewExchange(c, i)
		c.free[i] = uint16(n - 1 - i)
	}
}

// take finds a place for a command.
func (c *targetConn) take() (*slot, error) {
	unsent := c.unsent
	if c.polled != nil && c.most == 0 && unsent >= heldMostPoll {
		_, _ = c.out.push(math.MaxInt) // its error ends the connection at the end of the turn
		unsent, _ = c.out.room()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A host has room for so many commands until it has their answers. One that
	// goes on without reading them would fill this side's memory.
	if most := c.limit * (c.l.params.MaxTransfer + answerMost); unsent > most {
		return nil, breach(wire.FatalLimitExceeded, atType, "%d bytes of answers are not read, %d commands have at most %d", unsent, c.limit, most)
	}
	if c.connected && len(c.slots) < c.limit {
		c.places(c.limit) // Connect, the only command so far, has completed
	}
	if len(c.slots)-len(c.free) >= c.limit {
		return nil, breach(wire.FatalSequence, atType, "more than %d commands outstanding", c.limit)
	}
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return &c.slots[i], nil
}

func (c *targetConn) setState(s *slot, state slotState) {
	c.mu.Lock()
	s.state = state
	c.mu.Unlock()
}

// execute hands a command over that has its data.
func (c *targetConn) execute(s *slot) {
	c.setState(s, slotExecuting)
	if s.pull > 0 {
		s.x.Data = s.data.Bytes
	}
	c.handler.Execute(&s.x)
}

// lose ends a command that is not executed.
func (c *targetConn) lose(s *slot, st wire.Status) {
	c.setState(s, slotExecuting)
	fabric.Lose(c.handler, &s.x, st)
}

// hostData takes the header of an H2CData: it must continue where the last one
// of the same R2T has ended.
func (c *targetConn) hostData(h *wire.PDUHeader, raw []byte) ([]byte, error) {
	var p wire.DataPDU
	if err := p.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	if int(p.TTag) >= len(c.slots) || c.slots[p.TTag].stateOf(c) != slotR2T {
		return nil, breach(wire.FatalHeaderField, atTTag, "H2CData for transfer %d, which was not asked for", p.TTag)
	}
	s := &c.slots[p.TTag]
	n := int64(p.Length)
	if c.unsized(h, &p, s) {
		h.PLen += p.Length
	}
	switch {
	case p.CID != s.x.Command.CID:
		return nil, breach(wire.FatalHeaderField, atCID, "H2CData of command %d for transfer %d of command %d", p.CID, p.TTag, s.x.Command.CID)
	case n == 0 || n != int64(c.rx.digests.dataLen(h)):
		return nil, breach(wire.FatalHeaderField, atLen, "H2CData of %d bytes in a PDU of %d", n, p.PLen)
	case int64(p.Offset) != int64(s.got):
		return nil, breach(wire.FatalOutOfRange, atOff, "H2CData at offset %d, want %d", p.Offset, s.got)
	case n > int64(s.pull-s.got):
		return nil, breach(wire.FatalOutOfRange, atLen, "H2CData of %d bytes, want at most %d", n, s.pull-s.got)
	case p.Flags&wire.PDULast != 0 && n != int64(s.pull-s.got):
		return nil, breach(wire.FatalOutOfRange, atFlags, "last H2CData ends at %d of %d", s.got+int(n), s.pull)
	}
	c.landing = s
	if s.got == 0 { // not before: memory that was just used is still in the cache
		s.data = c.l.pool.Get(s.pull)
	}
	dst := s.data.Bytes[s.got : s.got+int(n)]
	s.got += int(n)
	return dst, nil
}

// unsized reports whether an H2CData says that it ends with its header, and yet is
// all that was asked for: the initiator of Windows Server 2025 sends what its Connect
// brings so. What follows is exactly that data, as there are no digests.
func (c *targetConn) unsized(h *wire.PDUHeader, p *wire.DataPDU, s *slot) bool {
	return h.PLen == uint32(h.HLen) && c.rx.digests == digests{} && (h.PDO == 0 || h.PDO == h.HLen) &&
		p.CID == s.x.Command.CID && p.Offset == 0 && s.got == 0 && int64(p.Length) == int64(s.pull)
}

func (s *slot) stateOf(c *targetConn) slotState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.state
}

// payload goes on with the command whose data has arrived. Data that is not
// what its digest says fails the command, not the connection.
func (c *targetConn) payload(intact bool) error {
	s := c.landing
	c.landing = nil
	if s == nil {
		return nil
	}
	s.torn = s.torn || !intact
	if s.state != slotCapsule && s.got < s.pull {
		return nil
	}
	if s.torn {
		c.lose(s, wire.TransientTransport)
		return nil
	}
	c.execute(s)
	return nil
}
