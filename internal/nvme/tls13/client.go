package tls13

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hmac"
	"slices"
)

// connect is the client's handshake. Section 4, appendix A.1.
func (c *Conn) connect(keys []Key) error {
	suite := keys[0].Suite
	hello := &clientHello{random: random32(), session: random32(), suites: []Suite{suite}, groups: c.groups}
	for _, k := range keys {
		hello.ids = append(hello.ids, []byte(k.Identity))
	}
	s := newSchedule(keys[0])
	own, err := c.offer(hello, keys, s, c.groups[0])
	if err != nil {
		return err
	}
	c.ccs = 2
	answer, raw, err := c.answer(hello)
	if err == nil && answer.retry {
		if own, err = c.again(hello, keys, s, answer, raw, own); err == nil {
			if answer, raw, err = c.answer(hello); err == nil && answer.retry {
				err = broke(unexpectedMessage, "the server asks for another group twice")
			}
		}
	} else if err == nil {
		err = c.compat()
	}
	if err != nil {
		return err
	}
	switch {
	case answer.chosen < 0:
		return broke(handshakeFailure, "the server does not take the key; it would go on without")
	case answer.chosen >= len(keys):
		return broke(illegalParameter, "the server takes key %d of %d", answer.chosen+1, len(keys))
	}
	c.key = keys[answer.chosen]
	s.use(c.key)
	if answer.share.group.curve() != own.Curve() {
		return broke(illegalParameter, "the server answers with group 0x%04x, which was not offered", uint16(answer.share.group))
	}
	shared, err := agree(own, answer.share.key)
	if err != nil {
		return err
	}
	s.said.Write(raw)
	client, server := s.handshake(shared)
	c.in.use(s.suite, server)
	c.out.use(s.suite, client)
	return c.conclude(s, client, server)
}

// conclude checks the server's Finished and answers it.
func (c *Conn) conclude(s *schedule, client, server []byte) error {
	m, err := c.message(typeEncryptedExt, false)
	if err != nil {
		return err
	}
	if err := checkExtensions(m); err != nil {
		return err
	}
	s.said.Write(m)
	want := s.suite.verify(server, s.said)
	if m, err = c.message(typeFinished, true); err != nil {
		return err
	}
	if !hmac.Equal(m[4:], want) {
		return broke(decryptError, "the server has not shown that it has the key")
	}
	s.said.Write(m)
	appClient, appServer := s.application()
	if err := c.say(finished(s.suite.verify(client, s.said))); err != nil {
		return err
	}
	c.in.use(s.suite, appServer)
	c.out.use(s.suite, appClient)
	c.established()
	return nil
}

// offer sends the hello with a new public key of a group, and a binder for each key.
func (c *Conn) offer(hello *clientHello, keys []Key, s *schedule, g group) (*ecdh.PrivateKey, error) {
	own, err := g.newPair()
	if err != nil {
		return nil, err
	}
	hello.shares = []share{{g, own.PublicKey().Bytes()}}
	n := s.suite.Size()
	raw := hello.marshal(n)
	binders := raw[len(raw)-len(keys)*(1+n):]
	for i, k := range keys {
		s.use(k)
		copy(binders[i*(1+n)+1:], s.binder(raw[:len(raw)-len(binders)-2]))
	}
	s.said.Write(raw)
	return own, c.say(raw)
}

// answer reads the server's hello and judges what holds of a retry, too.
func (c *Conn) answer(hello *clientHello) (*serverHello, []byte, error) {
	raw, err := c.message(typeServerHello, true)
	if err != nil {
		return nil, nil, err
	}
	m, err := parseServerHello(raw)
	switch {
	case err != nil:
		return nil, nil, err
	case m.version != version13:
		return nil, nil, broke(protocolVersion, "the server speaks a version other than TLS 1.3: 0x%04x", m.version)
	case !bytes.Equal(m.session, hello.session):
		return nil, nil, broke(illegalParameter, "the server answers with another session")
	case m.suite != hello.suites[0]:
		return nil, nil, broke(illegalParameter, "the server answers with %v, only %v was offered", m.suite, hello.suites[0])
	}
	return m, raw, nil
}

// again does what a HelloRetryRequest asks for.
func (c *Conn) again(hello *clientHello, keys []Key, s *schedule, answer *serverHello, raw []byte, own *ecdh.PrivateKey) (*ecdh.PrivateKey, error) {
	g := answer.share.group
	if !slices.Contains(hello.groups, g) || g.curve() == own.Curve() {
		return nil, broke(illegalParameter, "the server asks for group 0x%04x, which was not offered, or was tried", uint16(g))
	}
	s.retry()
	s.said.Write(raw)
	hello.cookie = bytes.Clone(answer.cookie)
	if err := c.compat(); err != nil {
		return nil, err
	}
	return c.offer(hello, keys, s, g)
}
