package dhchap

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"weft/internal/nvme/wire"
)

// endless is randomness that is always the same.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte{0x5a}, len(p)))
	return len(p), nil
}

func FuzzParseSecret(f *testing.F) {
	for _, s := range []string{plain32, hash48, hash64, "DHHC-1:00::", "DHHC-1:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSecret(text)
		if err != nil {
			return
		}
		if s.Reveal() != strings.TrimSpace(text) {
			t.Errorf("%q becomes %q", text, s.Reveal())
		}
	})
}

// parts are messages, each after its length in two bytes.
func parts(messages ...[]byte) (b []byte) {
	for _, m := range messages {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(m)))
		b = append(b, m...)
	}
	return b
}

// FuzzController sends any messages to a controller: only the right response
// authenticates, and nobody who fuzzes has the secret.
func FuzzController(f *testing.F) {
	p := peer(f, true)
	p.Random, p.Groups = endless{}, []Group{Null}
	h, c := NewHost(p, 7), NewController(p)
	offer, _ := h.Negotiate()
	_ = c.Send(offer)
	b, _ := c.Receive()
	stale, _ := NewHost(peer(f, true), 7).Negotiate()
	f.Add(parts(offer, nil, b))
	f.Add(parts(offer, nil, h.Failure(wire.AuthFailed)))
	f.Add(parts(offer, stale, nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := peer(t, true)
		p.Host, _ = NewSecret(SHA256, bytes.NewReader(bytes.Repeat([]byte{0xa7}, 32)))
		p.Random, p.Groups = endless{}, []Group{Null}
		c := NewController(p)
		for len(b) >= 2 {
			n := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
			m := b[2 : 2+n]
			b = b[2+n:]
			if n > 0 {
				_ = c.Send(m)
			} else if out, err := c.Receive(); err != nil || len(out) > wire.MaxAuthMessage {
				t.Fatalf("%d bytes, %v", len(out), err)
			}
			if c.Authenticated() {
				t.Fatal("authenticated without the secret")
			}
		}
	})
}

// FuzzHost answers a host with any messages.
func FuzzHost(f *testing.F) {
	p := peer(f, true)
	p.Random = endless{}
	c := NewController(p)
	offer, _ := NewHost(p, 7).Negotiate()
	_ = c.Send(offer)
	b, _ := c.Receive()
	f.Add(b, []byte{})
	f.Add([]byte{}, b)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		p := peer(t, true)
		p.Random, p.Groups = endless{}, []Group{Null}
		h := NewHost(p, 7)
		if _, err := h.Challenge(first); err != nil {
			_ = h.Failure(err)
			return
		}
		if last, err := h.Success(second); err == nil || last != nil {
			t.Fatal("a controller without the secret is taken for the right one")
		}
	})
}
