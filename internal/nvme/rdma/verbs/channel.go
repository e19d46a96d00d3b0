//go:build linux && (amd64 || arm64)

package verbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weft/internal/hint"
)

// A channel is where the connection manager tells what happens to one
// connection, or to one listener. It is waited on with epoll, together with
// the completions of the connection, through Go's own poller: nobody who waits
// keeps a thread.
type channel struct {
	l           *library
	cm          uintptr  // rdma_event_channel
	epoll       *os.File // of the file descriptors
	raw         syscall.RawConn
	interrupted atomic.Bool
	stirred     atomic.Bool
	deadline    time.Time // of who waits, as the poller knows it
}

// What an epoll event is about.
const (
	wokeCM     = 1
	wokeDone   = 2
	wokeDevice = 3
)

func (l *library) newChannel() (*channel, error) {
	cm, err := l.pointer(l.cm.Rdma_create_event_channel)
	if err != nil {
		return nil, fmt.Errorf("ask the connection manager: %w", err)
	}
	c := &channel{l: l, cm: cm}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		if err = unix.SetNonblock(ep, true); err == nil { // for Go's poller; epoll itself has no such mode
			c.epoll = os.NewFile(uintptr(ep), "rdma")
			c.raw, err = c.epoll.SyscallConn()
		}
	}
	if err == nil {
		err = c.watch(int(half(cm, 0)), wokeCM)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("wait for the connection manager: %w", err)
	}
	return c, nil
}

// watch adds a file descriptor, which never blocks from now on.
func (c *channel) watch(fd int, what int32) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	var err error
	e := c.raw.Control(func(ep uintptr) {
		err = unix.EpollCtl(int(ep), unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: what})
	})
	return errors.Join(e, err)
}

func (c *channel) close() {
	if c.epoll != nil {
		_ = c.epoll.Close() // nothing was written
	}
	call(c.l.cm.Rdma_destroy_event_channel, c.cm)
}

// interrupt ends wait, now and for ever.
func (c *channel) interrupt() {
	c.interrupted.Store(true)
	_ = c.epoll.SetReadDeadline(time.Unix(1, 0))
}

// stir ends wait like a deadline, now and for ever.
func (c *channel) stir() {
	c.stirred.Store(true)
	_ = c.epoll.SetReadDeadline(time.Unix(1, 0))
}

// wait blocks until look says that it has seen what it waits for.
func (c *channel) wait(deadline time.Time, look func(epoll uintptr) bool) error {
	if !deadline.Equal(c.deadline) {
		if err := c.epoll.SetReadDeadline(deadline); err != nil {
			return err
		}
		c.deadline = deadline
	}
	if c.interrupted.Load() { // before the deadline was set
		return ErrInterrupted
	}
	if c.stirred.Load() {
		return os.ErrDeadlineExceeded
	}
	err := c.raw.Read(look)
	if err != nil && c.interrupted.Load() {
		return ErrInterrupted
	}
	return err
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
func (c *channel) await(ctx context.Context) (event, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.epoll.SetReadDeadline(time.Unix(1, 0)) })
	var e event
	var failed error
	err := c.wait(time.Time{}, func(uintptr) (ok bool) {
		if ctx.Err() != nil {
			return true
		}
		e, ok, failed = c.next()
		return ok || failed != nil
	})
	if !stop() {
		return event{}, context.Cause(ctx)
	}
	return e, errors.Join(err, failed)
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
