package tls13

import (
	"bytes"
	"crypto/sha256"

	"golang.org/x/crypto/cryptobyte"
)

// serverHello is a ServerHello, or a HelloRetryRequest, which has its form. Sections
// 4.1.3 and 4.1.4.
type serverHello struct {
	random  []byte
	session []byte
	suite   Suite
	version uint16 // of the extension; 0: not there, so the server speaks an older one
	share   share  // of a retry only the group
	chosen  int    // which key; -1: none
	cookie  []byte
	retry   bool
}

// retryRandom is what tells a retry.
func retryRandom() []byte {
	sum := sha256.Sum256([]byte("HelloRetryRequest"))
	return sum[:]
}

func (m *serverHello) marshal() []byte {
	var b cryptobyte.Builder
	b.AddUint8(typeServerHello)
	b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) {
		b.AddUint16(version12)
		b.AddBytes(m.random)
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(m.session) })
		b.AddUint16(uint16(m.suite))
		b.AddUint8(0)
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			extension(b, extVersions, func(b *cryptobyte.Builder) { b.AddUint16(version13) })
			extension(b, extKeyShare, func(b *cryptobyte.Builder) {
				if m.retry {
					b.AddUint16(uint16(m.share.group))
				} else {
					m.share.marshal(b)
				}
			})
			if !m.retry {
				extension(b, extPSK, func(b *cryptobyte.Builder) { b.AddUint16(uint16(m.chosen)) })
			}
		})
	})
	return sure(b.Bytes())
}

// parseServerHello reads a whole message. What it returns points into it.
func parseServerHello(raw []byte) (*serverHello, error) {
	m := &serverHello{chosen: -1}
	s := cryptobyte.String(raw)
	var legacy, suite uint16
	var zip uint8
	var body, session cryptobyte.String
	if !s.Skip(1) || !s.ReadUint24LengthPrefixed(&body) || !s.Empty() || !body.ReadUint16(&legacy) || !body.ReadBytes(&m.random, 32) ||
		!body.ReadUint8LengthPrefixed(&session) || len(session) > 32 || !body.ReadUint16(&suite) || !body.ReadUint8(&zip) {
		return nil, broke(decodeError, "the ServerHello cannot be understood")
	}
	if legacy != version12 || zip != 0 {
		return nil, broke(protocolVersion, "the server speaks version 0x%04x with compression %d, not TLS 1.3", legacy, zip)
	}
	m.session, m.suite, m.retry = session, Suite(suite), bytes.Equal(m.random, retryRandom())
	if body.Empty() { // as before extensions
		return m, nil
	}
	return m, eachExtension(body, func(number uint16, s *cryptobyte.String, _ bool) (bool, error) {
		return m.extension(number, s)
	})
}

func (m *serverHello) extension(number uint16, s *cryptobyte.String) (ok bool, err error) {
	var n uint16
	switch {
	case number == extVersions:
		return s.ReadUint16(&m.version), nil
	case number == extKeyShare && m.retry:
		ok = s.ReadUint16(&n)
		m.share.group = group(n)
		return ok, nil
	case number == extKeyShare:
		m.share, ok = readShare(s)
		return ok, nil
	case number == extPSK && !m.retry:
		ok = s.ReadUint16(&n)
		m.chosen = int(n)
		return ok, nil
	case number == extCookie && m.retry:
		var c cryptobyte.String
		ok = s.ReadUint16LengthPrefixed(&c) && len(c) > 0
		m.cookie = c
		return ok, nil
	}
	return false, broke(unsupportedExtension, "the server answers with extension %d, which was not offered", number)
}

// emptyExtensions is EncryptedExtensions without any.
func emptyExtensions() []byte { return []byte{typeEncryptedExt, 0, 0, 2, 0, 0} }

// checkExtensions judges EncryptedExtensions: nothing was offered that belongs there,
// but for the groups that the server would rather have. Section 4.2.7.
func checkExtensions(raw []byte) error {
	return eachExtension(cryptobyte.String(raw[4:]), func(number uint16, s *cryptobyte.String, _ bool) (bool, error) {
		if number != extGroups {
			return false, broke(unsupportedExtension, "the server answers with extension %d, which was not offered", number)
		}
		return s.Skip(len(*s)), nil
	})
}

// finished is Finished with its verify_data.
func finished(verify []byte) []byte {
	return append([]byte{typeFinished, 0, 0, byte(len(verify))}, verify...)
}

// keyUpdate is KeyUpdate, which may ask the peer for the same. Section 4.6.3.
func keyUpdate(ask bool) []byte {
	m := []byte{typeKeyUpdate, 0, 0, 1, 0}
	if ask {
		m[4] = 1
	}
	return m
}
