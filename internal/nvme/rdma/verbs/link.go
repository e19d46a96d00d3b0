//go:build linux && (amd64 || arm64)

package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"time"

	"weft/internal/hint"
)

// link is an rdma_cm_id that connects.
type link struct {
	l *library
	c *channel
	d *domain

	mu   sync.Mutex // of what follows
	id   uintptr    // 0 when closed
	pair *pair      // nil before Open
}

// resolveStep is how long the kernel asks for an address, or a route, before it
// says that there is none.
const resolveStep = 10 * time.Second

const (
	optionID  = 0 // RDMA_OPTION_ID
	optionToS = 0 // RDMA_OPTION_ID_TOS
)

// Resolve finds the device and the route.
func (l *library) Resolve(ctx context.Context, r Route) (Link, error) {
	c, err := l.newWaited()
	if err != nil {
		return nil, err
	}
	k := &link{l: l, c: c}
	if k.id, err = c.newID(); err != nil {
		c.close()
		return nil, err
	}
	if err := k.resolve(ctx, r); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *link) resolve(ctx context.Context, r Route) error {
	l := k.l
	if r.ToS != 0 {
		b := stable(1)
		b[0] = r.ToS
		err := l.zero(l.cm.Rdma_set_option, k.id, optionID, optionToS, address(b), 1)
		runtime.KeepAlive(b)
		if err != nil {
			return fmt.Errorf("type of service %d: %w", r.ToS, err)
		}
	}
	to, from := stable(sockaddrIn), stable(sockaddrIn)
	putSockaddr(to, r.To, zone(r.To.Addr()))
	source := uintptr(0)
	if r.From.IsValid() {
		putSockaddr(from, netip.AddrPortFrom(r.From, 0), zone(r.From))
		source = address(from)
	}
	err := l.zero(l.cm.Rdma_resolve_addr, k.id, source, address(to), uintptr(resolveStep.Milliseconds()))
	runtime.KeepAlive(to)
	runtime.KeepAlive(from)
	if err != nil {
		return unresolved(err)
	}
	if _, err := k.c.expect(ctx, cmAddrResolved); err != nil {
		return unresolved(err)
	}
	if err := l.zero(l.cm.Rdma_resolve_route, k.id, uintptr(resolveStep.Milliseconds())); err != nil {
		return fmt.Errorf("find a route: %w", err)
	}
	if _, err := k.c.expect(ctx, cmRouteResolved); err != nil {
		return err
	}
	k.d, err = l.domain(word(k.id, idVerbs))
	return err
}

// unresolved says why no device leads to an address.
func unresolved(err error) error {
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		return hint.Wrap(fmt.Errorf("find an RDMA device for the address: %w", err), "the way to the address must leave through an interface with an RDMA device: compare ip route get with rdma link show")
	}
	return err
}

func (k *link) Domain() Domain { return k.d }

// Ends are what the connection manager has found.
func (k *link) Ends() (local, remote netip.AddrPort) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.id == 0 {
		return local, remote
	}
	return sockaddr(view(k.id+idSource, sockaddrIn)), sockaddr(view(k.id+idDest, sockaddrIn))
}

// Connect offers the connection and waits for the answer. Then it is up to the hub.
func (k *link) Connect(ctx context.Context, h Hello) (Hello, error) {
	defer k.c.leave()
	if err := k.tell(k.l.cm.Rdma_connect, h); errors.Is(err, syscall.ECONNREFUSED) { // iWARP knows at once
		return Hello{}, &RefusedError{Reason: refusedByKernel}
	} else if err != nil {
		return Hello{}, fmt.Errorf("connect: %w", err)
	}
	e, err := k.c.expect(ctx, cmEstablished)
	return e.hello, err
}

// Answer accepts or refuses.
func (k *link) Answer(h Hello, accept bool) error {
	if accept {
		if err := k.tell(k.l.cm.Rdma_accept, h); err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		return nil
	}
	b := append(stable(0), h.Private...)
	err := k.l.zero(k.l.cm.Rdma_reject, k.id, address(b), uintptr(len(b)))
	runtime.KeepAlive(b)
	if err != nil {
		return fmt.Errorf("refuse a connection: %w", err)
	}
	return nil
}

// tell calls a function that takes an rdma_conn_param.
func (k *link) tell(fn uintptr, h Hello) error {
	if len(h.Private) > 255 {
		return fmt.Errorf("%d bytes of private data", len(h.Private))
	}
	b := stable(paramSize + 256)
	copy(b[paramSize:], h.Private)
	putParam(b, uint64(address(b)+paramSize), h)
	err := k.l.zero(fn, k.id, address(b))
	runtime.KeepAlive(b)
	return err
}

// happened looks for events of a connection that is made, or being accepted;
// nil: it goes on.
func (k *link) happened() error {
	for {
		e, ok, err := k.c.next()
		switch {
		case err != nil:
			return err
		case !ok:
			return nil
		case e.kind == cmEstablished, e.kind == cmAddrChange, e.kind == cmTimewaitExit:
			continue
		case e.kind == cmDeviceRemoval:
			k.l.forget(k.d)
		}
		return e.err()
	}
}

// Close disconnects and takes everything apart, in the order in which it
// depends on each other.
func (k *link) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.id == 0 {
		return nil
	}
	var errs []error
	if k.pair != nil {
		k.pair.h.part(k.pair)
		call(k.l.cm.Rdma_disconnect, k.id) // an error says that it already is
		call(k.l.cm.Rdma_destroy_qp, k.id)
	}
	errs = append(errs, k.l.zero(k.l.cm.Rdma_destroy_id, k.id))
	k.id = 0
	k.c.close()
	return errors.Join(errs...)
}
