package dhchap

import (
	"crypto/hmac"
	"fmt"
	"slices"

	"weft/internal/nvme/wire"
)

// A Host is the host's end of one authentication. Where Peer.Sub is there, the
// controller must authenticate, too. Messages are exchanged in the order
// Negotiate, Challenge, Success; after an error, Failure is the last one.
type Host struct {
	peer  Peer
	round round
	want  []byte // the controller's response, nil where it was not asked
}

// NewHost begins an authentication. Transaction tells it from others on the
// same controller.
func NewHost(p Peer, transaction uint16) *Host {
	p = p.withDefaults()
	return &Host{peer: p, round: round{transaction: transaction, host: p.HostNQN, sub: p.SubNQN}}
}

// Run authenticates one queue after its Connect. It sends commands through do,
// which returns when they have completed, with an error unless with success.
func (h *Host) Run(do func(cmd wire.Command, data []byte) error) error {
	if err := h.run(do); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	return nil
}

func (h *Host) run(do func(wire.Command, []byte) error) error {
	send := func(b []byte) error {
		return do(wire.AuthCommand{SPSP: wire.AuthSpecific, Protocol: wire.AuthProtocol, Length: uint32(len(b))}.Command(), b)
	}
	receive := func() ([]byte, error) {
		b := make([]byte, wire.MaxAuthMessage)
		err := do(wire.AuthCommand{Receive: true, SPSP: wire.AuthSpecific, Protocol: wire.AuthProtocol, Length: uint32(len(b))}.Command(), b)
		return b, err
	}
	offer, err := h.Negotiate()
	if err != nil {
		return err
	}
	if err := send(offer); err != nil {
		return err
	}
	for _, answer := range []func([]byte) ([]byte, error){h.Challenge, h.Success} {
		in, err := receive()
		if err != nil {
			return err
		}
		out, err := answer(in)
		if err != nil {
			_ = send(h.Failure(err)) // out of courtesy: the queue is of no use any more
			return err
		}
		if out == nil {
			return nil
		}
		if err := send(out); err != nil {
			return err
		}
	}
	return nil
}

// Negotiate is the first message.
func (h *Host) Negotiate() ([]byte, error) {
	m := wire.AuthNegotiate{
		AuthMessage: wire.AuthMessage{Type: wire.AuthCommon, ID: wire.AuthNegotiateID, Transaction: h.round.transaction},
		Protocols:   1, AuthID: 1,
	}
	for _, one := range h.peer.Hashes {
		m.Hashes = append(m.Hashes, uint8(one))
	}
	for _, one := range h.peer.Groups {
		m.Groups = append(m.Groups, uint8(one))
	}
	return m.AppendBinary(nil)
}

// expect judges what every message of the controller begins with.
func (h *Host) expect(b []byte, id uint8) error {
	m, err := wire.AuthMessageOf(b)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", wire.AuthBadPayload, err)
	case m.Type == wire.AuthCommon && m.ID == wire.AuthFailure1ID:
		var f wire.AuthFailure
		if err := f.UnmarshalBinary(b); err != nil {
			return err
		}
		return fmt.Errorf("the controller says: %w", f.Why)
	case m.Transaction != h.round.transaction:
		return wire.AuthBadMessage
	case m.Type != wire.AuthDHCHAP || m.ID != id:
		return wire.AuthBadMessage
	}
	return nil
}

// Challenge answers the controller's challenge.
func (h *Host) Challenge(b []byte) (reply []byte, err error) {
	if err := h.expect(b, wire.AuthChallengeID); err != nil {
		return nil, err
	}
	var m wire.AuthChallenge
	if err := m.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("%w: %w", wire.AuthBadPayload, err)
	}
	r := &h.round
	r.hash, r.group = Hash(m.Hash), Group(m.Group)
	switch {
	case !slices.Contains(h.peer.Hashes, r.hash) || len(m.Challenge) != r.hash.Size() || r.hash == None:
		return nil, wire.AuthHashUnusable
	case !slices.Contains(h.peer.Groups, r.group) || !r.group.known():
		return nil, wire.AuthGroupUnusable
	}
	dh, err := r.group.exchange(h.peer.Random)
	if err != nil {
		return nil, err
	}
	key, ok := dh.shared(m.Public)
	if !ok {
		return nil, wire.AuthBadPayload
	}
	r.session = key
	out := wire.AuthReply{
		AuthMessage: wire.AuthMessage{Type: wire.AuthDHCHAP, ID: wire.AuthReplyID, Transaction: r.transaction},
		Response:    r.ofHost(h.peer.Host, m.Challenge, m.Sequence),
		Challenge:   make([]byte, r.hash.Size()),
		Public:      dh.public(),
	}
	if !h.peer.Sub.Empty() {
		out.Challenged = true
		if out.Challenge, out.Sequence, err = challenge(r.hash, h.peer.Random); err != nil {
			return nil, err
		}
		h.want = r.ofController(h.peer.Sub, out.Challenge, out.Sequence)
	}
	return out.AppendBinary(nil)
}

// Success checks what the controller has proved. The last message is nil where
// it was not asked to.
func (h *Host) Success(b []byte) (last []byte, err error) {
	if err := h.expect(b, wire.AuthSuccess1ID); err != nil {
		return nil, err
	}
	var m wire.AuthSuccess1
	if err := m.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("%w: %w", wire.AuthBadPayload, err)
	}
	if h.want == nil {
		return nil, nil
	}
	if !hmac.Equal(m.Response, h.want) {
		return nil, fmt.Errorf("the controller did not prove its secret: %w", wire.AuthFailed)
	}
	ok := wire.AuthSuccess2{AuthMessage: wire.AuthMessage{Type: wire.AuthDHCHAP, ID: wire.AuthSuccess2ID, Transaction: h.round.transaction}}
	return ok.AppendBinary(nil)
}

// Failure is the last message after an error of Challenge or Success.
func (h *Host) Failure(err error) []byte {
	m := wire.AuthFailure{
		AuthMessage: wire.AuthMessage{Type: wire.AuthCommon, ID: wire.AuthFailure2ID, Transaction: h.round.transaction},
		Reason:      uint8(wire.AuthFailed), Why: reason(err),
	}
	b, _ := m.AppendBinary(nil) // it never fails
	return b
}
