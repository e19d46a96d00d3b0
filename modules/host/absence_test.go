package host

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"weft/plan"
)

// Every kind bears absence on both sides, and what is read of a ledger leads
// where what was observed would.
func TestStatesLive(t *testing.T) {
	for os, cases := range tested() {
		for kind, k := range NewKindSet(os.Kinds()) {
			files, _ := filepath.Glob(cases + kind + "/*.txtar")
			for _, file := range files {
				t.Run(kind+"/"+filepath.Base(file), func(t *testing.T) {
					a, err := txtar.ParseFile(file)
					if err != nil {
						t.Fatal(err)
					}
					want := Section(a, "want")
					r, err := k.restore(&Machine{os: os}, plan.Entry{Kind: kind, Name: "x", Applied: want, Former: want})
					if err != nil {
						t.Fatal(err)
					}
					r.(interface {
						live(*testing.T, *txtar.Archive)
					}).live(t, a)
				})
			}
		}
	}
}

// live tries the kind of what is restored.
func (r *resource[T]) live(t *testing.T, a *txtar.Archive) {
	k, want := r.kind, r.kept.last
	if n := len(k.changes(nil, nil)) + len(k.way(nil, nil)); n != 0 {
		t.Errorf("from nothing to nothing: %d changes and steps", n)
	}
	k.changes(want, nil)
	k.way(want, nil)
	have, err := k.Parse(want, observe(t, a, k.Looks(want)))
	if err != nil {
		return // refused: nothing becomes of it
	}
	left(t, k, nil, have)
	if have == nil {
		return
	}
	kept := new(T)
	if err := json.Unmarshal(encode(have), kept); err != nil {
		t.Fatal(err)
	}
	if d := k.changes(kept, have); len(d) > 0 {
		t.Errorf("what is kept of the observation differs from it: %v", d)
	}
	if got, was := show(k.way(kept, have)), show(k.way(have, have)); !slices.Equal(got, was) {
		t.Errorf("what is kept of the observation leads to %q, it itself to %q", got, was)
	}
	left(t, k, kept, want)
}

// left checks that steps lead to a state exactly where something differs, or
// nothing can lead there.
func left[T any](t *testing.T, k *Kind[T], want, have *T) {
	t.Helper()
	changes, steps := k.changes(want, have), k.way(want, have)
	if len(changes) > 0 && len(steps) == 0 {
		if k.Name == "command" && !strings.Contains(string(encode(have)), `"Undo":["`) {
			return
		}
		if k.Name == "dcbx" && strings.Contains(string(encode(want)), `"Modes":null`) {
			return // dcb cannot set nothing
		}
		t.Errorf("%v, and no step", changes)
	}
}
