package tcp_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
)

func tlsKey(s tls13.Suite) tls13.Key {
	return tls13.Key{Identity: "NVMe1R01 nqn.host nqn.subsystem x", Secret: bytes.Repeat([]byte{9}, s.Size()), Suite: s}
}

func known(k tls13.Key) func(string) (tls13.Key, bool) {
	return func(id string) (tls13.Key, bool) { return k, id == k.Identity }
}

func TestConformanceWithTLS(t *testing.T) {
	t.Parallel()
	for _, s := range []tls13.Suite{tls13.AES128SHA256, tls13.AES256SHA384} {
		t.Run(s.String(), func(t *testing.T) {
			k := tlsKey(s)
			nvmetest.Conformance(t, func(*testing.T) fabric.Transport {
				return &tcp.Transport{Offers: []tls13.Key{k}, Keys: known(k), Poll: true} // which TLS does not do
			}, "127.0.0.1:0")
		})
	}
}

// heard is a handler that notes why its connection ends, and what it was told of it.
type heard struct {
	fabric.Handler
	ended chan error
}

func (h heard) Disconnected(err error) { h.ended <- err }

// TestWithoutTheKey has hosts that get no further than the handshake; both ends say
// what helps.
func TestWithoutTheKey(t *testing.T) {
	good := tlsKey(tls13.AES128SHA256)
	other := good
	other.Secret = bytes.Repeat([]byte{8}, 32)
	for name, c := range map[string]struct {
		host           []tls13.Key
		keys           func(string) (tls13.Key, bool)
		hostSays       string
		hostHint       string
		targetSays     string
		targetHintSays string
	}{
		"another key":  {[]tls13.Key{other}, known(good), "decrypt_error", "give both the same", "another of that name", "the same TLS key"},
		"a clear host": {nil, known(good), "", "", "does not speak TLS", "nvme connect --tls"},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			target := &tcp.Transport{Keys: c.keys}
			l, err := target.Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, func(fabric.Conn) fabric.Handler { return heard{ended: ended} })
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			q, err := (&tcp.Transport{Offers: c.host}).Dial(context.Background(), fabric.DialParams{Addr: l.Addr(), Depth: 1, Timeout: time.Minute})
			if err == nil {
				_ = q.Close()
				t.Fatal("it is let in")
			}
			if !strings.Contains(err.Error(), c.hostSays) || !strings.Contains(hint.Of(err), c.hostHint) {
				t.Errorf("the host: %v; %s", err, hint.Of(err))
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), c.targetSays) || !strings.Contains(hint.Of(err), c.targetHintSays) {
				t.Errorf("the target: %v; %s", err, hint.Of(err))
			}
		})
	}
}

// TestTLSToAClearPortal says what helps, too.
func TestTLSToAClearPortal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte{3, 0, 24, 0, 24, 0, 0, 0}) // C2HTermReq
			defer c.Close()
			_, _ = c.Read(make([]byte, 1<<10))
		}
	}()
	k := tlsKey(tls13.AES128SHA256)
	_, err = (&tcp.Transport{Offers: []tls13.Key{k}}).Dial(context.Background(), fabric.DialParams{Addr: l.Addr().String(), Depth: 1, Timeout: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "does not speak TLS") || !strings.Contains(hint.Of(err), "without TLS") {
		t.Errorf("%v; %s", err, hint.Of(err))
	}
}

// TestConnTellsTheIdentity: what a handler goes by.
func TestConnTellsTheIdentity(t *testing.T) {
	k := tlsKey(tls13.AES256SHA384)
	tr := &tcp.Transport{Offers: []tls13.Key{k}, Keys: known(k)}
	got := make(chan string, 1)
	l, err := tr.Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, func(c fabric.Conn) fabric.Handler {
		got <- c.(fabric.Secured).Identity()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if q, err := tr.Dial(context.Background(), fabric.DialParams{Addr: l.Addr(), Depth: 1, Timeout: time.Minute}); err == nil {
		_ = q.Close()
	}
	if id := <-got; id != k.Identity {
		t.Errorf("%q", id)
	}
}
