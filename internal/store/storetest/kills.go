package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/require"
	"weft/internal/store"
)

// Opener opens the store of another process, which calls step before each thing that
// it does to it.
type Opener func(place string, step func(string)) (store.Store, error)

const writerEnv = "WEFT_STORE_WRITER" // what, when to die, where

// Main runs the tests of a package; the test binary is at times a writer that is
// killed.
func Main(m *testing.M, open Opener) {
	job := os.Getenv(writerEnv)
	if job == "" {
		require.Patience(8)
		os.Exit(m.Run())
	}
	f := strings.SplitN(job, " ", 3)
	last, err := strconv.Atoi(f[1])
	if err != nil || len(f) != 3 {
		panic(job)
	}
	n := 0
	s, err := open(f[2], func(what string) {
		if n++; n == last {
			fmt.Println(what)
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			fmt.Println(err)
			time.Sleep(time.Hour) // the signal is on its way
		}
	})
	if err == nil {
		err = write(s, f[0], last)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// write is what a writer does. What it changes was read before.
func write(s store.Store, what string, n int) error {
	ctx := context.Background()
	switch what {
	case "create":
		return second(s.Create(ctx, "run/r1/new", []byte("new")))
	case "update", "delete":
		e, err := s.Get(ctx, "run/r1/old")
		if err != nil {
			return err
		}
		if what == "delete" {
			return s.Delete(ctx, e.Key, e.Revision)
		}
		return second(s.Update(ctx, e.Key, []byte("new"), e.Revision))
	case "lease":
		return second(s.Lease(ctx, fmt.Sprintf("device/fdo%d", n), "writer", ttl))
	case "blob":
		return second(s.PutBlob(ctx, pattern(600_000)))
	}
	return errors.New("no such job")
}

// killed kills a writer at each of its steps. What it changed is then as it was or as
// it should be, stays so once another process has seen the new, and others go on.
func killed(t *testing.T, c *Subject) {
	for what, look := range map[string]func(*testing.T, store.Store, int) bool{
		"create": func(t *testing.T, s store.Store, _ int) bool { return state(t, s, "run/r1/new", "", "new") },
		"update": func(t *testing.T, s store.Store, _ int) bool { return state(t, s, "run/r1/old", "old", "new") },
		"delete": func(t *testing.T, s store.Store, _ int) bool { return state(t, s, "run/r1/old", "old", "") },
		"lease":  leased,
		"blob":   mendBlob,
	} {
		t.Run(what, func(t *testing.T) {
			for n := 1; ; n++ {
				if n > 30 {
					t.Fatal("the writer has no end")
				}
				s := c.Open(t)
				reset(t, s)
				_, before, err := s.List(within(t), "")
				if err != nil {
					t.Fatal(err)
				}
				step, done := kill(t, c.Place, what, n)
				seen := look(t, s, n)
				at := must[store.Revision](t)(s.Create(within(t), "run/other", []byte(step)))
				if at <= before {
					t.Errorf("%s: revision %d is given after %d", step, at, before)
				}
				if after := look(t, s, n); seen && !after {
					t.Errorf("%s: what was there is there no more", step)
				}
				state(t, s, "run/r2", "kept", "kept")
				if _, err := until(within(t), s, "", before, at); err != nil {
					t.Errorf("%s: a watch: %v", step, err)
				}
				if done {
					if !seen {
						t.Error("the writer ended, and nothing has changed")
					}
					return
				}
			}
		})
	}
}

// kill runs a writer that is killed at its nth step, and says which that was, or that
// it had none.
func kill(t *testing.T, place, what string, n int) (step string, done bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", writerEnv, what, n, place))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return "the end", true
	}
	if cmd.ProcessState.Exited() || ctx.Err() != nil {
		t.Fatalf("the writer: %v\n%s", err, out)
	}
	return what + " killed at " + strings.TrimSpace(string(out)), false
}

// reset makes the state that writers find.
func reset(t *testing.T, s store.Store) {
	t.Helper()
	all, _, err := s.List(within(t), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if err := s.Delete(within(t), e.Key, e.Revision); err != nil {
			t.Fatal(err)
		}
	}
	must[store.Revision](t)(s.Create(within(t), "run/r1/old", []byte("old")))
	must[store.Revision](t)(s.Create(within(t), "run/r2", []byte("kept")))
}

// state reports whether a document is new, and fails if it is neither; "" is none.
func state(t *testing.T, s store.Store, key, old, fresh string) bool {
	t.Helper()
	e, err := s.Get(within(t), key)
	if err != nil && !errors.As(err, new(*store.NotFoundError)) {
		t.Fatal(err)
	}
	all, _, err := s.List(within(t), "")
	if err != nil {
		t.Fatal(err)
	}
	listed := ""
	for _, l := range all {
		if l.Key == key {
			listed = string(l.Value)
		}
	}
	got := string(e.Value)
	// A list finishes what was decided.
	if got != old && got != fresh || listed != old && listed != fresh || got == fresh && listed != fresh {
		t.Fatalf("%s is %q, in the list %q: neither %q nor %q", key, got, listed, old, fresh)
	}
	return listed == fresh
}

// leased: the lease is the dead writer's, or anybody may have it.
func leased(t *testing.T, s store.Store, n int) bool {
	t.Helper()
	l, err := s.Lease(within(t), fmt.Sprintf("device/fdo%d", n), "next", ttl)
	if err != nil {
		if e := is[*store.HeldError](t, err); e.Holder != "writer" {
			t.Errorf("it is held by %s", e.Holder)
		}
		return true
	}
	if err := l.Release(within(t)); err != nil {
		t.Error(err)
	}
	return false
}

// mendBlob: the blob is not there or whole, and can be put.
func mendBlob(t *testing.T, s store.Store, _ int) bool {
	d := must[store.Digest](t)(s.PutBlob(within(t), pattern(600_000)))
	same(t, s, d, 600_000)
	if err := s.DeleteBlob(within(t), d); err != nil {
		t.Fatal(err)
	}
	return true
}
