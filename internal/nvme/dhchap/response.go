package dhchap

import (
	"encoding/binary"
	"errors"
	"io"

	"weft/internal/nvme/wire"
)

// round is what both ends know of one authentication.
type round struct {
	hash        Hash
	group       Group
	transaction uint16
	session     []byte // key from Diffie-Hellman, nil without
	host, sub   string // their NQNs
}

// response proves the possession of key. Section 8.13.5.
func (r *round) response(key, challenge []byte, sequence uint32, role, first, second string) []byte {
	if r.session != nil {
		digest := r.hash.make()
		digest.Write(r.session)
		challenge = r.hash.mac(digest.Sum(nil), challenge)
	}
	var n [7]byte // the last byte: no secure channel
	binary.LittleEndian.PutUint32(n[0:], sequence)
	binary.LittleEndian.PutUint16(n[4:], r.transaction)
	return r.hash.mac(key, challenge, n[:], []byte(role), []byte(first), []byte{0}, []byte(second))
}

// ofHost is the host's response.
func (r *round) ofHost(s Secret, challenge []byte, sequence uint32) []byte {
	return r.response(s.transformed(r.host), challenge, sequence, "HostHost", r.host, r.sub)
}

// ofController is the controller's response.
func (r *round) ofController(s Secret, challenge []byte, sequence uint32) []byte {
	return r.response(s.transformed(r.sub), challenge, sequence, "Controller", r.sub, r.host)
}

// challenge is random, with a sequence number that is not 0.
func challenge(h Hash, random io.Reader) (value []byte, sequence uint32, err error) {
	b := make([]byte, h.Size()+4)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, 0, err
	}
	return b[4:], binary.LittleEndian.Uint32(b) | 1, nil
}

// reason is what the other end is told of an error.
func reason(err error) wire.AuthReason {
	var r wire.AuthReason
	if errors.As(err, &r) {
		return r
	}
	return wire.AuthFailed
}
