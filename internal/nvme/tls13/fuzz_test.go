package tls13

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"
)

func FuzzClientHello(f *testing.F) {
	f.Add(goodHello().signed())
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseClientHello(raw)
		if err == nil && len(m.ids) > 0 && (m.truncated <= 0 || m.truncated >= len(raw)) {
			t.Fatalf("binders from %d of %d", m.truncated, len(raw))
		}
	})
}

func FuzzServerHello(f *testing.F) {
	f.Add((&serverHello{random: random32(), session: random32(), suite: AES128SHA256, share: share{x25519, random32()}}).marshal())
	f.Add((&serverHello{random: retryRandom(), session: random32(), suite: AES256SHA384, share: share{group: p256}, retry: true}).marshal())
	f.Add(old(goodHello()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseServerHello(raw)
		if err != nil || m.version != version13 || m.chosen < 0 || m.retry || len(m.share.key) == 0 { // no hello that marshal writes
			return
		}
		if back, err := parseServerHello(m.marshal()); err != nil || back.suite != m.suite || back.chosen != m.chosen || !bytes.Equal(back.share.key, m.share.key) {
			t.Fatalf("%+v becomes %+v: %v", m, back, err)
		}
	})
}

// heardOnly is a connection that gives what was fuzzed and takes anything.
type heardOnly struct{ io.Reader }

func (heardOnly) Write(b []byte) (int, error)      { return len(b), nil }
func (heardOnly) Close() error                     { return nil }
func (heardOnly) LocalAddr() net.Addr              { return nil }
func (heardOnly) RemoteAddr() net.Addr             { return nil }
func (heardOnly) SetDeadline(time.Time) error      { return nil }
func (heardOnly) SetReadDeadline(time.Time) error  { return nil }
func (heardOnly) SetWriteDeadline(time.Time) error { return nil }

// FuzzPeers says anything to a server and to a client; neither may take it for a peer
// with the key, nor ever hang.
func FuzzPeers(f *testing.F) {
	f.Add(record(recordHandshake, goodHello().signed()))
	f.Add(record(recordHandshake, (&serverHello{random: random32(), suite: AES128SHA256, share: share{x25519, random32()}}).marshal()))
	f.Add(record(recordAlert, []byte{2, 40}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := Server(heardOnly{bytes.NewReader(raw)}, finds(testKey(AES128SHA256))); err == nil {
			t.Fatal("taken for a client")
		}
		if _, err := Client(context.Background(), heardOnly{bytes.NewReader(raw)}, testKey(AES128SHA256)); err == nil {
			t.Fatal("taken for a server")
		}
	})
}

// FuzzRecords says anything behind a handshake, with the right protection: each byte
// string is one record, its first byte the type.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{recordData, 'x'}, []byte{recordHandshake, typeKeyUpdate, 0, 0, 1, 1})
	f.Add([]byte{recordHandshake, typeTicket, 0, 0, 1, 0}, []byte{recordAlert, 1, 0})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var sender half
		secret := make([]byte, 32)
		sender.use(AES128SHA256, secret)
		var all []byte
		for _, r := range [][]byte{first, second} {
			if len(r) > 0 && len(r) <= maxPlain {
				all = sender.seal(all, r[0], r[1:])
			}
		}
		c := newConn(heardOnly{bytes.NewReader(all)}, true)
		c.in.use(AES128SHA256, secret)
		c.out.use(AES128SHA256, secret)
		c.established()
		if _, err := io.Copy(io.Discard, c); err != nil && c.rerr == nil {
			t.Fatalf("%v, but it goes on", err)
		}
	})
}
