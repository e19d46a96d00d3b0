// Package storetest is what every store must do.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"weft/internal/store"
)

// A Subject is one empty store, under test.
type Subject struct {
	Place   string                                // how another process finds it
	Open    func(t testing.TB) store.Store        // as another process would; closed when the test ends
	Pass    func(d time.Duration)                 // lets time pass on the clock of leases
	Restart func(t *testing.T)                    // ends what serves it, and starts it again
	Spoil   func(t *testing.T, blob store.Digest) // changes what is kept of a blob
}

// Run tests a store. Each test makes one of its own.
func Run(t *testing.T, found func(t *testing.T) *Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *Subject)
	}{
		{"documents", documents},
		{"keys", keys},
		{"values", values},
		{"list", list},
		{"racers create", racersCreate},
		{"racers update", racersUpdate},
		{"readers", readers},
		{"list beside writers", listBesideWriters},
		{"acknowledged is seen", acknowledged},
		{"watch", watch},
		{"watch live", watchLive},
		{"watch gap", watchGap},
		{"watch ends", watchEnds},
		{"lease", lease},
		{"lease ends", leaseEnds},
		{"lease renewed", leaseRenewed},
		{"lease racers", leaseRacers},
		{"leases listed", leasesListed},
		{"tokens", tokens},
		{"blobs", blobs},
		{"blob spoiled", blobSpoiled},
		{"restart", restart},
		{"killed", killed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, found(t))
		})
	}
}

// soon is how long something may take that takes no time.
const soon = 5 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	t.Cleanup(cancel)
	return ctx
}

// is returns the error of a type, and fails if it is another.
func is[T error](t *testing.T, err error) T {
	t.Helper()
	var want T
	if !errors.As(err, &want) {
		t.Fatalf("the error is %T %v, and should be %T", err, err, want)
	}
	return want
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func holds(t *testing.T, s store.Store, key, value string, at store.Revision) {
	t.Helper()
	e, err := s.Get(within(t), key)
	if err != nil {
		t.Fatal(err)
	}
	if e.Key != key || string(e.Value) != value || e.Revision != at {
		t.Fatalf("%s is %q at %d of %s, and should be %q at %d", key, e.Value, e.Revision, e.Key, value, at)
	}
}

func documents(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	is[*store.NotFoundError](t, second(s.Get(ctx, "run/r1")))
	is[*store.NotFoundError](t, second(s.Update(ctx, "run/r1", nil, 1)))
	is[*store.NotFoundError](t, s.Delete(ctx, "run/r1", 1))
	one := must[store.Revision](t)(s.Create(ctx, "run/r1", []byte("one")))
	holds(t, s, "run/r1", "one", one)
	if e := is[*store.ExistsError](t, second(s.Create(ctx, "run/r1", []byte("other")))); e.Current != one {
		t.Errorf("it exists at %d, and is at %d", e.Current, one)
	}
	two := must[store.Revision](t)(s.Update(ctx, "run/r1", []byte("two"), one))
	if one == 0 || two <= one {
		t.Fatalf("revisions are %d and %d", one, two)
	}
	for _, err := range []error{second(s.Update(ctx, "run/r1", []byte("x"), one)), s.Delete(ctx, "run/r1", one)} {
		if e := is[*store.StaleError](t, err); e.Current != two || e.At != one {
			t.Errorf("stale at %d, now %d: it was %d, and is %d", e.At, e.Current, one, two)
		}
	}
	holds(t, s, "run/r1", "two", two)
	is[*store.InvalidError](t, second(s.Update(ctx, "run/r1", []byte("x"), 0)))
	is[*store.InvalidError](t, s.Delete(ctx, "run/r1", 0))
	holds(t, c.Open(t), "run/r1", "two", two)
	if err := s.Delete(ctx, "run/r1", two); err != nil {
		t.Fatal(err)
	}
	is[*store.NotFoundError](t, second(s.Get(ctx, "run/r1")))
	is[*store.NotFoundError](t, s.Delete(ctx, "run/r1", two))
	again := must[store.Revision](t)(s.Create(ctx, "run/r1", []byte("again")))
	if again <= two+1 { // the deletion had a revision, too
		t.Errorf("it was made again at %d, after %d", again, two)
	}
	is[*store.StaleError](t, second(s.Update(ctx, "run/r1", []byte("x"), two)))
	holds(t, s, "run/r1", "again", again)
}

func second[T any](_ T, err error) error { return err }

func list(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	if all, at, err := s.List(ctx, ""); len(all) != 0 || at != 0 || err != nil {
		t.Fatalf("an empty store has %v at %d: %v", all, at, err)
	}
	want := map[string]store.Revision{}
	for _, key := range []string{"b", "run/r1", "run/r1/plan", "run/r2", "run/r10", "a/b/c", "con/nul"} {
		want[key] = must[store.Revision](t)(s.Create(ctx, key, []byte(key)))
	}
	if err := s.Delete(ctx, "b", want["b"]); err != nil {
		t.Fatal(err)
	}
	for folder, keys := range map[string][]string{
		"":        {"a/b/c", "con/nul", "run/r1", "run/r1/plan", "run/r10", "run/r2"},
		"run":     {"run/r1", "run/r1/plan", "run/r10", "run/r2"},
		"run/r1":  {"run/r1/plan"},
		"run/r2":  nil,
		"b":       nil,
		"a":       {"a/b/c"},
		"nothing": nil,
	} {
		got, at, err := s.List(ctx, folder)
		if err != nil || at <= want["con/nul"] {
			t.Errorf("list %q at %d: %v", folder, at, err)
		}
		if fmt.Sprint(names(got)) != fmt.Sprint(keys) {
			t.Errorf("list %q has %v, and should have %v", folder, names(got), keys)
		}
		for _, e := range got {
			if string(e.Value) != e.Key || e.Revision != want[e.Key] || e.Written.IsZero() {
				t.Errorf("list %q: %s is %q at %d of %s", folder, e.Key, e.Value, e.Revision, e.Written)
			}
		}
	}
	is[*store.InvalidError](t, third(s.List(ctx, "run/")))
}

func third[T, U any](_ T, _ U, err error) error { return err }

func names(entries []store.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Key)
	}
	return out
}

func keys(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	long := func(n int, with byte) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = with
			if i%50 == 49 && i < n-1 {
				b[i] = '/'
			}
		}
		return string(b)
	}
	for _, key := range []string{"a", "-", "_", "0", "a/b/c/d/e/f/g/h/i/j", "nul", "com1", store.Segment("FDO123 / ü.x"), long(store.MaxKey, 'z')} {
		at := must[store.Revision](t)(s.Create(ctx, key, []byte("x")))
		holds(t, s, key, "x", at)
	}
	for _, key := range []string{"", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "A", "a.b", "a b", "ü", "a*", ">", "a\x00", "a\n", `a\b`, "a:b", "a=",
		"a/b/c/d/e/f/g/h/i/j/k", long(store.MaxKey+1, 'z'), string(make([]byte, 101))} {
		is[*store.InvalidError](t, second(s.Create(ctx, key, nil)))
		is[*store.InvalidError](t, second(s.Get(ctx, key)))
		is[*store.InvalidError](t, second(s.Update(ctx, key, nil, 1)))
		is[*store.InvalidError](t, s.Delete(ctx, key, 1))
		is[*store.InvalidError](t, second(s.Lease(ctx, key, "me", time.Hour)))
		if key != "" {
			is[*store.InvalidError](t, third(s.List(ctx, key)))
			for _, err := range s.Watch(ctx, key, 0) {
				is[*store.InvalidError](t, err)
			}
		}
	}
}

func values(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	all := make([]byte, store.MaxValue)
	for i := range all {
		all[i] = byte(i * i >> 3)
	}
	for i, value := range [][]byte{nil, {}, []byte("\n"), []byte("a\x00b\r\n "), all[:256], all} {
		key := fmt.Sprintf("v%d", i)
		at := must[store.Revision](t)(s.Create(ctx, key, value))
		holds(t, s, key, string(value), at)
		at = must[store.Revision](t)(s.Update(ctx, key, value, at))
		holds(t, s, key, string(value), at)
	}
	is[*store.TooLargeError](t, second(s.Create(ctx, "large", append(all, 0))))
	is[*store.TooLargeError](t, second(s.Update(ctx, "v0", append(all, 0), 1)))
	is[*store.NotFoundError](t, second(s.Get(ctx, "large")))
}

func restart(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	for i := range 20 {
		must[store.Revision](t)(s.Create(ctx, fmt.Sprintf("run/r%02d", i), fmt.Append(nil, i)))
	}
	if err := s.Delete(ctx, "run/r07", must[store.Entry](t)(s.Get(ctx, "run/r07")).Revision); err != nil {
		t.Fatal(err)
	}
	d := must[store.Digest](t)(s.PutBlob(ctx, pattern(300_000)))
	before, at, err := s.List(ctx, "")
	if err != nil || len(before) != 19 {
		t.Fatal(len(before), err)
	}
	c.Restart(t)
	s = c.Open(t)
	after, at2, err := s.List(ctx, "")
	if err != nil || at2 != at || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Fatalf("after a restart it has at %d\n%v\nbefore it had at %d\n%v: %v", at2, after, at, before, err)
	}
	same(t, s, d, 300_000)
	if next := must[store.Revision](t)(s.Create(ctx, "next", nil)); next <= at {
		t.Errorf("the next revision is %d, after %d", next, at)
	}
}
