package rdma

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/wire"
)

// mostInCapsule is how much data a host of this transport puts in a capsule,
// whatever the target would take.
const mostInCapsule = 16 << 10

// Dial connects a queue pair.
func (t *Transport) Dial(ctx context.Context, p fabric.DialParams) (fabric.Queue, error) {
	if p.Depth < 1 || p.Depth >= mostDepth {
		return nil, fmt.Errorf("%s: queue of depth %d", p.Addr, p.Depth)
	}
	to, err := t.real(p.Addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.Addr, err)
	}
	if p.Timeout > 0 { // and not less than what the connection manager may need
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(p.Timeout, fabric.DefaultTimeout), fabric.ErrTimeout)
		defer cancel()
	}
	link, err := t.Verbs.Resolve(ctx, verbs.Route{To: to, From: t.From, ToS: t.ToS})
	if err != nil {
		return nil, fmt.Errorf("connect to %s over RDMA: %w", p.Addr, err)
	}
	q, err := newQueue(ctx, link, p, t.Poll && p.QID != 0)
	if err != nil {
		return nil, fmt.Errorf("connect to %s over RDMA: %w", p.Addr, err)
	}
	if t.Reached != nil {
		local, _ := link.Ends()
		t.Reached(local)
	}
	return q, nil
}

// newQueue makes the queues, posts what responses are received into, and
// connects. The link is the queue's; with an error it is closed.
func newQueue(ctx context.Context, link verbs.Link, p fabric.DialParams, poll bool) (_ *queue, err error) {
	q := &queue{addr: p.Addr, link: link, poll: poll, qid: p.QID, timeout: p.Timeout, spin: spinner{never: runtime.GOMAXPROCS(0) < 2}}
	defer func() {
		if err != nil {
			err = errors.Join(err, q.release())
		}
	}()
	if p.QID != 0 {
		q.inCapsule = min(max(p.InCapsule, 0), mostInCapsule)
	}
	if err := q.open(p.Depth); err != nil {
		return nil, err
	}
	req := wire.RDMARequest{QID: p.QID, HRQSize: uint16(p.Depth + 1), HSQSize: uint16(p.Depth)}
	private, _ := req.AppendBinary(nil)
	answer, err := link.Connect(ctx, verbs.Hello{Private: private, Reads: max(link.Domain().Limits().Reads, 1)})
	if err != nil {
		return nil, refusal(err)
	}
	var acc wire.RDMAAccept
	if err := acc.UnmarshalBinary(answer.Private); err != nil {
		return nil, err
	}
	if acc.Format != 0 {
		return nil, fmt.Errorf("the target answers in format %d", acc.Format)
	}
	return q, nil
}

// refusal adds what the target had to say.
func refusal(err error) error {
	var refused *verbs.RefusedError
	var rej wire.RDMAReject
	if errors.As(err, &refused) && refused.ByPeer() && rej.UnmarshalBinary(refused.Private) == nil && rej.Status != 0 {
		return fmt.Errorf("%w: %w", err, rej.Status)
	}
	return err
}
