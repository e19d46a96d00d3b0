//go:build linux && (amd64 || arm64)

package verbs

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weft/internal/hint"
)

// backlog is how many peers may wait to be accepted.
const backlog = 128

// acceptor is an rdma_cm_id that listens.
type acceptor struct {
	c      *channel
	id     uintptr
	addr   netip.AddrPort
	over   atomic.Bool // Close was called
	inside sync.Mutex  // held by Accept
	closed bool
}

// Listen takes connections.
func (l *library) Listen(addr netip.AddrPort) (Acceptor, error) {
	c, err := l.newWaited()
	if err != nil {
		return nil, err
	}
	id, err := c.newID()
	if err != nil {
		c.close()
		return nil, err
	}
	b := stable(sockaddrIn)
	putSockaddr(b, addr, zone(addr.Addr()))
	err = l.zero(l.cm.Rdma_bind_addr, id, address(b))
	runtime.KeepAlive(b)
	if err == nil {
		err = l.zero(l.cm.Rdma_listen, id, backlog)
	}
	if err != nil {
		call(l.cm.Rdma_destroy_id, id)
		c.close()
		return nil, unbound(err)
	}
	return &acceptor{c: c, id: id, addr: sockaddr(view(id+idSource, sockaddrIn))}, nil
}

// zone is the number of the interface that an address belongs to.
func zone(a netip.Addr) uint32 {
	if a.Zone() == "" {
		return 0
	}
	n, err := net.InterfaceByName(a.Zone())
	if err != nil {
		return 0 // the kernel will refuse the address
	}
	return uint32(n.Index)
}

// unbound says why an address cannot be had.
func unbound(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return hint.Wrap(fmt.Errorf("no interface of this machine has the address: %w", err), "ip addr show")
	case errors.Is(err, syscall.ENODEV):
		return hint.Wrap(fmt.Errorf("the interface with the address has no RDMA device: %w", err), "rdma link show says which interfaces have one")
	}
	return err
}

func (a *acceptor) Addr() netip.AddrPort { return a.addr }

// Accept waits for a peer.
func (a *acceptor) Accept() (Link, Hello, error) {
	a.inside.Lock()
	defer a.inside.Unlock()
	for !a.over.Load() {
		var e event
		var ok bool
		var failed error
		err := a.c.waiter.wait(time.Time{}, func(uintptr) bool {
			e, ok, failed = a.c.next()
			return ok || failed != nil
		})
		switch {
		case failed != nil:
			return nil, Hello{}, failed
		case !ok && errors.Is(err, ErrNews):
			continue
		case !ok:
			return nil, Hello{}, err
		case e.kind == cmDeviceRemoval:
			return nil, Hello{}, ErrRemoved
		case e.kind != cmConnectRequest:
			continue // the address has moved to another device, or back: the kernel sees to it
		}
		k, err := a.take(e)
		if err != nil {
			return nil, Hello{}, err
		}
		return k, e.hello, nil
	}
	return nil, Hello{}, net.ErrClosed
}

// take moves a new connection to a channel of its own.
func (a *acceptor) take(e event) (*link, error) {
	l := a.c.l
	refuse := func(err error) (*link, error) {
		call(l.cm.Rdma_reject, e.id, 0, 0)
		call(l.cm.Rdma_destroy_id, e.id)
		return nil, err
	}
	d, err := l.domain(word(e.id, idVerbs))
	if err != nil {
		return refuse(err)
	}
	c, err := l.newChannel()
	if err != nil {
		return refuse(err)
	}
	if err := l.zero(l.cm.Rdma_migrate_id, e.id, c.cm); err != nil {
		c.close()
		return refuse(fmt.Errorf("take a connection over: %w", err))
	}
	return &link{l: l, c: c, id: e.id, d: d}, nil
}

// Close stops listening.
func (a *acceptor) Close() error {
	a.over.Store(true)
	a.c.waiter.wake()
	a.inside.Lock()
	defer a.inside.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	for { // who came and was not taken
		e, ok, err := a.c.next()
		if !ok || err != nil {
			break
		}
		if e.kind == cmConnectRequest {
			call(a.c.l.cm.Rdma_reject, e.id, 0, 0)
			call(a.c.l.cm.Rdma_destroy_id, e.id)
		}
	}
	err := a.c.l.zero(a.c.l.cm.Rdma_destroy_id, a.id)
	a.c.close()
	return err
}
