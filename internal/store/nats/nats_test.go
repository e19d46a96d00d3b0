package nats

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
	"weft/internal/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(m, func(place string, step func(string)) (store.Store, error) {
		return Open(context.Background(), Options{URL: place, Owner: "test", step: step})
	})
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Subject { return subject(t) })
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) *storetest.Subject { return subject(b) })
}

// A hub is a server in this process, at another port each time it is started. Clients
// find it all the same.
type hub struct {
	place string

	mu sync.Mutex
	s  *server.Server
	at string
}

func newHub(t testing.TB) *hub {
	h := &hub{place: t.TempDir()}
	h.start(t)
	t.Cleanup(h.stop)
	return h
}

func (h *hub) start(t testing.TB) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: h.place, SyncAlways: true, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.s, h.at = s, s.Addr().String()
}

func (h *hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.s.Shutdown()
	h.s.WaitForShutdown()
}

func (h *hub) addr() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// Dial finds the server where it is now.
func (h *hub) Dial(network, _ string) (net.Conn, error) {
	return net.DialTimeout(network, h.addr(), time.Minute)
}

func (h *hub) options() Options {
	return Options{URL: "nats://" + h.addr(), Owner: "test", Timeout: time.Minute, Connect: []client.Option{client.SetCustomDialer(h)}}
}

func (h *hub) open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func subject(t testing.TB) *storetest.Subject {
	h := newHub(t)
	var c clock
	return &storetest.Subject{
		Place: "nats://" + h.addr(),
		Open: func(t testing.TB) store.Store {
			o := h.options()
			o.clock = c.at
			o.Clock = func() time.Time { return c.at(time.Now()) }
			return h.open(t, o)
		},
		Pass: c.pass,
		Restart: func(t *testing.T) {
			h.stop()
			h.start(t)
		},
		Spoil: func(t *testing.T, d store.Digest) {
			s := h.open(t, h.options())
			data, err := s.getPart(t.Context(), d, part(1))
			if err != nil {
				t.Fatal(err)
			}
			data = bytes.Clone(data)
			data[len(data)/2] ^= 1
			if err := s.blobs.Purge(t.Context(), jetstream.WithPurgeSubject(s.blobSubject(d, part(1)))); err != nil {
				t.Fatal(err)
			}
			if err := s.sendPart(t.Context(), d, part(1), data); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// A clock has jumped ahead at times.
type clock struct {
	mu    sync.Mutex
	jumps []jump
}

type jump struct {
	when time.Time
	by   time.Duration
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jumps = append(c.jumps, jump{time.Now().Round(0), d})
}

// at is what the clock said at a time.
func (c *clock) at(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := t.Round(0)
	for _, j := range c.jumps {
		if !t.Round(0).Before(j.when) {
			out = out.Add(j.by)
		}
	}
	return out
}
