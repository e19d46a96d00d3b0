// Package psk is the keys of NVMe/TCP over TLS: the form in which people hand them
// around, and what of them TLS is given.
//
// Keys are derived as the specification says and OpenSSL's HKDF confirms. By reading,
// libnvme left the lengths out of the labels for years (its commit 034a6e9 does): what
// such an nvme-cli derives from the same text is another key, which no handshake takes.
//
// So does that of Debian 13 (nvme-cli 2.13, libnvme 1.13): seen in a guest. With keys derived
// as here in its keyring, Linux 6.12 with tlshd is a peer both ways (tls.txtar of make lab).
//
// Section numbers are those of the NVMe TCP Transport Specification 1.0.
package psk

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"weft/internal/nvme/tls13"
)

// A Key is a configured PSK: what an administrator gives to both ends.
type Key struct {
	bound  bool   // it is transformed for each host before it is used
	secret []byte // 32 bytes go with SHA-256, 48 with SHA-384
}

const (
	prefix = "NVMeTLSkey-1:"
	crcLen = 4
)

// Parse reads the interchange format, NVMeTLSkey-1:HH:BASE64:, where HH is the hash
// that transforms the key (00 for none, 01 for SHA-256, 02 for SHA-384) and the base64
// text ends with the key's CRC-32. nvme gen-tls-key writes it. What is wrong is said
// without showing any of it. Section 3.6.1.5.
func Parse(s string) (Key, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), prefix)
	if !ok {
		return Key{}, fmt.Errorf("TLS key does not begin with %q", prefix)
	}
	number, rest, ok := strings.Cut(rest, ":")
	text, ended := strings.CutSuffix(rest, ":")
	if !ok || !ended {
		return Key{}, fmt.Errorf("TLS key is not of the form \"%sHH:BASE64:\"", prefix)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which base64 passes over, and the kernel does not
		return Key{}, errors.New("TLS key is not base64")
	}
	k := Key{number != "00", raw[:max(0, len(raw)-crcLen)]}
	if len(k.secret) != 32 && len(k.secret) != 48 {
		return Key{}, errors.New("TLS key is not 32 or 48 bytes long")
	}
	if binary.LittleEndian.Uint32(raw[len(k.secret):]) != crc32.ChecksumIEEE(k.secret) {
		return Key{}, errors.New("TLS key's checksum is wrong: it was not copied whole")
	}
	if number != k.number() {
		return Key{}, errors.New("TLS key has another hash than goes with its length: 00, 01 for 32 bytes, or 02 for 48")
	}
	return k, nil
}

// New makes a key for a suite from random bytes, which is transformed for each host.
func New(s tls13.Suite, random io.Reader) (Key, error) {
	k := Key{true, make([]byte, s.Size())}
	if _, err := io.ReadFull(random, k.secret); err != nil {
		return Key{}, fmt.Errorf("reading random bytes: %w", err)
	}
	return k, nil
}

// Reveal is the text that Parse reads.
func (k Key) Reveal() string {
	raw := binary.LittleEndian.AppendUint32(append([]byte(nil), k.secret...), crc32.ChecksumIEEE(k.secret))
	return prefix + k.number() + ":" + base64.StdEncoding.EncodeToString(raw) + ":"
}

// number is the hash that transforms the key.
func (k Key) number() string {
	if !k.bound {
		return "00"
	}
	return k.hash()
}

// hash is the hash of the suite, as identities name it.
func (k Key) hash() string {
	if k.Suite() == tls13.AES256SHA384 {
		return "02"
	}
	return "01"
}

// Suite is the cipher suite that goes with the key's length.
func (k Key) Suite() tls13.Suite {
	if len(k.secret) == tls13.AES256SHA384.Size() {
		return tls13.AES256SHA384
	}
	return tls13.AES128SHA256
}

// String hides the key, so that it gets into no log.
func (k Key) String() string { return prefix + "(hidden)" }

// GoString hides it, too.
func (k Key) GoString() string { return k.String() }

// Version is which form of an identity is meant.
type Version uint8

// The versions. One names the key that it is for, so that keys can be changed while
// both are known; zero is that of older implementations.
const (
	Zero Version = 0
	One  Version = 1
)

// TLS is what TLS is given between a host and a subsystem, the discovery subsystem
// included. Zero has an identity of at most 255 bytes. Section 3.6.1.3.
func (k Key) TLS(v Version, host, subsystem string) (tls13.Key, error) {
	s := k.Suite()
	retained := k.retained(host)
	id := fmt.Sprintf("NVMe%dR%s %s %s", v, k.hash(), host, subsystem)
	context := id
	if v == One {
		m := hmac.New(s.Hash, retained)
		fmt.Fprintf(m, "%s %s NVMe-over-Fabrics", host, subsystem)
		digest := base64.StdEncoding.EncodeToString(m.Sum(nil))
		id += " " + digest
		context = k.hash() + " " + digest
	}
	if len(context) > 255 {
		return tls13.Key{}, fmt.Errorf("the names of %s and %s are %d bytes too long for TLS: an identity of version 0 has at most 255", host, subsystem, len(context)-255)
	}
	secret := s.ExpandLabel(s.Extract(nil, retained), "nvme-tls-psk", []byte(context), s.Size())
	return tls13.Key{Identity: id, Secret: secret, Suite: s}, nil
}

// retained is the key as it is kept for a host.
func (k Key) retained(host string) []byte {
	if !k.bound {
		return k.secret
	}
	s := k.Suite()
	return s.ExpandLabel(s.Extract(nil, k.secret), "HostNQN", []byte(host), len(k.secret))
}

// ParseIdentity takes an identity apart. It says nothing about whether there is a key.
func ParseIdentity(id string) (v Version, host, subsystem string, err error) {
	parts := strings.Split(id, " ")
	wrong := fmt.Errorf("identity %.300q is none of NVMe/TCP", id)
	switch head := parts[0]; {
	case (head == "NVMe0R01" || head == "NVMe0R02") && len(parts) == 3:
		v = Zero
	case (head == "NVMe1R01" || head == "NVMe1R02") && len(parts) == 4:
		v = One
	default:
		return 0, "", "", wrong
	}
	if parts[1] == "" || parts[2] == "" {
		return 0, "", "", wrong
	}
	return v, parts[1], parts[2], nil
}
