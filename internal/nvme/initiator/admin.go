package initiator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// admin is a controller's admin queue. Its methods may be called concurrently;
// commands take turns.
type admin struct {
	mu sync.Mutex
	q  fabric.Queue
	id uint16
	cc uint32
}

// do runs a command. An answer other than success is an error.
func (a *admin) do(cmd wire.Command, data []byte) (uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, err := fabric.Do(a.q, &cmd, data)
	if err != nil {
		return 0, err
	}
	return c.Result, c.Status.Err()
}

func (a *admin) property(offset uint32, wide bool) (uint64, error) {
	v, err := a.do(wire.PropertyCommand{Offset: offset, Wide: wide}.Command(), nil)
	if err != nil {
		return 0, fmt.Errorf("get property 0x%x: %w", offset, err)
	}
	return v, nil
}

func (a *admin) configure(cc uint32) error {
	if _, err := a.do(wire.PropertyCommand{Set: true, Offset: wire.PropCC, Value: uint64(cc)}.Command(), nil); err != nil {
		return fmt.Errorf("set property 0x%x: %w", wire.PropCC, err)
	}
	a.cc = cc
	return nil
}

// await polls the status property until ready says so.
func (a *admin) await(ctx context.Context, patience time.Duration, ready func(csts uint64) bool) error {
	const pause = 20 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		csts, err := a.property(wire.PropCSTS, false)
		switch {
		case err != nil:
			return err
		case csts&wire.CSTSFatal != 0:
			return fmt.Errorf("controller reports a fatal status (CSTS 0x%x)", csts)
		case ready(csts):
			return nil
		case time.Now().After(end):
			return fmt.Errorf("controller still has CSTS 0x%x after %v", csts, patience)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// connect sends Connect on a new queue. Its data is in the capsule, always:
// there are targets that know no other way.
func connect(q fabric.Queue, o Options, v wire.ConnectCommand, cntlid uint16) (uint64, error) {
	v.Attributes = wire.ConnectNoFlow
	cmd := v.Command()
	data := wire.ConnectData{HostID: o.HostID, ControllerID: cntlid, SubNQN: o.SubNQN, HostNQN: o.HostNQN}
	raw, _ := data.AppendBinary(nil)
	c, err := fabric.Do(q, &cmd, raw)
	if err != nil {
		return 0, err
	}
	if errors.Is(c.Status, wire.ConnectInvalidParam) {
		where := "command"
		if c.Result&(1<<16) != 0 {
			where = "data"
		}
		return 0, fmt.Errorf("%w at byte %d of its %s", c.Status, uint16(c.Result), where)
	}
	return c.Result, c.Status.Err()
}

// open dials and connects an admin queue and enables the controller.
func open(ctx context.Context, tr fabric.Transport, o Options) (a *admin, capability wire.CAP, err error) {
	q, err := tr.Dial(ctx, fabric.DialParams{
		Addr: o.Addr, Depth: adminDepth, Timeout: o.adminTimeout(), HeaderDigest: o.HeaderDigest, DataDigest: o.DataDigest,
	})
	if err != nil {
		return nil, capability, because(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = q.Close() })
	defer func() {
		if !stop() && err == nil {
			err = context.Canceled
		}
		if err != nil {
			_ = q.Close()
			err = because(ctx, err)
		}
	}()
	result, err := connect(q, o, wire.ConnectCommand{SQSize: adminDepth, KATO: uint32(o.KATO.Milliseconds())}, wire.DynamicController)
	if err != nil {
		return nil, capability, fmt.Errorf("connect command: %w", err)
	}
	if err := o.prove(q, 0, result); err != nil {
		return nil, capability, err
	}
	a = &admin{q: q, id: uint16(result)}
	capability, err = a.enable(ctx)
	return a, capability, err
}

func (a *admin) enable(ctx context.Context) (c wire.CAP, err error) {
	v, err := a.property(wire.PropCAP, true)
	if err != nil {
		return c, err
	}
	c = wire.CAPOf(v)
	if c.MPSMIN != 0 {
		return c, fmt.Errorf("controller wants pages of %d bytes, want 4096", 4096<<c.MPSMIN)
	}
	if err := a.configure(wire.CCEnable | wire.CCIOSQES | wire.CCIOCQES); err != nil {
		return c, err
	}
	patience := max(time.Duration(c.TO)*500*time.Millisecond, time.Second)
	return c, a.await(ctx, patience, func(csts uint64) bool { return csts&wire.CSTSReady != 0 })
}

// identify reads the controller's identity and what it says about itself.
func (a *admin) identify() (id wire.IdentifyController, err error) {
	raw := make([]byte, wire.IdentifySize)
	if _, err := a.do(wire.IdentifyCommand{CNS: wire.CNSController}.Command(), raw); err != nil {
		return id, fmt.Errorf("identify controller: %w", err)
	}
	if err := id.UnmarshalBinary(raw); err != nil {
		return id, err
	}
	if err := id.Validate(); err != nil {
		return id, err
	}
	if id.CNTLID != a.id {
		return id, fmt.Errorf("controller %d identifies itself as %d", a.id, id.CNTLID)
	}
	return id, nil
}

// shutdown tells the controller that the host leaves, and waits for it to
// agree, but not for ever.
func (a *admin) shutdown(patience time.Duration) error {
	cut := time.AfterFunc(patience, func() { _ = a.q.Close() })
	defer cut.Stop()
	if err := a.configure(a.cc | wire.CCShutdown); err != nil {
		return err
	}
	return a.await(context.Background(), patience, func(csts uint64) bool {
		return csts&wire.CSTSShutdownMask == wire.CSTSShutdownComplete
	})
}

// because prefers the reason of a context that has ended over its effect.
func because(ctx context.Context, err error) error {
	if e := context.Cause(ctx); e != nil {
		return e
	}
	return err
}
