package tcp

import (
	"context"
	"fmt"
	"net"
	"time"

	"weft/internal/nvme/wire"
)

// introduce sends ICReq and judges the answer. It returns the most bytes that
// the target takes in one H2CData.
func introduce(ctx context.Context, conn net.Conn, timeout time.Duration, want digests) (int, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	req := wire.NewICReq()
	req.Digest = want.field()
	raw, _ := req.AppendBinary(nil)
	if _, err := conn.Write(raw); err != nil {
		return 0, fmt.Errorf("send ICReq: %w", cause(ctx, err))
	}
	var resp wire.ICResp
	if err := readResp(conn, raw, &resp); err != nil {
		return 0, fmt.Errorf("wait for ICResp: %w", cause(ctx, err))
	}
	if got := digestsOf(resp.Digest); got != want {
		return 0, fmt.Errorf("ICResp: digests %v, want %v; ask for those that the target has enabled", got, want)
	}
	resp.Digest &^= req.Digest // what remains was not asked for
	if err := resp.Validate(); err != nil {
		return 0, err
	}
	if !stop() { // too late: the deadline is set, or about to be
		return 0, cause(ctx, context.Canceled)
	}
	return int(min(resp.MaxH2CData, 1<<30)), nil
}

// readResp reads exactly one ICResp, or the TermReq that comes in its place.
func readResp(conn net.Conn, raw []byte, resp *wire.ICResp) error {
	rx := receiver{buf: raw}
	h := &icSink{resp: resp}
	for !h.done {
		n, err := conn.Read(rx.window())
		rx.filled(n)
		if err := rx.drain(h); err != nil {
			return err
		}
		if err != nil && !h.done {
			return err
		}
	}
	return nil
}

// icSink takes the first PDU of a connection.
type icSink struct {
	resp *wire.ICResp
	done bool
}

func (s *icSink) check(h *wire.PDUHeader) error {
	if h.Type != wire.PDUICResp && h.Type != wire.PDUC2HTermReq || s.done {
		return breach(wire.FatalSequence, atType, "%v instead of ICResp", h.Type)
	}
	return checkSizes(h, h.Type.HeaderLen()+wire.TermReqMax-wire.TermReqSize, digests{})
}

func (s *icSink) header(h *wire.PDUHeader, raw []byte) ([]byte, error) {
	if h.Type == wire.PDUC2HTermReq {
		return nil, terminated(raw)
	}
	s.done = true
	return nil, s.resp.UnmarshalBinary(raw)
}

func (s *icSink) payload(bool) error { return nil }

// terminated is the error that a TermReq stands for.
func terminated(raw []byte) error {
	var p wire.TermReq
	if err := p.UnmarshalBinary(raw); err != nil {
		return err
	}
	return &errTerminated{p.Reason, p.Info}
}

// cause prefers the reason of a context that has ended over its effect.
func cause(ctx context.Context, err error) error {
	if e := context.Cause(ctx); e != nil {
		return e
	}
	return err
}
