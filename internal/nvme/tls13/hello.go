package tls13

import (
	"golang.org/x/crypto/cryptobyte"
)

// Types of handshake messages. Section 4.
const (
	typeClientHello  = 1
	typeServerHello  = 2
	typeTicket       = 4
	typeEncryptedExt = 8
	typeFinished     = 20
	typeKeyUpdate    = 24
	typeMessageHash  = 254
)

// Extensions. Section 4.2.
const (
	extGroups    = 10
	extPSK       = 41
	extEarlyData = 42
	extVersions  = 43
	extCookie    = 44
	extPSKModes  = 45
	extKeyShare  = 51
)

const (
	version12  = 0x0303 // what TLS 1.3 calls itself where old middleboxes look
	version13  = 0x0304
	modePSKDHE = 1 // psk_dhe_ke
)

// A share is a public key for a group.
type share struct {
	group group
	key   []byte
}

// clientHello is a ClientHello. Section 4.1.2.
type clientHello struct {
	random   []byte
	session  []byte
	suites   []Suite
	noZip    bool // it offers no compression
	versions []uint16
	groups   []group
	shares   []share
	cookie   []byte
	modes    []byte
	early    bool // it has early data
	ids      [][]byte
	binders  [][]byte

	raw       []byte // the whole message
	truncated int    // how much of it the binders are computed over
}

// marshal writes the message with its keys, whose binders are still to be filled in:
// they are the last bytes, each with its length before it.
func (m *clientHello) marshal(binder int) []byte {
	var b cryptobyte.Builder
	b.AddUint8(typeClientHello)
	b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) {
		b.AddUint16(version12)
		b.AddBytes(m.random)
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(m.session) })
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			for _, s := range m.suites {
				b.AddUint16(uint16(s))
			}
		})
		b.AddBytes([]byte{1, 0}) // no compression
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { m.extensions(b, binder) })
	})
	return sure(b.Bytes())
}

func (m *clientHello) extensions(b *cryptobyte.Builder, binder int) {
	extension(b, extVersions, func(b *cryptobyte.Builder) {
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddUint16(version13) })
	})
	extension(b, extGroups, func(b *cryptobyte.Builder) {
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			for _, g := range m.groups {
				b.AddUint16(uint16(g))
			}
		})
	})
	extension(b, extKeyShare, func(b *cryptobyte.Builder) {
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			for _, s := range m.shares {
				s.marshal(b)
			}
		})
	})
	if m.cookie != nil {
		extension(b, extCookie, func(b *cryptobyte.Builder) {
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(m.cookie) })
		})
	}
	extension(b, extPSKModes, func(b *cryptobyte.Builder) {
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddUint8(modePSKDHE) })
	})
	extension(b, extPSK, func(b *cryptobyte.Builder) { // must be the last
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			for _, id := range m.ids {
				b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(id) })
				b.AddUint32(0) // external keys have no age
			}
		})
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			for range m.ids {
				b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(make([]byte, binder)) })
			}
		})
	})
}

func extension(b *cryptobyte.Builder, number uint16, body cryptobyte.BuilderContinuation) {
	b.AddUint16(number)
	b.AddUint16LengthPrefixed(body)
}

func (s share) marshal(b *cryptobyte.Builder) {
	b.AddUint16(uint16(s.group))
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(s.key) })
}

// parseClientHello reads a whole message. What it returns points into it.
func parseClientHello(raw []byte) (*clientHello, error) {
	m := &clientHello{raw: raw}
	s := cryptobyte.String(raw)
	var legacy uint16
	var body, session, suites, zips cryptobyte.String
	if !s.Skip(1) || !s.ReadUint24LengthPrefixed(&body) || !s.Empty() || !body.ReadUint16(&legacy) || !body.ReadBytes(&m.random, 32) ||
		!body.ReadUint8LengthPrefixed(&session) || len(session) > 32 ||
		!body.ReadUint16LengthPrefixed(&suites) || !body.ReadUint8LengthPrefixed(&zips) || len(zips) == 0 {
		return nil, broke(decodeError, "the ClientHello cannot be understood")
	}
	m.session, m.noZip = session, len(zips) == 1 && zips[0] == 0
	for !suites.Empty() {
		var n uint16
		if !suites.ReadUint16(&n) {
			return nil, broke(decodeError, "the ClientHello's suites cannot be understood")
		}
		m.suites = append(m.suites, Suite(n))
	}
	if body.Empty() { // as before extensions
		return m, nil
	}
	return m, eachExtension(body, func(number uint16, s *cryptobyte.String, last bool) (bool, error) {
		if number == extPSK && !last {
			return false, broke(illegalParameter, "something follows the keys that the ClientHello offers")
		}
		return m.extension(number, s), nil
	})
}

// extension reads one extension and reports whether it could be understood.
func (m *clientHello) extension(number uint16, s *cryptobyte.String) bool {
	var list cryptobyte.String
	var n uint16
	switch number {
	case extVersions:
		if !s.ReadUint8LengthPrefixed(&list) {
			return false
		}
		for !list.Empty() {
			if !list.ReadUint16(&n) {
				return false
			}
			m.versions = append(m.versions, n)
		}
	case extGroups:
		if !s.ReadUint16LengthPrefixed(&list) {
			return false
		}
		for !list.Empty() {
			if !list.ReadUint16(&n) {
				return false
			}
			m.groups = append(m.groups, group(n))
		}
	case extKeyShare:
		return m.readShares(s)
	case extPSKModes:
		if !s.ReadUint8LengthPrefixed(&list) {
			return false
		}
		m.modes = list
	case extEarlyData:
		m.early = true
	case extPSK:
		return m.readKeys(s)
	default: // of no use here
		return s.Skip(len(*s))
	}
	return true
}

func (m *clientHello) readShares(s *cryptobyte.String) bool {
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) {
		return false
	}
	for !list.Empty() {
		sh, ok := readShare(&list)
		if !ok {
			return false
		}
		m.shares = append(m.shares, sh)
	}
	return true
}

func readShare(s *cryptobyte.String) (share, bool) {
	var n uint16
	var key cryptobyte.String
	ok := s.ReadUint16(&n) && s.ReadUint16LengthPrefixed(&key) && len(key) > 0
	return share{group(n), key}, ok
}

// readKeys reads the identities and binders of the keys that are offered.
func (m *clientHello) readKeys(s *cryptobyte.String) bool {
	var ids, binders, one cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&ids) || !s.ReadUint16LengthPrefixed(&binders) {
		return false
	}
	m.truncated = len(m.raw) - 2 - len(binders) // the extension is the last of the message
	for !ids.Empty() {
		if !ids.ReadUint16LengthPrefixed(&one) || len(one) == 0 || !ids.Skip(4) {
			return false
		}
		m.ids = append(m.ids, one)
	}
	for !binders.Empty() {
		if !binders.ReadUint8LengthPrefixed(&one) || len(one) < 32 {
			return false
		}
		m.binders = append(m.binders, one)
	}
	return len(m.ids) > 0 && len(m.ids) == len(m.binders)
}

// eachExtension calls read for each extension of a list, with what it must read
// whole. None comes twice.
func eachExtension(s cryptobyte.String, read func(number uint16, s *cryptobyte.String, last bool) (bool, error)) error {
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) || !s.Empty() {
		return broke(decodeError, "a list of extensions cannot be understood")
	}
	seen := map[uint16]bool{}
	for !list.Empty() {
		var number uint16
		var body cryptobyte.String
		if !list.ReadUint16(&number) || !list.ReadUint16LengthPrefixed(&body) {
			return broke(decodeError, "a list of extensions cannot be understood")
		}
		if seen[number] {
			return broke(illegalParameter, "extension %d comes twice", number)
		}
		seen[number] = true
		ok, err := read(number, &body, list.Empty())
		if err == nil && (!ok || !body.Empty()) {
			err = broke(decodeError, "extension %d cannot be understood", number)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
