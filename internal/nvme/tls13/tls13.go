// Package tls13 is TLS 1.3 (RFC 8446) between two ends that share a key, over any
// connection: the mode psk_dhe_ke with an external PSK and nothing else.
//
// crypto/tls takes no external PSK (it knows those of its own tickets only, whose
// binders are others), and no library that is kept was found that does. So this is
// the handshake that NVMe/TCP needs, on the primitives of the standard library:
// AES-GCM, HKDF, X25519, P-256 and P-384. What TLS 1.3 leaves open and this package
// refuses: certificates, PSKs without Diffie-Hellman, early data, resumption (a
// server gives no tickets, a client drops those it gets), and every older version.
//
// Who has not proven to have the key costs a server little: one message of at most
// 8 KiB is read and its binder checked before anything is computed with curves. How
// long that may take is the caller's to say, by the connection's deadline.
package tls13

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
)

// A Suite is a cipher suite by its number on the wire.
type Suite uint16

// The suites that NVMe/TCP names; each goes with keys for its hash.
const (
	AES128SHA256 Suite = 0x1301 // TLS_AES_128_GCM_SHA256
	AES256SHA384 Suite = 0x1302 // TLS_AES_256_GCM_SHA384
)

// String is the name in RFC 8446, appendix B.4.
func (s Suite) String() string {
	switch s {
	case AES128SHA256:
		return "TLS_AES_128_GCM_SHA256"
	case AES256SHA384:
		return "TLS_AES_256_GCM_SHA384"
	}
	return fmt.Sprintf("suite 0x%04x", uint16(s))
}

// Hash makes the hash function of the suite.
func (s Suite) Hash() hash.Hash {
	if s == AES256SHA384 {
		return sha512.New384()
	}
	return sha256.New()
}

// Size is the length of the hash in bytes.
func (s Suite) Size() int {
	if s == AES256SHA384 {
		return sha512.Size384
	}
	return sha256.Size
}

// keySize is the length of the key of AES in bytes.
func (s Suite) keySize() int {
	if s == AES256SHA384 {
		return 32
	}
	return 16
}

// A Key is what both ends know.
type Key struct {
	Identity string // by which the client says which key it is; not secret, sent in clear
	Secret   []byte
	Suite    Suite // the only one that is used with it
}

// valid says what is wrong with a key.
func (k Key) valid() error {
	switch {
	case k.Suite != AES128SHA256 && k.Suite != AES256SHA384:
		return fmt.Errorf("no key for %v", k.Suite)
	case len(k.Secret) < 16:
		return fmt.Errorf("a key of %d bytes, want 16 or more", len(k.Secret))
	case k.Identity == "" || len(k.Identity) > maxIdentity:
		return fmt.Errorf("an identity of %d bytes, want 1 to %d", len(k.Identity), maxIdentity)
	}
	return nil
}

// String hides the secret, so that it gets into no log.
func (k Key) String() string { return fmt.Sprintf("%q (%v)", k.Identity, k.Suite) }

// GoString hides it, too.
func (k Key) GoString() string { return k.String() }

// Bounds of what is taken from a peer.
const (
	maxIdentity   = 1 << 10 // bytes of an identity
	maxIdentities = 8       // of a client that a server looks up
	maxHello      = 8 << 10 // bytes of a message, and of a record, before the peer has shown its key
	maxMessage    = 20 << 10
	maxPlain      = 1 << 14        // bytes of data in a record: section 5.1
	maxRecord     = maxPlain + 256 // bytes of a protected record: section 5.2
	maxEmpty      = 16             // records in a row that carry nothing
)
