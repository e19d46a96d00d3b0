package dhchap

import (
	"crypto/hmac"
	"encoding"
	"fmt"
	"io"
	"slices"

	"weft/internal/nvme/wire"
)

// Peer says who authenticates to whom.
type Peer struct {
	HostNQN string
	SubNQN  string
	Host    Secret // that the host proves to have
	Sub     Secret // that the subsystem proves to have; empty: it cannot

	// What may be used, the preferred first; empty: everything, for a Controller
	// without Null, which exchanges nothing.
	Hashes []Hash
	Groups []Group

	Random io.Reader // of cryptographic quality
}

// exchanging is p with what a controller may use where nothing is said. Whoever
// wants Null says so: then all that keeps a secret from who listens and tries is
// its length.
func (p Peer) exchanging() Peer {
	if len(p.Groups) == 0 {
		p.Groups = []Group{FFDHE2048, FFDHE3072, FFDHE4096, FFDHE6144, FFDHE8192}
	}
	return p.withDefaults()
}

// withDefaults names what may be used.
func (p Peer) withDefaults() Peer {
	if len(p.Hashes) == 0 {
		p.Hashes = []Hash{SHA256, SHA384, SHA512}
	}
	if len(p.Groups) == 0 {
		p.Groups = []Group{FFDHE2048, FFDHE3072, FFDHE4096, FFDHE6144, FFDHE8192, Null}
	}
	return p
}

// What a Controller waits for.
type step uint8

const (
	toNegotiate step = iota
	toChallenge      // the host fetches the challenge
	toReply
	toSuccess1 // the host fetches the success
	toSuccess2
	toFailure1 // the host fetches the failure
	over
)

// A Controller is the controller's end of authentications on one queue.
type Controller struct {
	peer  Peer
	step  step
	round round
	dh    *exchange
	c1    []byte
	s1    uint32
	why   wire.AuthReason
	proof []byte // the controller's response to the host's challenge
	valid bool   // the host has proved its secret
}

// NewController begins with nothing authenticated.
func NewController(p Peer) *Controller { return &Controller{peer: p.exchanging()} }

// Renew says who authenticates from the next negotiation on: secrets can change
// while a queue lives. One that is under way ends as it began.
func (c *Controller) Renew(p Peer) {
	if c.step == toNegotiate || c.step == over {
		c.peer = p.exchanging()
	}
}

// Authenticated says that the host has proved its secret, and is content with
// what the controller has proved where it asked.
func (c *Controller) Authenticated() bool { return c.valid && c.step == over }

// Failed is why the authentication cannot succeed any more, or nil.
func (c *Controller) Failed() error {
	if c.why == 0 {
		return nil
	}
	return c.why
}

// Send takes a message of the host. An error is also what Receive then says.
func (c *Controller) Send(b []byte) error {
	err := c.take(b)
	if err != nil {
		c.fail(reason(err))
	}
	return err
}

func (c *Controller) fail(why wire.AuthReason) {
	c.step, c.why, c.valid = toFailure1, why, false
}

func (c *Controller) take(b []byte) error {
	m, err := wire.AuthMessageOf(b)
	if err != nil {
		return wire.AuthBadPayload
	}
	switch {
	case c.why != 0:
		return wire.AuthBadMessage // what has failed has failed
	case m.Type == wire.AuthCommon && m.ID == wire.AuthNegotiateID && (c.step == toNegotiate || c.step == over):
		return c.negotiate(b)
	case c.step != toNegotiate && m.Transaction != c.round.transaction:
		return wire.AuthBadPayload
	case m.Type == wire.AuthDHCHAP && m.ID == wire.AuthReplyID && c.step == toReply:
		return c.reply(b)
	case m.Type == wire.AuthDHCHAP && m.ID == wire.AuthSuccess2ID && c.step == toSuccess2:
		c.step, c.valid = over, true
		return nil
	case m.Type == wire.AuthCommon && m.ID == wire.AuthFailure2ID && c.step != toNegotiate:
		return c.refused(b)
	}
	return wire.AuthBadMessage
}

// refused is the host's word that the controller has not proved its secret.
func (c *Controller) refused(b []byte) error {
	var m wire.AuthFailure
	if m.UnmarshalBinary(b) != nil || m.Why == 0 {
		return wire.AuthFailed
	}
	return fmt.Errorf("the host says: %w", m.Why)
}

func (c *Controller) negotiate(b []byte) error {
	var m wire.AuthNegotiate
	if err := m.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("%w: %w", wire.AuthBadPayload, err)
	}
	c.round = round{transaction: m.Transaction, host: c.peer.HostNQN, sub: c.peer.SubNQN}
	c.valid, c.proof = false, nil
	switch {
	case m.Secure != 0:
		return wire.AuthSecure
	case m.Protocols == 0 || m.AuthID != 1:
		return wire.AuthNotUsable
	}
	hash := slices.IndexFunc(c.peer.Hashes, func(h Hash) bool { return h.Size() > 0 && slices.Contains(m.Hashes, uint8(h)) })
	if hash < 0 {
		return wire.AuthHashUnusable
	}
	group := slices.IndexFunc(c.peer.Groups, func(g Group) bool { return g.known() && slices.Contains(m.Groups, uint8(g)) })
	if group < 0 {
		return wire.AuthGroupUnusable
	}
	c.round.hash, c.round.group = c.peer.Hashes[hash], c.peer.Groups[group]
	var err error
	if c.dh, err = c.round.group.exchange(c.peer.Random); err != nil {
		return err
	}
	if c.c1, c.s1, err = challenge(c.round.hash, c.peer.Random); err != nil {
		return err
	}
	c.step = toChallenge
	return nil
}

func (c *Controller) reply(b []byte) error {
	var m wire.AuthReply
	if err := m.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("%w: %w", wire.AuthBadPayload, err)
	}
	switch { // what costs nothing comes first: strangers can ask for the rest
	case len(m.Response) != c.round.hash.Size():
		return wire.AuthBadPayload
	case m.Challenged && m.Sequence != 0 && c.peer.Sub.Empty():
		return fmt.Errorf("the host asks the subsystem to authenticate, which has no secret for it: %w", wire.AuthFailed)
	}
	key, ok := c.dh.shared(m.Public)
	if !ok {
		return wire.AuthBadPayload
	}
	c.round.session, c.dh = key, nil
	if !hmac.Equal(m.Response, c.round.ofHost(c.peer.Host, c.c1, c.s1)) {
		return wire.AuthFailed
	}
	if m.Challenged && m.Sequence != 0 {
		c.proof = c.round.ofController(c.peer.Sub, m.Challenge, m.Sequence)
	}
	c.step = toSuccess1
	return nil
}

// Receive is the message that the host fetches.
func (c *Controller) Receive() ([]byte, error) {
	m := wire.AuthMessage{Type: wire.AuthDHCHAP, Transaction: c.round.transaction}
	var out encoding.BinaryAppender
	switch c.step {
	case toChallenge:
		m.ID = wire.AuthChallengeID
		out = &wire.AuthChallenge{
			AuthMessage: m, Hash: uint8(c.round.hash), Group: uint8(c.round.group),
			Sequence: c.s1, Challenge: c.c1, Public: c.dh.public(),
		}
		c.step = toReply
	case toSuccess1:
		m.ID = wire.AuthSuccess1ID
		out = &wire.AuthSuccess1{AuthMessage: m, HashLength: uint8(c.round.hash.Size()), Response: c.proof}
		if c.step = toSuccess2; c.proof == nil {
			c.step, c.valid = over, true
		}
	default:
		if c.why == 0 {
			c.fail(wire.AuthBadMessage)
		}
		m.Type, m.ID = wire.AuthCommon, wire.AuthFailure1ID
		out = &wire.AuthFailure{AuthMessage: m, Reason: uint8(wire.AuthFailed), Why: c.why}
		c.step = over
	}
	return out.AppendBinary(nil)
}
