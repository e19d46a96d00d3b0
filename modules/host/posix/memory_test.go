//go:build unix

package posix

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weft/modules/host"
)

// remembers is all that the machine keeps.
func (y yard) remembers(t *testing.T, owner string) host.Memorized {
	t.Helper()
	seen, err := y.Read(t.Context(), y.m.Looks(owner, nil))
	if err != nil {
		t.Fatal(err)
	}
	m, err := y.m.Parse(seen, owner, nil)
	if err != nil || m.Broken != nil {
		t.Fatalf("%v, %v", err, m.Broken)
	}
	return m
}

// marked is the mark that stands.
func (y yard) marked(t *testing.T) string {
	t.Helper()
	seen, err := y.Read(t.Context(), y.m.Looks("me", nil))
	if got := seen.Of(y.m.Marked()); err != nil || got.Err != nil {
		t.Fatal(err, got.Err)
	}
	return seen.Of(y.m.Marked()).Text()
}

// Ledgers and secrets are put, found with the owner's own told apart, and gone without a
// trace; what was left on its way is found and swept.
func TestKeeps(t *testing.T) {
	inYards(t, func(t *testing.T, y yard) {
		ctx, m := t.Context(), y.m
		if have := y.remembers(t, "me"); have.Files != nil || have.Leases != nil || have.Left != nil || have.Token != "" || y.marked(t) != "" {
			t.Errorf("an empty machine: %+v", have)
		}
		for owner, kept := range map[string]map[host.Keepsake]string{
			"me":    {host.KeptLedger: `{"format":1}` + "\n", host.KeptSecrets: "secret"},
			"other": {host.KeptLedger: "{}"},
		} {
			if err := os.MkdirAll(filepath.Join(m.Dir, owner), 0o700); err != nil {
				t.Fatal(err)
			}
			for k, text := range kept {
				if err := m.Put(ctx, y, k, owner, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
		}
		half := filepath.Join(m.Dir, "me", "x.half")
		if err := os.WriteFile(half, []byte("ha"), 0o600); err != nil {
			t.Fatal(err)
		}
		have := y.remembers(t, "me")
		if f := have.Files; len(f) != 3 || !f[0].Mine || f[0].Place != m.Place(host.KeptLedger, "me") || string(f[0].Raw) != `{"format":1}`+"\n" || f[1].Mine || f[2].Kept != host.KeptSecrets {
			t.Errorf("%+v", f)
		}
		if len(have.Left) != 1 || have.Left[0] != half {
			t.Errorf("left: %q", have.Left)
		}
		if err := m.Sweep(ctx, y, have.Left); err != nil {
			t.Error(err)
		}
		for _, owner := range []string{"me", "other"} {
			if err := errors.Join(m.Remove(ctx, y, owner, host.KeptLedger, host.KeptSecrets), m.Tidy(ctx, y, owner)); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(m.Dir); !os.IsNotExist(err) {
			t.Errorf("something is left: %v", err)
		}
	})
}

// Whoever comes second is told who has the lease, and takes over a dead one only as it was
// seen; it is broken once.
func TestLease(t *testing.T) {
	inYards(t, func(t *testing.T, y yard) {
		ctx, m := t.Context(), y.m
		first := host.Claim{Text: `{"owner":"me"}`, Time: time.Minute}
		if mark, ledger, held, err := m.Take(ctx, y, first, host.Note{}, "me"); mark != "" || len(ledger) > 0 || held != nil || err != nil {
			t.Fatalf("%q %q %+v %v", mark, ledger, held, err)
		}
		second := host.Claim{Text: "second", Time: time.Minute}
		_, _, held, err := m.Take(ctx, y, second, host.Note{}, "me")
		if err != nil || held == nil || held.Text != first.Text || !held.Known || held.Left <= 0 || held.Left > time.Minute {
			t.Fatalf("%+v, %v", held, err)
		}
		if have := y.remembers(t, "me"); len(have.Leases) != 2 || have.Leases[0].Text != first.Text {
			t.Errorf("leases %+v", have.Leases)
		}
		if err := m.Renew(ctx, y, host.Claim{Text: first.Text, Time: time.Hour}); err != nil {
			t.Fatal(err)
		}
		second.Over = held
		_, _, held, err = m.Take(ctx, y, second, host.Note{}, "me")
		if err != nil || held == nil || held.Left <= time.Minute {
			t.Fatalf("a lease that was renewed is taken over: %+v, %v", held, err)
		}
		second.Over = held
		if _, _, held, err = m.Take(ctx, y, second, host.Note{}, "me"); err != nil || held != nil {
			t.Errorf("a dead one is not: %+v, %v", held, err)
		}
		l, err := m.Lease(ctx, y)
		if err != nil || l == nil || l.Text != "second" {
			t.Fatalf("%+v, %v", l, err)
		}
		for _, want := range []bool{true, false} {
			if broken, err := m.Break(ctx, y, l); broken != want || err != nil {
				t.Errorf("broken: %t, %v", broken, err)
			}
		}
		if l, err := m.Lease(ctx, y); l != nil || err != nil {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

// A mark is another's, is replaced by one of its own run, and goes with its own needle.
func TestMark(t *testing.T) {
	inYards(t, func(t *testing.T, y yard) {
		ctx, m, c := t.Context(), y.m, host.Claim{Text: "me", Time: time.Minute}
		const mine, next = `{"run":"1","token":"a"}`, `{"run":"1","token":"a","phase":2}`
		if other, held, err := m.Mark(ctx, y, c, mine, "", ""); other != "" || held != nil || err != nil {
			t.Fatalf("%q %+v %v", other, held, err)
		}
		if other, _, err := m.Mark(ctx, y, c, `{"run":"2","token":"b"}`, "", ""); other != mine || err != nil {
			t.Errorf("%q, %v", other, err)
		}
		if mark, _, held, err := m.Take(ctx, y, c, host.Note{Text: next, Needle: `"token":"a"`}, "none"); mark != next || held != nil || err != nil {
			t.Errorf("%q %+v %v", mark, held, err)
		}
		if err := errors.Join(m.Release(ctx, y, c.Text), m.Unmark(ctx, y, `"token":"b"`, "")); err != nil || y.marked(t) != next {
			t.Errorf("another's needle has taken the mark away: %v", err)
		}
		if err := m.Unmark(ctx, y, `"token":"a"`, ""); err != nil || y.marked(t) != "" {
			t.Error(err)
		}
		if err := os.MkdirAll(m.Place(host.KeptMark, "")+".new/x", 0o700); err != nil { // where none can be put
			t.Fatal(err)
		}
		if _, held, err := m.Mark(ctx, y, c, mine, "", ""); held != nil || !errors.As(err, new(*host.UnwrittenError)) {
			t.Errorf("%+v %v", held, err)
		}
	})
}
