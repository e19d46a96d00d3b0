package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/require"
	"weft/internal/store"
)

// serverEnv is the directory that this test binary serves, in place of testing.
const serverEnv = "WEFT_TEST_HUB"

func TestMain(m *testing.M) {
	dir := os.Getenv(serverEnv)
	if dir == "" {
		require.Patience(8)
		os.Exit(m.Run())
	}
	p, err := Open(dir)
	if err == nil {
		err = p.Serve(context.Background(), Serving{Listen: apart() + ":0", Ready: func(at string) { fmt.Println(at) }})
	}
	fmt.Println(err)
	os.Exit(1)
}

// What a hub acknowledged is there after it was killed in the middle of writes, and
// whoever waited for its answer learns what came of it.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	before := reach(t, p)
	c := credential(t, before, alice)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	child, url := process(t, p)
	s := mustOpen(t, url, c)

	const writers, each = 8, 40
	var group sync.WaitGroup
	var mu sync.Mutex
	acked := map[string]store.Revision{}
	half := make(chan bool)
	for w := range writers {
		group.Go(func() {
			for i := range each {
				key := fmt.Sprintf("run/w%d/%d", w, i)
				at, err := s.Create(t.Context(), key, []byte(key))
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				mu.Lock()
				acked[key] = at
				if len(acked) == writers*each/2 {
					close(half)
				}
				mu.Unlock()
			}
		})
	}
	<-half
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	// The writers find it again where it was, and end.
	serve(t, p, Serving{Listen: strings.TrimPrefix(url, "nats://")})
	done := make(chan bool)
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatal("the writers do not end")
	}
	entries, _, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != writers*each || len(acked) != writers*each {
		t.Errorf("there are %d documents, and %d were acknowledged", len(entries), len(acked))
	}
	for _, e := range entries {
		if acked[e.Key] != e.Revision || string(e.Value) != e.Key {
			t.Errorf("%s is %q at %d, and was acknowledged at %d", e.Key, e.Value, e.Revision, acked[e.Key])
		}
	}
}
