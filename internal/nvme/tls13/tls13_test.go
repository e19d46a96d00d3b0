package tls13

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is far more than anything here takes.
const patience = time.Minute

func testKey(s Suite) Key {
	return Key{Identity: "NVMe0R01 nqn.host nqn.subsystem", Secret: bytes.Repeat([]byte{7}, s.Size()), Suite: s}
}

// pair is both ends of a TCP connection, which end with the test.
func pair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	for _, c := range []net.Conn{client, server} {
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	return client, server
}

type ended struct {
	conn *Conn
	err  error
}

// serve has one end be the server.
func serve(c net.Conn, keys ...Key) <-chan ended {
	done := make(chan ended, 1)
	go func() {
		conn, err := Server(c, finds(keys...))
		done <- ended{conn, err}
	}()
	return done
}

func finds(keys ...Key) func(string) (Key, bool) {
	return func(id string) (Key, bool) {
		for _, k := range keys {
			if k.Identity == id {
				return k, true
			}
		}
		return Key{}, false
	}
}

// joined is both ends after a handshake.
func joined(t testing.TB, s Suite) (client, server *Conn) {
	t.Helper()
	a, b := pair(t)
	served := serve(b, testKey(s))
	client, err := Client(context.Background(), a, testKey(s))
	got := <-served
	if err != nil || got.err != nil {
		t.Fatal(err, got.err)
	}
	return client, got.conn
}

func TestBothWays(t *testing.T) {
	for _, s := range []Suite{AES128SHA256, AES256SHA384} {
		t.Run(s.String(), func(t *testing.T) {
			client, server := joined(t, s)
			if server.Key().Identity != testKey(s).Identity {
				t.Errorf("the server knows %q", server.Key().Identity)
			}
			client.renew, server.renew = 5, 7 // records, so that keys change on the way
			big := make([]byte, 1<<20+333)
			for i := range big {
				big[i] = byte(rand.Uint32())
			}
			for from, to := range map[*Conn]*Conn{client: server, server: client} {
				written := make(chan struct{})
				go func() {
					defer close(written)
					rest := net.Buffers{big[:1], big[1:5], nil, big[5:40000], big[40000:40010], big[40010:]}
					if n, err := from.WriteBuffers(&rest); int(n) != len(big) || err != nil {
						t.Errorf("wrote %d: %v", n, err)
					}
				}()
				got := make([]byte, len(big))
				if _, err := io.ReadFull(to, got); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, big) {
					t.Error("other bytes arrived")
				}
				<-written // whoever still writes does not say that this is all
			}
			if err := client.CloseWrite(); err != nil {
				t.Error(err)
			}
			if n, err := server.Read(big); n != 0 || err != io.EOF {
				t.Errorf("%d bytes, %v after the end", n, err)
			}
			_, _ = server.Write([]byte("still"))
			if n, err := client.Read(big); n != 5 || err != nil {
				t.Errorf("%d bytes, %v after the half close", n, err)
			}
		})
	}
}

func TestKeyUpdateIsAnswered(t *testing.T) {
	client, server := joined(t, AES128SHA256)
	before := bytes.Clone(server.out.secret)
	if err := client.say(keyUpdate(true)); err != nil {
		t.Fatal(err)
	}
	client.out.update()
	_, _ = client.Write([]byte("x"))
	one := make([]byte, 1)
	if _, err := io.ReadFull(server, one); err != nil {
		t.Fatal(err)
	}
	_, _ = server.Write([]byte("y"))
	if _, err := io.ReadFull(client, one); err != nil || one[0] != 'y' {
		t.Fatal(err, one)
	}
	if bytes.Equal(before, server.out.secret) || !bytes.Equal(client.in.secret, server.out.secret) {
		t.Error("the server goes on with its old key")
	}
}

// TestCutOff has a connection end without close_notify.
func TestCutOff(t *testing.T) {
	client, server := joined(t, AES128SHA256)
	_ = client.NetConn().Close()
	if _, err := server.Read(make([]byte, 9)); err != io.ErrUnexpectedEOF {
		t.Errorf("%v", err)
	}
}

func TestReadsGoOnAfterADeadline(t *testing.T) {
	client, server := joined(t, AES128SHA256)
	_ = server.SetReadDeadline(time.Unix(1, 0))
	var timeout net.Error
	if _, err := server.Read(make([]byte, 9)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatal(err)
	}
	_ = server.SetReadDeadline(time.Now().Add(patience))
	_, _ = client.Write([]byte("x"))
	if n, err := server.Read(make([]byte, 9)); n != 1 || err != nil {
		t.Error(n, err)
	}
}

func TestOtherKeys(t *testing.T) {
	good := testKey(AES128SHA256)
	for name, c := range map[string]struct{ client, server Key }{
		"another secret": {good, Key{good.Identity, bytes.Repeat([]byte{8}, 32), good.Suite}},
		"another name":   {good, Key{"NVMe0R01 a b", good.Secret, good.Suite}},
		"another suite":  {good, Key{good.Identity, good.Secret, AES256SHA384}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			served := serve(b, c.server)
			_, err := Client(context.Background(), a, c.client)
			if !Rejects(err) || !errors.Is(err, decryptError) {
				t.Errorf("the client: %v", err)
			}
			if got := <-served; !errors.Is(got.err, ErrKey) || !strings.Contains(got.err.Error(), good.Identity) {
				t.Errorf("the server: %v", got.err)
			}
		})
	}
}

// TestServerChooses: of several keys the server takes the first that it knows, also
// where it asks for another group.
func TestServerChooses(t *testing.T) {
	for _, s := range []Suite{AES128SHA256, AES256SHA384} {
		first, second := testKey(s), Key{"NVMe0R01 a b", bytes.Repeat([]byte{9}, 32), s}
		for name, c := range map[string]struct {
			knows  []Key
			groups []group
			want   string
		}{
			"both":              {[]Key{second, first}, groups(), first.Identity},
			"the second":        {[]Key{second}, groups(), second.Identity},
			"after a retry":     {[]Key{second}, []group{p384}, second.Identity},
			"both after it":     {[]Key{second, first}, []group{p384}, first.Identity},
			"none, which fails": {nil, groups(), ""},
		} {
			t.Run(s.String()+"/"+name, func(t *testing.T) {
				a, b := pair(t)
				server := newConn(b, false)
				server.groups = c.groups
				served := make(chan error, 1)
				go func() { served <- server.fail(server.accept(finds(c.knows...))) }()
				client, err := Client(context.Background(), a, first, second)
				if c.want == "" {
					if !Rejects(err) {
						t.Errorf("%v", err)
					}
					<-served
					return
				}
				if err := errors.Join(err, <-served); err != nil {
					t.Fatal(err)
				}
				if client.Key().Identity != c.want || server.Key().Identity != c.want {
					t.Errorf("%v and %v, want %q", client.Key(), server.Key(), c.want)
				}
				go client.Write([]byte("x"))
				if n, err := server.Read(make([]byte, 9)); n != 1 || err != nil {
					t.Error(n, err)
				}
			})
		}
	}
}

// TestAwaitOpensNothing: what has come is opened by ReadOne alone, which says so where
// it is no data.
func TestAwaitOpensNothing(t *testing.T) {
	client, server := joined(t, AES128SHA256)
	if err := client.say(keyUpdate(false)); err != nil {
		t.Fatal(err)
	}
	client.out.update()
	_, _ = client.Write([]byte("xy"))
	before := server.in.seq
	b := make([]byte, 1)
	for _, want := range []string{"", "x", "y"} {
		for range 2 {
			if err := server.Await(); err != nil {
				t.Fatal(err)
			}
		}
		if want == "" && server.in.seq != before {
			t.Error("Await opens a record")
		}
		if n, err := server.ReadOne(b); string(b[:n]) != want || err != nil {
			t.Errorf("%q, %v, want %q", b[:n], err, want)
		}
	}
	_ = client.Close()
	if err := server.Await(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if n, err := server.ReadOne(b); n != 0 || err != io.EOF {
			t.Error(n, err)
		}
	}
}

// sealing notes what was sealed outside of a turn.
type sealing struct {
	c             *Conn
	left, outside uint64
	turns         int
}

func (s *sealing) Take()  { s.outside += s.c.out.seq - s.left }
func (s *sealing) Leave() { s.left = s.c.out.seq; s.turns++ }

func TestSealsInTurns(t *testing.T) {
	client, server := joined(t, AES256SHA384)
	turn := &sealing{c: client, left: client.out.seq}
	client.SealIn(turn)
	go func() { _, _ = io.Copy(io.Discard, server) }()
	if _, err := client.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if turn.outside != 0 || turn.turns < 1<<20/sealMost || turn.left != client.out.seq {
		t.Errorf("%+v", turn)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	for _, k := range []Key{
		{},
		{Identity: "a", Secret: make([]byte, 32)},
		{Identity: "a", Secret: make([]byte, 15), Suite: AES128SHA256},
		{Secret: make([]byte, 32), Suite: AES128SHA256},
		{Identity: strings.Repeat("a", maxIdentity+1), Secret: make([]byte, 32), Suite: AES128SHA256},
	} {
		if _, err := Client(context.Background(), nil, k); err == nil {
			t.Errorf("%v is taken", k)
		}
	}
	if _, err := Client(context.Background(), nil, testKey(AES128SHA256), testKey(AES256SHA384)); err == nil {
		t.Error("keys of two suites are taken")
	}
}

func TestTheContextBoundsTheClient(t *testing.T) {
	a, _ := pair(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Client(ctx, a, testKey(AES128SHA256)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestTampering turns one bit of a record.
func TestTampering(t *testing.T) {
	client, server := joined(t, AES128SHA256)
	raw := client.out.seal(nil, recordData, []byte("hello"))
	raw[headerSize+2] ^= 1
	_, _ = client.NetConn().Write(raw)
	if n, err := server.Read(make([]byte, 9)); n != 0 || err == nil || !strings.Contains(err.Error(), "bad_record_mac") {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := client.Read(make([]byte, 9)); !errors.Is(err, badRecordMAC) {
		t.Errorf("the client hears %v", err)
	}
}

func TestKeyHidesItsSecret(t *testing.T) {
	k := testKey(AES128SHA256)
	k.Secret = []byte("very secret indeed")
	if s := k.String() + k.GoString(); strings.Contains(s, "secret indeed") || strings.Contains(s, "76657279") {
		t.Error(s)
	}
}

// TestRetry has a server that does not take the group which the client tries first.
func TestRetry(t *testing.T) {
	for _, s := range []Suite{AES128SHA256, AES256SHA384} {
		a, b := pair(t)
		server := newConn(b, false)
		server.groups = []group{p384}
		done := make(chan error, 1)
		go func() { done <- server.accept(finds(testKey(s))) }()
		client, err := Client(context.Background(), a, testKey(s))
		if served := <-done; err != nil || served != nil {
			t.Fatal(err, served)
		}
		_, _ = client.Write([]byte("x"))
		if n, err := server.Read(make([]byte, 9)); n != 1 || err != nil {
			t.Error(n, err)
		}
	}
}
