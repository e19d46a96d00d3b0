//go:build linux && (amd64 || arm64)

package verbs

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weft/internal/hint"
)

// A channel is where the connection manager tells what happens to one
// connection, or to one listener.
type channel struct {
	l      *library
	cm     uintptr // rdma_event_channel
	waiter *waiter // nil: it is watched elsewhere
}

func (l *library) newChannel() (*channel, error) {
	cm, err := l.pointer(l.cm.Rdma_create_event_channel)
	if err == nil {
		err = unix.SetNonblock(int(half(cm, 0)), true)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the connection manager: %w", err)
	}
	return &channel{l: l, cm: cm}, nil
}

// newWaited is a channel that is waited on.
func (l *library) newWaited() (*channel, error) {
	c, err := l.newChannel()
	if err != nil {
		return nil, err
	}
	if c.waiter, err = newWaiter(); err == nil {
		err = c.waiter.watch(c.fd(), wokeCM, 0)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("wait for the connection manager: %w", err)
	}
	return c, nil
}

func (c *channel) fd() int { return int(half(c.cm, 0)) }

func (c *channel) close() {
	c.leave()
	call(c.l.cm.Rdma_destroy_event_channel, c.cm)
}

// leave is for a channel that is not waited on any more.
func (c *channel) leave() {
	if c.waiter != nil {
		c.waiter.close()
		c.waiter = nil
	}
}

// event is an rdma_cm_event.
type event struct {
	id     uintptr
	kind   uint32
	status int
	hello  Hello
}

// next takes an event, if there is one. Whoever takes the event of a new
// connection has its id.
func (c *channel) next() (e event, ok bool, err error) {
	at := stable(8)
	r, errno := c.l.try(c.l.cm.Rdma_get_cm_event, c.cm, address(at))
	if int32(r) != 0 {
		if errno == syscall.EAGAIN || errno == syscall.EINTR {
			return event{}, false, nil
		}
		return event{}, false, fmt.Errorf("ask the connection manager: %w", failure(errno))
	}
	raw := uintptr(le.Uint64(at))
	e = event{id: word(raw, eventID), kind: half(raw, eventKind), status: int(int32(half(raw, eventStatus)))}
	param := view(raw+eventParam, paramSize)
	if n := int(param[paramPrivateLen]); n > 0 && le.Uint64(param[paramPrivate:]) != 0 {
		e.hello.Private = append([]byte(nil), view(uintptr(le.Uint64(param[paramPrivate:])), n)...)
	}
	e.hello.Reads, e.hello.Issues = int(param[paramResponder]), int(param[paramInitiator])
	call(c.l.cm.Rdma_ack_cm_event, raw)
	return e, true, nil
}

// await waits for one event.
func (c *channel) await(ctx context.Context) (e event, err error) {
	defer context.AfterFunc(ctx, c.waiter.wake)()
	for {
		if ctx.Err() != nil {
			return event{}, context.Cause(ctx)
		}
		var ok bool
		var failed error
		err = c.waiter.wait(time.Time{}, func(uintptr) bool {
			e, ok, failed = c.next()
			return ok || failed != nil
		})
		if errors.Is(err, ErrNews) {
			err = nil
		}
		if ok || failed != nil || err != nil {
			return e, errors.Join(err, failed)
		}
	}
}

// expect waits for one event of a kind; everything else is an error.
func (c *channel) expect(ctx context.Context, kind uint32) (event, error) {
	e, err := c.await(ctx)
	if err != nil || e.kind == kind {
		return e, err
	}
	return e, e.err()
}

// err is what an event that was not hoped for means.
func (e event) err() error {
	why := func(err error) error {
		if e.status < 0 {
			return fmt.Errorf("%w: %w", err, syscall.Errno(-e.status))
		}
		return err
	}
	switch e.kind {
	case cmAddrError:
		if e.status == -int(syscall.ETIMEDOUT) {
			return ErrNobody
		}
		return why(errors.New("no RDMA device leads to the address"))
	case cmRouteError:
		return hint.Wrap(why(errors.New("no route to the address")), "on InfiniBand the subnet manager is asked: see sminfo, and whether rdma link show has the port in state INIT; both ends must be in one partition, one of them as a full member")
	case cmConnectError:
		return why(errors.New("connecting failed"))
	case cmUnreachable:
		return why(errors.New("the address does not answer"))
	case cmRejected:
		return &RefusedError{Reason: e.status, Private: e.hello.Private}
	case cmDisconnected:
		return ErrDisconnected
	case cmDeviceRemoval:
		return ErrRemoved
	}
	return fmt.Errorf("unexpected event %d of the connection manager", e.kind)
}

// newID makes an rdma_cm_id that tells this channel.
func (c *channel) newID() (uintptr, error) {
	at := stable(8)
	if err := c.l.zero(c.l.cm.Rdma_create_id, c.cm, address(at), 0, spaceTCP); err != nil {
		return 0, fmt.Errorf("ask the connection manager: %w", err)
	}
	id := uintptr(le.Uint64(at))
	if word(id, idChannel) != c.cm || half(id, idSpace) != spaceTCP {
		call(c.l.cm.Rdma_destroy_id, id)
		return 0, mismatch("rdma_cm_id")
	}
	return id, nil
}
