package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"

	"weft/internal/store"
	"weft/internal/store/nats"
	"weft/plan/rollout"
)

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

// Dial finds the server where it is now.
func (h *hub) Dial(network, _ string) (net.Conn, error) {
	h.mu.Lock()
	at := h.at
	h.mu.Unlock()
	return net.DialTimeout(network, at, time.Minute)
}

// records are those of machines with nothing but the hub in common.
func (h *hub) records(t *testing.T) func() *Records {
	return func() *Records { return h.recordsIn(t.TempDir(), time.Minute) }
}

// goneAfter is how long a hub that will be gone is waited for: long enough for its
// answers before that on a slow machine.
const goneAfter = 6 * time.Second

// recordsIn are records whose lease ends when it is broken, however slow a machine is.
func (h *hub) recordsIn(place string, patience time.Duration) *Records {
	return InShared(place, Sharing{Name: "hub", Owner: "test", Lease: time.Hour, Open: func(ctx context.Context) (store.Store, error) {
		return nats.Open(ctx, nats.Options{URL: "nats://hub", Owner: "test", Timeout: patience, Connect: []client.Option{client.SetCustomDialer(h)}})
	}})
}

// Where the store goes away in the middle of a run, what was begun is finished, nothing
// more is begun, and nothing reverted; the journal waits on the machine and is sent by
// whoever comes next, each line once.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	f := newFabric(t.TempDir())
	place := t.TempDir()
	f.records = func() *Records { return h.recordsIn(place, goneAfter) }
	first := true
	f.during = func(*Env) {
		if first {
			h.stop()
		}
		first = false
	}
	var cause *Error
	if err := f.start(within(t), f.env()); !errors.As(err, &cause) || cause.Cause != Waits {
		t.Fatalf("the store is away: %v", err)
	}
	if now := f.boxes(t); now["a"].Values["x"] != "new" || now["b"].Values["x"] != "" || now["b"].Mark == nil {
		t.Errorf("the devices are %+v", now)
	}
	if err := Resume(within(t), f.env(), Order{}); !errors.As(err, &cause) || cause.Cause != Waits {
		t.Errorf("the store is still away: %v", err)
	}
	h.start(t)
	f.records = func() *Records { return h.recordsIn(place, time.Minute) }
	// Whoever had the lease could not give it back.
	s, err := f.env().Records.look(within(t))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Leases(within(t), "fabric")
	if err != nil || len(list) != 1 {
		t.Fatalf("the leases are %+v: %v", list, err)
	}
	if err := Resume(within(t), f.env(), Order{}); !errors.As(err, &cause) || cause.Cause != Taken {
		t.Errorf("the lease has not ended: %v", err)
	}
	if err := s.Break(within(t), list[0]); err != nil {
		t.Fatal(err)
	}
	if err := Resume(within(t), f.env(), Order{}); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	if got := stateOf(t, f.env()); got != rollout.Passed {
		t.Errorf("the run is %s", got)
	}
	rec, err := f.env().Records.Latest(within(t), false)
	if err != nil {
		t.Fatal(err)
	}
	journal, err := rec.Journal(within(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(journal)
	if n := bytes.Count(text, []byte(`"do":"step","state":"done"`)); n != 4 || err != nil {
		t.Errorf("the journal tells %d steps, %v:\n%s", n, err, text)
	}
	if left, _ := os.ReadDir(filepath.Join(place, ".weft", "spool")); len(left) != 0 {
		t.Errorf("still here: %v", left)
	}
}
