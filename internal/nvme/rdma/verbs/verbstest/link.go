package verbstest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"weft/internal/nvme/rdma/verbs"
)

// link is one end of a connection.
type link struct {
	f             *Fabric
	local, remote netip.AddrPort
	hello         verbs.Hello // of the peer
	answer        chan reply  // to Connect

	// Under f.mu.
	pair   *pair
	other  *link // nil before Connect
	closed bool
}

// reply is what a peer answers.
type reply struct {
	hello verbs.Hello
	err   error
}

func (k *link) Domain() verbs.Domain                 { return k.f }
func (k *link) Ends() (local, remote netip.AddrPort) { return k.local, k.remote }

func (k *link) Open(h verbs.Hub, q verbs.Queue) (verbs.Pair, error) {
	return newPair(k, h.(*hub), q)
}

// seen is a Hello at the other end. InfiniBand makes private data longer, iWARP
// does not.
func (f *Fabric) seen(h verbs.Hello) verbs.Hello {
	h.Reads, h.Issues = h.Issues, h.Reads
	h.Private = append([]byte(nil), h.Private...)
	if !f.Limits().IWARP {
		h.Private = append(h.Private, make([]byte, max(0, 56-len(h.Private)))...)
	}
	return h
}

func (k *link) Connect(ctx context.Context, h verbs.Hello) (verbs.Hello, error) {
	f := k.f
	f.mu.Lock()
	a := f.acceptors[k.remote]
	if a == nil {
		f.mu.Unlock()
		return verbs.Hello{}, &verbs.RefusedError{Reason: 8}
	}
	peer := &link{f: f, local: k.remote, remote: k.local, hello: f.seen(h), other: k}
	k.other = peer
	select {
	case a.come <- peer:
	default:
		f.mu.Unlock()
		return verbs.Hello{}, &verbs.RefusedError{Reason: 1}
	}
	f.mu.Unlock()
	select {
	case r := <-k.answer:
		return r.hello, r.err
	case <-ctx.Done():
		return verbs.Hello{}, context.Cause(ctx)
	}
}

func (k *link) Answer(h verbs.Hello, accept bool) error {
	if !accept {
		k.other.answer <- reply{err: &verbs.RefusedError{Reason: 28, Private: h.Private}}
		return nil
	}
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	if k.pair == nil || k.other.closed {
		return errors.New("accept a connection: invalid argument")
	}
	k.pair.peer, k.other.pair.peer = k.other.pair, k.pair
	k.other.answer <- reply{hello: k.f.seen(h)}
	return nil
}

func (k *link) Close() error {
	f := k.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	if k.pair == nil {
		return nil
	}
	k.pair.fail()
	delete(f.pairs, k.pair)
	k.pair.recvs = nil
	k.pair.hub.leave(k.pair)
	if o := k.pair.peer; o != nil && !f.cut && !o.silent {
		o.fail()
		o.end(verbs.ErrDisconnected)
	}
	return nil
}

// check reports queues that the device cannot have.
func (f *Fabric) check(q verbs.Queue) error {
	if l := f.Limits(); q.Sends > l.Works || q.Receives > l.Works {
		return fmt.Errorf("a queue pair of %d and %d works is more than %s can do", q.Sends, q.Receives, l.Device)
	}
	return nil
}
