// Package dhchap authenticates hosts and controllers to each other by
// DH-HMAC-CHAP, the in-band authentication of NVMe over Fabrics.
//
// [Host] and [Controller] are the two ends as plain state: messages go in and
// come out, and nothing here does I/O. Section numbers are those of the NVM
// Express Base Specification 2.0.
package dhchap

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// Hash is a hash function by its number on the wire.
type Hash uint8

// The hash functions. None is only a secret's: used as it is.
const (
	None   Hash = 0
	SHA256 Hash = 1
	SHA384 Hash = 2
	SHA512 Hash = 3
)

// ParseHash reads "sha256", "sha384" or "sha512".
func ParseHash(s string) (Hash, error) {
	for _, h := range []Hash{SHA256, SHA384, SHA512} {
		if s == h.String() {
			return h, nil
		}
	}
	return None, fmt.Errorf("hash %q is none of sha256, sha384, sha512", s)
}

// String is the name that ParseHash reads.
func (h Hash) String() string {
	return cmp.Or(map[Hash]string{
		SHA256: "sha256",
		SHA384: "sha384",
		SHA512: "sha512",
	}[h], "none")
}

// Size is the length of a digest, 0 of what is no hash.
func (h Hash) Size() int {
	switch h {
	case SHA256:
		return sha256.Size
	case SHA384:
		return sha512.Size384
	case SHA512:
		return sha512.Size
	}
	return 0
}

// make returns the hash function, which must be one.
func (h Hash) make() hash.Hash {
	switch h {
	case SHA384:
		return sha512.New384()
	case SHA512:
		return sha512.New()
	}
	return sha256.New()
}

// mac is HMAC over the parts, one after the other.
func (h Hash) mac(key []byte, parts ...[]byte) []byte {
	m := hmac.New(h.make, key)
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}

// A Secret is a key that a host or a subsystem proves to have.
type Secret struct {
	hash Hash
	key  []byte
}

const (
	prefix = "DHHC-1:"
	crcLen = 4
)

// ParseSecret reads the text form, DHHC-1:HH:BASE64: where HH is the hash that
// transforms the key (00 for none) and the base64 text ends with the key's
// CRC-32. What is wrong is said without showing any of it.
func ParseSecret(s string) (Secret, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), prefix)
	if !ok {
		return Secret{}, fmt.Errorf("secret does not begin with %q", prefix)
	}
	number, rest, ok := strings.Cut(rest, ":")
	text, ended := strings.CutSuffix(rest, ":")
	if !ok || !ended || len(number) != 2 {
		return Secret{}, errors.New("secret is not of the form \"DHHC-1:HH:BASE64:\"")
	}
	n, err := strconv.ParseUint(number, 16, 8)
	if err != nil || n > uint64(SHA512) {
		return Secret{}, errors.New("secret has a hash other than 00, 01, 02 and 03")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which base64 passes over, and the kernel does not
		return Secret{}, errors.New("secret is not base64")
	}
	if !keySize(len(raw) - crcLen) {
		return Secret{}, errors.New("secret's key is not 32, 48 or 64 bytes long")
	}
	key := raw[:len(raw)-crcLen]
	if binary.LittleEndian.Uint32(raw[len(key):]) != crc32.ChecksumIEEE(key) {
		return Secret{}, errors.New("secret's checksum is wrong: it was not copied whole")
	}
	return Secret{Hash(n), key}, nil
}

func keySize(n int) bool { return n == SHA256.Size() || n == SHA384.Size() || n == SHA512.Size() }

// NewSecret makes a secret of the size of h from random bytes.
func NewSecret(h Hash, random io.Reader) (Secret, error) {
	if h.Size() == 0 {
		return Secret{}, fmt.Errorf("a new secret needs a hash")
	}
	s := Secret{h, make([]byte, h.Size())}
	if _, err := io.ReadFull(random, s.key); err != nil {
		return Secret{}, fmt.Errorf("reading random bytes: %w", err)
	}
	return s, nil
}

// Reveal is the text form that ParseSecret reads.
func (s Secret) Reveal() string {
	raw := binary.LittleEndian.AppendUint32(append([]byte(nil), s.key...), crc32.ChecksumIEEE(s.key))
	return fmt.Sprintf("%s%02x:%s:", prefix, uint8(s.hash), base64.StdEncoding.EncodeToString(raw))
}

// String hides the key, so that it gets into no log.
func (s Secret) String() string { return prefix + "(hidden)" }

// GoString hides the key, too.
func (s Secret) GoString() string { return s.String() }

// Equal says whether both prove the same.
func (s Secret) Equal(other Secret) bool { return s.hash == other.hash && hmac.Equal(s.key, other.key) }

// Empty says that this is the zero Secret.
func (s Secret) Empty() bool { return len(s.key) == 0 }

// transformed is the key as its owner uses it. Section 8.13.5.7.
func (s Secret) transformed(nqn string) []byte {
	if s.hash == None {
		return s.key
	}
	return s.hash.mac(s.key, []byte(nqn), []byte("NVMe-over-Fabrics"))
}
