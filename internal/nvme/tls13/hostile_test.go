package tls13

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// goodHello is what a client sends first, before a test spoils it.
func goodHello() *clientHello {
	own, _ := x25519.newPair()
	return &clientHello{random: random32(), session: random32(), suites: []Suite{AES128SHA256}, groups: groups(),
		shares: []share{{x25519, own.PublicKey().Bytes()}}, ids: [][]byte{[]byte(testKey(AES128SHA256).Identity)}}
}

// signed is the message with a right binder.
func (m *clientHello) signed() []byte {
	raw := m.marshal(32)
	copy(raw[len(raw)-32:], newSchedule(testKey(AES128SHA256)).binder(raw[:len(raw)-35]))
	return raw
}

// replaced is a hello with other bytes in place of some, of the same length, signed
// anew.
func replaced(from, to string) []byte {
	raw := bytes.Replace(goodHello().marshal(32), []byte(from), []byte(to), 1)
	copy(raw[len(raw)-32:], newSchedule(testKey(AES128SHA256)).binder(raw[:len(raw)-35]))
	return raw
}

func record(kind byte, plain []byte) []byte { return new(half).seal(nil, kind, plain) }

// TestHostileClients are answered with an alert and cost no curve.
func TestHostileClients(t *testing.T) {
	hello := func(spoil func(*clientHello)) []byte {
		m := goodHello()
		spoil(m)
		return record(recordHandshake, m.signed())
	}
	ext := func(from, to string) []byte { return record(recordHandshake, replaced(from, to)) }
	for name, c := range map[string]struct {
		sends []byte
		want  string
	}{
		"NVMe without TLS":      {[]byte{0, 0, 128, 0, 128, 0, 0, 0}, "does not speak TLS"},
		"TLS 1.2":               {ext("\x00\x2b\x00\x03\x02\x03\x04", "\x00\x2b\x00\x03\x02\x03\x03"), "protocol_version"},
		"no versions":           {ext("\x00\x2b\x00\x03\x02\x03\x04", "\xff\x2b\x00\x03\x02\x03\x04"), "protocol_version"},
		"a PSK without DH":      {ext("\x00\x2d\x00\x02\x01\x01", "\x00\x2d\x00\x02\x01\x00"), "handshake_failure"},
		"no modes":              {ext("\x00\x2d\x00\x02\x01\x01", "\xff\x2d\x00\x02\x01\x01"), "handshake_failure"},
		"early data":            {ext("\x00\x2d\x00\x02\x01\x01", "\x00\x2a\x00\x02\x01\x01"), "decode_error"},
		"twice the same":        {ext("\x00\x2d\x00\x02\x01\x01", "\x00\x0a\x00\x02\x01\x01"), "illegal_parameter"},
		"compression":           {ext("\x13\x01\x01\x00", "\x13\x01\x01\x01"), "illegal_parameter"},
		"only foreign suites":   {hello(func(m *clientHello) { m.suites = []Suite{0x1303} }), "decrypt_error"},
		"only foreign groups":   {hello(func(m *clientHello) { m.groups = []group{0x0019}; m.shares[0].group = 0x0019 }), "handshake_failure"},
		"a share not offered":   {hello(func(m *clientHello) { m.groups = []group{p256} }), "illegal_parameter"},
		"the same share twice":  {hello(func(m *clientHello) { m.shares = append(m.shares, m.shares[0]) }), "illegal_parameter"},
		"a point that is none":  {hello(func(m *clientHello) { m.shares[0] = share{p256, make([]byte, 65)} }), "illegal_parameter"},
		"a point of order one":  {hello(func(m *clientHello) { m.shares[0].key = make([]byte, 32) }), "illegal_parameter"},
		"a long identity":       {hello(func(m *clientHello) { m.ids[0] = make([]byte, maxIdentity+1) }), "decrypt_error"},
		"no binder":             {record(recordHandshake, goodHello().marshal(0)), "decode_error"},
		"a wrong binder":        {record(recordHandshake, goodHello().marshal(32)), "decrypt_error"},
		"another message":       {record(recordHandshake, finished(make([]byte, 32))), "unexpected_message"},
		"a message of 16 MiB":   {record(recordHandshake, []byte{typeClientHello, 0xff, 0xff, 0xff}), "decode_error"},
		"a long record":         {[]byte{recordHandshake, 3, 3, 0x3f, 0xff}, "record_overflow"},
		"data":                  {record(recordData, []byte("x")), "unexpected_message"},
		"an empty record":       {record(recordHandshake, nil), "unexpected_message"},
		"two messages":          {record(recordHandshake, slices.Concat(goodHello().signed(), []byte{20})), "unexpected_message"},
		"a change of cipher":    {record(recordCCS, []byte{1}), "unexpected_message"},
		"an alert":              {record(recordAlert, []byte{2, 80}), "internal_error"},
		"an alert of one byte":  {record(recordAlert, []byte{2}), "decode_error"},
		"the end":               {record(recordAlert, []byte{1, 0}), "EOF"},
		"half of a hello":       {record(recordHandshake, goodHello().signed()[:99]), "EOF"},
		"an unprotected Finish": {slices.Concat(hello(func(*clientHello) {}), record(recordHandshake, finished(make([]byte, 32)))), "without protection"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			served := serve(b, testKey(AES128SHA256))
			_, _ = a.Write(c.sends)
			_ = a.(interface{ CloseWrite() error }).CloseWrite()
			got := <-served
			if got.err == nil || !strings.Contains(got.err.Error(), c.want) {
				t.Errorf("%v, want %s", got.err, c.want)
			}
			_ = b.Close()
			if said, _ := io.ReadAll(a); bytes.Contains(said, []byte("nqn")) {
				t.Errorf("the server says %q", said)
			}
		})
	}
}

// TestEarlyData is refused by its name.
func TestEarlyData(t *testing.T) {
	m, err := parseClientHello(goodHello().signed())
	if err != nil {
		t.Fatal(err)
	}
	raw := bytes.Replace(m.raw, []byte("\x00\x2d\x00\x02\x01\x01"), []byte("\x00\x2d\x00\x02\x01\x01\x00\x2a\x00\x00"), 1)
	raw[3] += 4
	at := bytes.Index(raw, []byte("\x00\x2b\x00\x03")) - 1 // the length of all extensions
	raw[at] += 4
	if _, err := newConn(nil, false).readHello(raw); err == nil || !strings.Contains(err.Error(), "early data") {
		t.Errorf("%v", err)
	}
}

// TestHostileServers are left by the client.
func TestHostileServers(t *testing.T) {
	answer := func(spoil func(*serverHello)) func(*clientHello) []byte {
		return func(h *clientHello) []byte {
			own, _ := x25519.newPair()
			m := &serverHello{random: random32(), session: h.session, suite: AES128SHA256, share: share{x25519, own.PublicKey().Bytes()}}
			spoil(m)
			return record(recordHandshake, m.marshal())
		}
	}
	retry := func(g group) func(*clientHello) []byte {
		return answer(func(m *serverHello) { m.retry, m.random, m.share.group = true, retryRandom(), g })
	}
	for name, c := range map[string]struct {
		says func(*clientHello) []byte
		want string
	}{
		"NVMe without TLS":    {func(*clientHello) []byte { return []byte{3, 0, 24, 0, 152, 0, 0, 0} }, "does not speak TLS"},
		"another session":     {answer(func(m *serverHello) { m.session = random32() }), "another session"},
		"another suite":       {answer(func(m *serverHello) { m.suite = AES256SHA384 }), "only TLS_AES_128_GCM_SHA256 was offered"},
		"another key":         {answer(func(m *serverHello) { m.chosen = 1 }), "key 2 of 1"},
		"another group":       {answer(func(m *serverHello) { p, _ := p256.newPair(); m.share = share{p256, p.PublicKey().Bytes()} }), "not offered"},
		"the same group":      {retry(x25519), "was tried"},
		"a foreign group":     {retry(0x0019), "was not offered"},
		"TLS 1.2":             {func(h *clientHello) []byte { return record(recordHandshake, old(h)) }, "version other than TLS 1.3"},
		"something unasked":   {func(h *clientHello) []byte { return record(recordHandshake, unasked(h)) }, "extension 16, which was not offered"},
		"no proof of the key": {func(h *clientHello) []byte { return slices.Concat(answer(func(*serverHello) {})(h), make([]byte, 64)) }, "without protection"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			go func() {
				peer := newConn(b, false)
				if raw, err := peer.message(typeClientHello, true); err == nil {
					h, _ := parseClientHello(raw)
					_, _ = b.Write(c.says(h))
				}
			}()
			if _, err := Client(context.Background(), a, testKey(AES128SHA256)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// old is a ServerHello of TLS 1.2, which has no extensions.
func old(h *clientHello) []byte {
	m := slices.Concat([]byte{typeServerHello, 0, 0, 70, 3, 3}, random32(), []byte{32}, h.session, []byte{0x13, 1, 0})
	return m
}

// unasked is one with an extension more.
func unasked(h *clientHello) []byte {
	m := slices.Concat(old(h), []byte{0, 4, 0, 16, 0, 0})
	m[3] += 6
	return m
}

// TestSilence has a client that says nothing: the deadline of the connection bounds it.
func TestSilence(t *testing.T) {
	_, b := pair(t)
	_ = b.SetDeadline(time.Now().Add(10 * time.Millisecond))
	if got := <-serve(b, testKey(AES128SHA256)); got.err == nil {
		t.Error("silence is a handshake")
	}
}

// TestStrangersAreCheap: what a client announces is not what is kept for it.
func TestStrangersAreCheap(t *testing.T) {
	a, b := pair(t)
	_, _ = a.Write([]byte{recordHandshake, 3, 3, 0x1f, 0xff, typeClientHello, 0, 0x1f, 0})
	_ = a.(interface{ CloseWrite() error }).CloseWrite()
	c := newConn(b, false)
	err := c.accept(finds())
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(c.raw) > 1<<10 {
		t.Errorf("%v with %d bytes", err, len(c.raw))
	}
}

// TestEmptyRecords: a peer that says nothing at length is at its end.
func TestEmptyRecords(t *testing.T) {
	client, server := joined(t, AES128SHA256)
	for range 2 * maxEmpty {
		_ = client.send(recordData, nil)
	}
	if _, err := server.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "without data") {
		t.Errorf("%v", err)
	}
}

// TestAfterTheHandshake only keys change.
func TestAfterTheHandshake(t *testing.T) {
	for name, m := range map[string][]byte{
		"a hello":             goodHello().signed(),
		"a ticket":            {typeTicket, 0, 0, 1, 0},
		"an odd key update":   {typeKeyUpdate, 0, 0, 1, 2},
		"a long key update":   {typeKeyUpdate, 0, 0, 2, 0, 0},
		"more behind the key": slices.Concat(keyUpdate(false), keyUpdate(false)),
	} {
		client, server := joined(t, AES128SHA256)
		_ = client.say(m)
		if _, err := server.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "after the handshake") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
