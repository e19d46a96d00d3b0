package tls13

import (
	"crypto/hkdf"
	"crypto/hmac"
	"hash"

	"golang.org/x/crypto/cryptobyte"
)

// Extract is HKDF-Extract of RFC 5869 with the suite's hash; a nil salt or secret
// is as many zeros as the hash is long.
func (s Suite) Extract(salt, secret []byte) []byte {
	zeros := make([]byte, s.Size())
	if salt == nil {
		salt = zeros
	}
	if secret == nil {
		secret = zeros
	}
	out, err := hkdf.Extract(s.Hash, secret, salt)
	return sure(out, err)
}

// ExpandLabel is HKDF-Expand-Label. RFC 8446, section 7.1. The label has at most
// 249 bytes, the context 255.
func (s Suite) ExpandLabel(secret []byte, label string, context []byte, length int) []byte {
	var b cryptobyte.Builder
	b.AddUint16(uint16(length))
	b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte("tls13 " + label)) })
	b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(context) })
	info, err := b.Bytes()
	out, err2 := hkdf.Expand(s.Hash, secret, string(sure(info, err)), length)
	return sure(out, err2)
}

// sure takes a result that cannot fail with the lengths that this package uses.
func sure(b []byte, err error) []byte {
	if err != nil {
		panic("tls13: " + err.Error())
	}
	return b
}

// derive is Derive-Secret of what was said so far. Section 7.1.
func (s Suite) derive(secret []byte, label string, said hash.Hash) []byte {
	return s.ExpandLabel(secret, label, said.Sum(nil), s.Size())
}

// verify is the verify_data of Finished, or a binder. Section 4.4.4.
func (s Suite) verify(base []byte, said hash.Hash) []byte {
	m := hmac.New(s.Hash, s.ExpandLabel(base, "finished", nil, s.Size()))
	m.Write(said.Sum(nil))
	return m.Sum(nil)
}

// A schedule derives the secrets of one connection. Section 7.1.
type schedule struct {
	suite  Suite
	secret []byte    // early, handshake or master secret
	said   hash.Hash // the transcript so far
}

func newSchedule(k Key) *schedule {
	return &schedule{suite: k.Suite, secret: k.Suite.Extract(nil, k.Secret), said: k.Suite.Hash()}
}

// use begins with another key of the same suite. It comes before handshake.
func (s *schedule) use(k Key) { s.secret = s.suite.Extract(nil, k.Secret) }

// binder proves the key for a ClientHello, of which all before the binders is given.
// It comes before handshake.
func (s *schedule) binder(truncated []byte) []byte {
	key := s.suite.derive(s.secret, "ext binder", s.suite.Hash())
	said := s.fork()
	said.Write(truncated)
	return s.suite.verify(key, said)
}

// fork is a copy of the transcript.
func (s *schedule) fork() hash.Hash {
	c, err := s.said.(hash.Cloner).Clone()
	if err != nil {
		panic("tls13: " + err.Error())
	}
	return c
}

// retry replaces the first ClientHello by its hash. Section 4.4.1.
func (s *schedule) retry() {
	first := s.said.Sum(nil)
	s.said = s.suite.Hash()
	s.said.Write([]byte{typeMessageHash, 0, 0, byte(len(first))})
	s.said.Write(first)
}

// handshake goes on with the secret of Diffie-Hellman, after ServerHello, and gives
// those of both ends.
func (s *schedule) handshake(shared []byte) (client, server []byte) {
	s.next(shared)
	return s.suite.derive(s.secret, "c hs traffic", s.said), s.suite.derive(s.secret, "s hs traffic", s.said)
}

// application goes on after the server's Finished, and gives the secrets of both ends.
func (s *schedule) application() (client, server []byte) {
	s.next(nil)
	return s.suite.derive(s.secret, "c ap traffic", s.said), s.suite.derive(s.secret, "s ap traffic", s.said)
}

func (s *schedule) next(input []byte) {
	s.secret = s.suite.Extract(s.suite.derive(s.secret, "derived", s.suite.Hash()), input)
}
