package tls13

import (
	"crypto/ecdh"
	"crypto/rand"
)

// A group is one of Diffie-Hellman. Section 4.2.7.
type group uint16

const (
	p256   group = 0x0017
	p384   group = 0x0018
	x25519 group = 0x001d
)

// groups are those that this package knows, the best first.
func groups() []group { return []group{x25519, p256, p384} }

// curve is nil for a group that is not known.
func (g group) curve() ecdh.Curve {
	switch g {
	case x25519:
		return ecdh.X25519()
	case p256:
		return ecdh.P256()
	case p384:
		return ecdh.P384()
	}
	return nil
}

// newPair makes a key for one connection.
func (g group) newPair() (*ecdh.PrivateKey, error) { return g.curve().GenerateKey(rand.Reader) }

// agree is the secret that both ends have.
func agree(own *ecdh.PrivateKey, peer []byte) ([]byte, error) {
	pub, err := own.Curve().NewPublicKey(peer)
	if err != nil {
		return nil, broke(illegalParameter, "the peer's public key is none: %w", err)
	}
	secret, err := own.ECDH(pub)
	if err != nil {
		return nil, broke(illegalParameter, "the peer's public key gives no secret: %w", err)
	}
	return secret, nil
}
