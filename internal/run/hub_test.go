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

	"weft/internal/require"
	"weft/internal/store"
	"weft/internal/store/nats"
	"weft/plan/rollout"
)

// A hub is a server in this process, at another port each time it is started. Clients
// find it all the same.
type hub struct {
	place string

	mu   sync.Mutex
	s    *server.Server
	at   string
	gone context.Context // ends when the server is stopped
	end  context.CancelCauseFunc
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
	h.gone, h.end = context.WithCancelCause(context.Background())
}

func (h *hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.s.Shutdown()
	h.s.WaitForShutdown()
	h.end(&store.UnavailableError{Err: errors.New("the hub is stopped")})
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
	return func() *Records { return h.recordsIn(t.TempDir()) }
}

// recordsIn are records whose lease ends when it is broken, however slow a machine is.
func (h *hub) recordsIn(place string) *Records {
	return InShared(place, Sharing{Name: "hub", Owner: "test", Lease: time.Hour, Open: func(ctx context.Context) (store.Store, error) {
		s, err := nats.Open(ctx, nats.Options{URL: "nats://hub", Owner: "test", Timeout: time.Minute, Connect: []client.Option{client.SetCustomDialer(h)}})
		if err != nil {
			return nil, err
		}
		return &knowing{s, h}, nil
	}})
}

// A knowing store knows whether its hub is stopped. One that is not is waited for as
// long as a busy machine needs, and one that is not at all.
type knowing struct {
	store.Store
	h *hub
}

// while is a context that ends with the hub.
func (k *knowing) while(ctx context.Context) (context.Context, func()) {
	k.h.mu.Lock()
	gone := k.h.gone
	k.h.mu.Unlock()
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(gone, func() { end(context.Cause(gone)) })
	return ctx, func() { stop(); end(nil) }
}

func (k *knowing) Get(ctx context.Context, key string) (store.Entry, error) {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.Get(ctx, key)
}

func (k *knowing) Create(ctx context.Context, key string, value []byte) (store.Revision, error) {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.Create(ctx, key, value)
}

func (k *knowing) Update(ctx context.Context, key string, value []byte, at store.Revision) (store.Revision, error) {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.Update(ctx, key, value, at)
}

func (k *knowing) Delete(ctx context.Context, key string, at store.Revision) error {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.Delete(ctx, key, at)
}

func (k *knowing) List(ctx context.Context, folder string) ([]store.Entry, store.Revision, error) {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.List(ctx, folder)
}

func (k *knowing) Leases(ctx context.Context, folder string) ([]store.Holding, error) {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.Leases(ctx, folder)
}

func (k *knowing) Lease(ctx context.Context, key, holder string, ttl time.Duration) (*store.Lease, error) {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.Lease(ctx, key, holder, ttl)
}

func (k *knowing) PutBlob(ctx context.Context, from io.Reader) (store.Digest, error) {
	ctx, end := k.while(ctx)
	defer end()
	return k.Store.PutBlob(ctx, from)
}

// Where the store goes away in the middle of a run, what was begun is finished, nothing
// more is begun, and nothing reverted; the journal waits on the machine and is sent by
// whoever comes next, each line once.
func TestStoreAway(t *testing.T) {
	require.Long(t, "11 s")
	t.Parallel()
	h := newHub(t)
	f := newFabric(t.TempDir())
	place := t.TempDir()
	f.records = func() *Records { return h.recordsIn(place) }
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
	f.records = func() *Records { return h.recordsIn(place) }
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
