package rdma

import (
	"fmt"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/wire"
)

// completed takes what the hardware has done.
func (c *conn) completed(d *verbs.Done) error {
	i := int(d.ID & workIndex)
	if err := d.Err(); err != nil {
		return c.lost(d, err)
	}
	switch d.ID & workKind {
	case workCommand:
		return c.command(i, d.Bytes)
	case workRead:
		c.execute(&c.slots[i], c.slots[i].in.bytes[:c.slots[i].pull])
		return nil
	case workWrite:
		return nil // the response is still to come
	}
	c.replied(uint32(i))
	return nil
}

// lost is what a work that failed says of the connection. What is only flushed
// has its reason elsewhere.
func (c *conn) lost(d *verbs.Done, err error) error {
	if d.Status == verbs.Flushed {
		return c.home.reason(c.pair, err)
	}
	switch d.ID & workKind {
	case workCommand:
		return fmt.Errorf("receive a command: %w", err)
	case workRead:
		return fmt.Errorf("read the data of command %d: %w", c.slots[d.ID&workIndex].x.Command.CID, err)
	}
	return fmt.Errorf("send data or a response: %w", err)
}

// command begins a command that has arrived in a slot.
func (c *conn) command(i, n int) error {
	if n < wire.CommandSize {
		return fmt.Errorf("command of %d bytes, want at least %d", n, wire.CommandSize)
	}
	s := &c.slots[i]
	in, at := c.capsule(i)
	capsule := in.bytes[at:][:n]
	if err := s.x.Command.UnmarshalBinary(capsule); err != nil {
		return err
	}
	cmd := &s.x.Command
	pull, st := fabric.Begin(c.handler, &s.x, checkData(cmd, n-wire.CommandSize), c.l.params.MaxTransfer)
	if st == wire.Success && pull > 0 && cmd.SGL.Type != wire.SGLInCapsule {
		if st = c.read(i, pull); st == wire.Success {
			return nil
		}
	}
	if st != wire.Success {
		c.setState(s, slotExecuting)
		fabric.Lose(c.handler, &s.x, st)
		return nil
	}
	var data []byte
	if pull > 0 {
		data = capsule[wire.CommandSize+int(cmd.SGL.Address):][:pull]
	}
	c.execute(s, data)
	return nil
}

// checkData judges how a command describes its data; inside is how much came
// with it.
func checkData(cmd *wire.Command, inside int) wire.Status {
	if st := cmd.Validate(); st != wire.Success {
		return st
	}
	if cmd.SGL.Length == 0 {
		return wire.Success
	}
	switch cmd.SGL.Type {
	case wire.SGLInCapsule:
		switch {
		case cmd.Direction() != wire.ToController:
			return wire.SGLInvalidType.WithDNR()
		case cmd.SGL.Address > uint64(inside):
			return wire.SGLInvalidOffset.WithDNR()
		case uint64(cmd.SGL.Length) > uint64(inside)-cmd.SGL.Address:
			return wire.SGLInvalidLength.WithDNR()
		}
	case wire.SGLKeyed, wire.SGLKeyedInvalidate:
	default:
		return wire.SGLInvalidType.WithDNR()
	}
	return wire.Success
}

// read fetches the data of a command from the host, now or when there is room for
// it.
func (c *conn) read(i, n int) wire.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.slots[i]
	s.pull = n
	if len(c.parked) > 0 || !c.incoming.Room() {
		s.state = slotParked
		c.parked = append(c.parked, i)
		return wire.Success
	}
	return c.fetch(i)
}

// unpark fetches the data of commands that have waited for room. It returns those
// for which there is no memory. The caller holds mu.
func (c *conn) unpark() (failed []int) {
	n := 0
	for ; n < len(c.parked) && !c.dead && c.incoming.Room(); n++ {
		if c.fetch(c.parked[n]) != wire.Success {
			c.slots[c.parked[n]].state = slotExecuting
			failed = append(failed, c.parked[n])
		}
	}
	c.parked = c.parked[:copy(c.parked, c.parked[n:])]
	return failed
}

// fetch reads the data of a command. The caller holds mu.
func (c *conn) fetch(i int) wire.Status {
	s := &c.slots[i]
	n := s.pull
	in, err := c.chunk(n)
	if err != nil {
		return wire.InternalError // another time there may be memory
	}
	s.state, s.in, s.asked = slotReading, in, len(in.bytes)
	c.incoming.Set(c.incoming.Used() + s.asked)
	c.sends = append(c.sends, verbs.Work{
		ID: c.id | workRead | uint64(i), Op: verbs.OpRead, Flags: verbs.Signaled, Local: in.piece(n),
		Remote: s.x.Command.SGL.Address, Key: s.x.Command.SGL.Key,
	})
	return wire.Success
}

func (c *conn) setState(s *slot, state slotState) {
	c.mu.Lock()
	s.state = state
	c.mu.Unlock()
}

// execute hands a command over that has its data.
func (c *conn) execute(s *slot, data []byte) {
	c.setState(s, slotExecuting)
	s.x.Data = data
	c.handler.Execute(&s.x)
}
