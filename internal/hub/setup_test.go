package hub

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"weft/internal/store/nats"
)

func found(t testing.TB, f Founding) *Place {
	t.Helper()
	if f.Dir == "" {
		f.Dir = filepath.Join(t.TempDir(), "hub")
	}
	p, err := Found(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A served hub ends with the test, or when it is stopped.
type served struct {
	p    *Place
	url  string
	stop func() error
}

// apart is an address of this machine that nobody else listens at, where there are many:
// a port of it that was let go is free again later.
func apart() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

func serve(t testing.TB, p *Place, how Serving) *served {
	t.Helper()
	if how.Listen == "" {
		how.Listen = "127.0.0.1:0"
	}
	s, ready := begin(t, p, how)
	select {
	case s.url = <-ready:
	case <-time.After(5 * time.Minute):
		t.Fatal("the hub is not ready")
	}
	return s
}

func begin(t testing.TB, p *Place, how Serving) (*served, chan string) {
	ready := make(chan string, 1)
	var said sync.Mutex
	over := false
	how.Ready = func(at string) { ready <- at }
	also := how.Note
	how.Note = func(text string) {
		if also != nil {
			also(text)
		}
		said.Lock()
		defer said.Unlock()
		if !over {
			t.Logf("%s: %s", p.Name(), text)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := p.Serve(ctx, how)
		if err != nil {
			close(ready)
		}
		done <- err
	}()
	s := &served{p: p, stop: sync.OnceValue(func() error {
		cancel()
		return <-done
	})}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		said.Lock()
		defer said.Unlock()
		over = true
	})
	return s, ready
}

func reach(t testing.TB, p *Place) *Session {
	t.Helper()
	s, err := p.Reach()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may be closed already
	return s
}

// credential makes one, and reads its file.
func credential(t testing.TB, s *Session, m Member) *nats.Credential {
	t.Helper()
	var text []byte
	effects, err := s.Add(t.Context(), m, func(secret []byte) error { text = secret; return nil }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range effects {
		if !e.Done {
			t.Errorf("%s does not let %s in", e.Server, m.Name)
		}
	}
	c, err := nats.ParseCredential(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t testing.TB, url string, c *nats.Credential) (*nats.Store, error) {
	o, err := c.Options()
	if err != nil {
		t.Fatal(err)
	}
	o.URL, o.Timeout = url, 2*time.Minute
	s, err := nats.Open(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func mustOpen(t testing.TB, url string, c *nats.Credential) *nats.Store {
	t.Helper()
	s, err := open(t, url, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	alice = Member{Name: "alice@example.net", Kind: Person, Owner: "pilot"}
	bob   = Member{Name: "bob", Kind: Person, Owner: "other"}
	dc1   = Member{Name: "dc1", Kind: Worker, Owner: "pilot", Site: "dc1"}
	ci    = Member{Name: "nightly", Kind: Pipeline, Owner: "pilot"}
	far   = Member{Name: "far", Kind: Worker, Owner: "other", Site: "dc1"}
)
