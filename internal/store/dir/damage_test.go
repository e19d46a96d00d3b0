package dir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
)

func opened(t *testing.T, root string, o Options) *Store {
	t.Helper()
	o.Look = time.Millisecond
	s, err := Open(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func created(t *testing.T, s *Store, keys ...string) (last store.Revision) {
	t.Helper()
	for _, key := range keys {
		at, err := s.Create(t.Context(), key, []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		last = at
	}
	return last
}

// watched reads a watch until a revision or an error.
func watched(t *testing.T, s *Store, from, until store.Revision) (keys string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e, err := range s.Watch(ctx, "", from) {
		if err != nil {
			return keys, err
		}
		if keys += e.Key + " "; e.Revision >= until {
			break
		}
	}
	return keys, nil
}

// What power loss leaves of a line, or a value, is mended by whoever comes next; a
// revision is not given again.
func TestTornLog(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"3 pu", "3 put 1 c 00000000\n", strings.Repeat("\x00", 60), "\n", "3 put\x00\x00 c 1234\ngarbage"} {
		s := opened(t, t.TempDir(), Options{})
		created(t, s, "a", "b")
		e, err := s.table.tail()
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(e.file, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(left)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		if all, at, err := s.List(t.Context(), ""); len(all) != 2 || at != 2 || err != nil {
			t.Errorf("%q: the list is %v at %d: %v", left, all, at, err)
		}
		if at := created(t, s, "c"); at != 4 {
			t.Errorf("%q: the next revision is %d", left, at)
		}
		if keys, err := watched(t, s, 0, 4); keys != "a b " || !errors.As(err, new(*store.GapError)) {
			t.Errorf("%q: a watch tells %q: %v", left, keys, err)
		}
		if keys, err := watched(t, s, 3, 4); keys != "c " || err != nil {
			t.Errorf("%q: a watch from behind tells %q: %v", left, keys, err)
		}
	}
}

// A line that is followed by others was acknowledged: nothing is written over it.
func TestSpoiledLog(t *testing.T) {
	s := opened(t, t.TempDir(), Options{})
	created(t, s, "a", "b", "c")
	e, err := s.table.tail()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(e.file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(e.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "d", nil); !errors.As(err, new(*store.CorruptError)) {
		t.Errorf("create: %v", err)
	}
	if _, err := watched(t, s, 0, 3); !errors.As(err, new(*store.CorruptError)) {
		t.Errorf("watch: %v", err)
	}
	if _, err := s.Get(t.Context(), "b"); err != nil {
		t.Errorf("what is there can be read: %v", err)
	}
}

// A document that the disk has spoiled is named, and the others are read.
func TestSpoiledDocument(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir(), Options{})
	created(t, s, "run/r1", "run/r2", "run/r3")
	good, err := os.ReadFile(s.table.file("run/r2"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(s.table.file("run/r1"))
	if err != nil {
		t.Fatal(err)
	}
	spoiled := [][]byte{nil, good[:10], good[:len(good)-1], append(append([]byte{}, good...), 0), other, make([]byte, len(good))}
	for i := range good {
		bad := append([]byte{}, good...)
		bad[i] ^= 4
		spoiled = append(spoiled, bad)
	}
	for _, text := range spoiled {
		if err := os.WriteFile(s.table.file("run/r2"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		var corrupt *store.CorruptError
		if e, err := s.Get(t.Context(), "run/r2"); !errors.As(err, &corrupt) || !strings.Contains(corrupt.What, "run/r2") {
			t.Fatalf("%q is read as %v: %v", text, e, err)
		}
		all, _, err := s.List(t.Context(), "")
		if !errors.As(err, &corrupt) || len(all) != 2 || all[0].Key != "run/r1" || all[1].Key != "run/r3" {
			t.Fatalf("the list has %v: %v", all, err)
		}
		if _, err := s.Update(t.Context(), "run/r2", nil, 2); !errors.As(err, &corrupt) {
			t.Fatalf("it is written over: %v", err)
		}
	}
}

// What was decided and not put in its place yet, as after power loss, is put there when
// the store is opened.
func TestLeft(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := opened(t, root, Options{})
	last := created(t, s, "a", "b")
	if err := s.Delete(t.Context(), "b", last); err != nil {
		t.Fatal(err)
	}
	d := document{Entry: store.Entry{Key: "run/r1/x", Value: []byte("decided"), Revision: 4, Written: time.Now()}}
	e, err := s.table.tail()
	if err != nil {
		t.Fatal(err)
	}
	err = s.o.writeFile(filepath.Join(s.table.fresh(), number(4)), d.encode())
	if err == nil {
		err = s.table.append(e, line{rev: 4, op: opPut, at: d.Written, key: d.Key})
	}
	undecided := document{Entry: store.Entry{Key: "a", Value: []byte("undecided"), Revision: 5, Written: time.Now()}}
	if err == nil {
		err = s.o.writeFile(filepath.Join(s.table.fresh(), number(5)), undecided.encode()[:20])
	}
	if err != nil {
		t.Fatal(err)
	}
	s = opened(t, root, Options{})
	if got, err := s.Get(t.Context(), d.Key); err != nil || string(got.Value) != "decided" || got.Revision != 4 {
		t.Errorf("what was decided is %v: %v", got, err)
	}
	if got, err := s.Get(t.Context(), "a"); err != nil || string(got.Value) != "a" {
		t.Errorf("what was not decided is %v: %v", got, err)
	}
	if left, err := readNames(s.table.fresh()); len(left) > 0 || err != nil {
		t.Errorf("there is left %v: %v", left, err)
	}
	if at := created(t, s, "c"); at != 5 {
		t.Errorf("the next revision is %d", at)
	}
	// The value that b had is gone, and its deletion tells.
	if keys, err := watched(t, s, 0, 5); keys != "a b run/r1/x c " || err != nil {
		t.Errorf("a watch tells %q: %v", keys, err)
	}
}

// The log forgets, and says so.
func TestLogTurns(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir(), Options{segment: 500, lazy: true})
	var last store.Revision
	for n := range 300 {
		last = created(t, s, fmt.Sprintf("run/r%d", n))
	}
	all, err := numbers(s.table.logs())
	if err != nil || len(all) != keep || all[0] == 1 {
		t.Fatalf("files of the log: %v, %v", all, err)
	}
	if keys, err := watched(t, s, 0, last); keys != "" || !errors.As(err, new(*store.GapError)) {
		t.Errorf("a watch from the beginning tells %q: %v", keys, err)
	}
	if _, err := watched(t, s, all[0]-2, last); !errors.As(err, new(*store.GapError)) {
		t.Errorf("a watch from one too early: %v", err)
	}
	for _, from := range []store.Revision{all[0] - 1, all[0], all[1] - 1, all[1], last - 1} {
		keys, err := watched(t, s, from, last)
		if n := len(strings.Fields(keys)); n != int(last-from) || err != nil {
			t.Errorf("a watch from %d of %d tells %d changes: %v", from, last, n, err)
		}
	}
	if entries, at, err := s.List(t.Context(), ""); len(entries) != 300 || at != last || err != nil {
		t.Errorf("%d documents at %d: %v", len(entries), at, err)
	}
}

// What does not let go of the lock is named, and nothing waits for ever.
func TestLocked(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir(), Options{Timeout: 20 * time.Millisecond})
	last := created(t, s, "a")
	unlock, err := s.table.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var away *store.UnavailableError
	_, err = s.Create(t.Context(), "b", nil)
	if !errors.As(err, &away) || away.Unknown {
		t.Errorf("create: %v", err)
	}
	want := regexp.MustCompile(`lock is held by process ` + strconv.Itoa(os.Getpid()) + ` on \S+, since 2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d UTC: `)
	if !want.MatchString(err.Error()) || !strings.Contains(hint.Of(err), "kill -CONT") {
		t.Errorf("it does not say who has the lock, and what to do: %v; %s", err, hint.Of(err))
	}
	if !readersLock {
		if e, err := s.Get(t.Context(), "a"); err != nil || e.Revision != last {
			t.Errorf("get: %v, %v", e, err)
		}
	}
	unlock()
	created(t, s, "b")
}

// A store that a newer weft made is left alone.
func TestNewerFormat(t *testing.T) {
	root := t.TempDir()
	opened(t, root, Options{})
	if err := os.WriteFile(filepath.Join(root, "store.json"), []byte(`{"format":2,"epoch":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), root, Options{}); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("%v", err)
	}
}
