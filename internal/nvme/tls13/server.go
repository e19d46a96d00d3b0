package tls13

import (
	"bytes"
	"crypto/hmac"
	"slices"
)

// accept is the server's handshake. Section 4, appendix A.2.
func (c *Conn) accept(find func(identity string) (Key, bool)) error {
	raw, err := c.message(typeClientHello, true)
	if err != nil {
		return err
	}
	hello, err := c.readHello(raw)
	if err != nil {
		return err
	}
	chosen, s, err := c.choose(hello, find)
	if err != nil {
		return err
	}
	c.ccs = 2
	theirs := c.bestShare(hello)
	if theirs == nil {
		if hello, chosen, err = c.askAgain(hello, s, hello.ids[chosen]); err != nil {
			return err
		}
		theirs = c.bestShare(hello)
	}
	s.said.Write(hello.raw)
	return c.finish(hello, s, chosen, theirs)
}

// finish answers a hello that has shown its key, and has the client show that it is
// fresh.
func (c *Conn) finish(hello *clientHello, s *schedule, chosen int, theirs *share) error {
	own, err := theirs.group.newPair()
	if err != nil {
		return err
	}
	shared, err := agree(own, theirs.key)
	if err != nil {
		return err
	}
	answer := &serverHello{random: random32(), session: hello.session, suite: s.suite, share: share{theirs.group, own.PublicKey().Bytes()}, chosen: chosen}
	raw := answer.marshal()
	s.said.Write(raw)
	if err := c.say(raw); err != nil {
		return err
	}
	if len(hello.session) > 0 {
		if err := c.compat(); err != nil {
			return err
		}
	}
	client, server := s.handshake(shared)
	c.in.use(s.suite, client)
	c.out.use(s.suite, server)
	ext := emptyExtensions()
	s.said.Write(ext)
	fin := finished(s.suite.verify(server, s.said))
	s.said.Write(fin)
	if err := c.say(ext, fin); err != nil {
		return err
	}
	want := s.suite.verify(client, s.said)
	appClient, appServer := s.application()
	c.out.use(s.suite, appServer)
	m, err := c.message(typeFinished, true)
	if err != nil {
		return err
	}
	if !hmac.Equal(m[4:], want) {
		return broke(decryptError, "the client has not shown that it has the key")
	}
	c.in.use(s.suite, appClient)
	c.established()
	return nil
}

// readHello reads a ClientHello and refuses what is not offered here.
func (c *Conn) readHello(raw []byte) (*clientHello, error) {
	m, err := parseClientHello(raw)
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(m.versions, version13):
		return nil, broke(protocolVersion, "the client does not speak TLS 1.3")
	case !m.noZip:
		return nil, broke(illegalParameter, "the client offers compression")
	case len(m.ids) == 0:
		return nil, broke(missingExtension, "the client offers no key")
	case m.early:
		return nil, broke(illegalParameter, "the client sends early data")
	case !bytes.Contains(m.modes, []byte{modePSKDHE}):
		return nil, broke(handshakeFailure, "the client does not offer Diffie-Hellman with a key")
	case len(m.groups) == 0:
		return nil, broke(missingExtension, "the client offers no groups")
	case !slices.ContainsFunc(m.groups, func(g group) bool { return slices.Contains(c.groups, g) }):
		return nil, broke(handshakeFailure, "the client offers no group that is known")
	}
	for i, s := range m.shares {
		if !slices.Contains(m.groups, s.group) || slices.ContainsFunc(m.shares[:i], func(o share) bool { return o.group == s.group }) {
			return nil, broke(illegalParameter, "the client sends a public key of group 0x%04x twice, or without offering the group", uint16(s.group))
		}
	}
	return m, nil
}

// bestShare is the public key of the client that is taken; nil where it has none of a
// known group.
func (c *Conn) bestShare(m *clientHello) *share {
	for _, g := range c.groups {
		for i := range m.shares {
			if m.shares[i].group == g {
				return &m.shares[i]
			}
		}
	}
	return nil
}

// choose takes the first key of the client that is known, and checks that the client
// has it. It is told the same whether there is no such key or it has another.
func (c *Conn) choose(m *clientHello, find func(string) (Key, bool)) (int, *schedule, error) {
	for i, id := range m.ids[:min(len(m.ids), maxIdentities)] {
		if len(id) > maxIdentity {
			continue
		}
		key, ok := find(string(id))
		if !ok || key.valid() != nil || !slices.Contains(m.suites, key.Suite) {
			continue
		}
		c.key = key
		s := newSchedule(key)
		return i, s, m.proven(i, s)
	}
	return 0, nil, broke(decryptError, "%w: it offers %q", ErrKey, m.ids[0])
}

// proven says that the client has the key it offers.
func (m *clientHello) proven(i int, s *schedule) error {
	if !hmac.Equal(m.binders[i], s.binder(m.raw[:m.truncated])) {
		return broke(decryptError, "%w: it offers %q", ErrKey, m.ids[i])
	}
	return nil
}

// askAgain has the client send a public key of a group that is known: a
// HelloRetryRequest. The client may offer fewer keys then, so the one with the
// identity may have another place. Section 4.1.4.
func (c *Conn) askAgain(first *clientHello, s *schedule, identity []byte) (*clientHello, int, error) {
	want := c.groups[slices.IndexFunc(c.groups, func(g group) bool { return slices.Contains(first.groups, g) })]
	retry := &serverHello{random: retryRandom(), session: first.session, suite: s.suite, share: share{group: want}, retry: true}
	s.said.Write(first.raw)
	s.retry()
	raw := retry.marshal()
	s.said.Write(raw)
	if err := c.say(raw); err != nil {
		return nil, 0, err
	}
	if len(first.session) > 0 {
		if err := c.compat(); err != nil {
			return nil, 0, err
		}
	}
	again, err := c.message(typeClientHello, true)
	if err != nil {
		return nil, 0, err
	}
	m, err := c.readHello(again)
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(m.ids, func(id []byte) bool { return bytes.Equal(id, identity) })
	switch {
	case len(m.shares) != 1 || m.shares[0].group != want:
		return nil, 0, broke(illegalParameter, "the client does not send the public key that it was asked for")
	case !bytes.Equal(m.random, first.random) || !bytes.Equal(m.session, first.session) || !slices.Equal(m.suites, first.suites) ||
		!slices.Equal(m.groups, first.groups) || at < 0:
		return nil, 0, broke(illegalParameter, "the client's second hello is not its first")
	}
	return m, at, m.proven(at, s)
}
