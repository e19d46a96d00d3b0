package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/plan"
)

// A keptEntry is an entry of a ledger as a weft has written it, what a server says
// later, and what becomes of the entry then. They stand on devices: nothing here
// is ever written anew.
type keptEntry struct {
	Name    string     `json:"name"`
	Entry   plan.Entry `json:"entry"`
	Read    string     `json:"read"`
	Drifted bool       `json:"drifted"`
	Pruned  keptDiff   `json:"pruned"`
	Back    keptDiff   `json:"reverted"`
}

type keptDiff struct {
	Changes []plan.Change `json:"changes,omitempty"`
	Send    []string      `json:"send,omitempty"`
	Undo    []string      `json:"undo,omitempty"`
	Left    bool          `json:"left,omitempty"` // alone, and the plan says why
	Refused bool          `json:"refused,omitempty"`
}

func keptDiffOf(d plan.Diff) keptDiff {
	return keptDiff{d.Changes, d.Send, d.Undo, d.Left != "", d.Err != nil}
}

// What ledgers hold of every kind is understood by later wefts: they look at the
// same, judge it in the same way, take the same steps, and write the same entry.
func TestKeptEntries(t *testing.T) {
	for kind := range NewKindSet(linux().Kinds()) {
		steps := false
		for _, c := range keptOf(t, kind) {
			steps = steps || len(c.Pruned.Send) > 0 || len(c.Back.Send) > 0 // what is fleeting goes back only with a run
			t.Run(kind+"/"+c.Name, c.run)
		}
		if !steps {
			t.Errorf("no entry of kind %s leads to steps", kind)
		}
	}
	files, _ := filepath.Glob("../linux/*/testdata/*/ledger.json")
	if len(files) != len(linux().Kinds()) {
		t.Errorf("%d files of entries for %d kinds", len(files), len(linux().Kinds()))
	}
}

func (c keptEntry) run(t *testing.T) {
	got, again := c.becomes(t, ledger{Entries: []plan.Entry{c.Entry}})
	if d := cmp.Diff(c, got); d != "" {
		t.Errorf("-kept +now:\n%s", d)
	}
	for what, pair := range map[string][2]json.RawMessage{"applied": {c.Entry.Applied, again.Applied}, "former": {c.Entry.Former, again.Former}} {
		var was bytes.Buffer
		if pair[0] != nil {
			if err := json.Compact(&was, pair[0]); err != nil {
				t.Fatal(err)
			}
		}
		if was.String() != string(pair[1]) {
			t.Errorf("%s was written as\n%s\nand is now\n%s", what, was.String(), pair[1])
		}
	}
}

// becomes is what becomes of an entry, and the entry as it is written again.
func (c keptEntry) becomes(t *testing.T, l ledger) (keptEntry, plan.Entry) {
	t.Helper()
	replies := parseReplies(t, []byte(c.Read))
	d := &Machine{os: linux(), name: "server.s", bundle: bundle.New()}
	d.ledgers.own = l
	restored := func(reverse bool) (Thing, keptDiff) {
		r, err := d.restore(c.Entry)
		if err != nil {
			t.Fatal(err)
		}
		if reverse {
			r.reverses()
		}
		d.sights = answer(replies, r.looks())
		return r, keptDiffOf(r.Diff(r.parse(d.sights)))
	}
	_, c.Back = restored(true)
	r, pruned := restored(false)
	c.Pruned, c.Drifted = pruned, d.Drifted(c.Entry, nil)
	return c, plan.Entry{Applied: r.applied(nil), Former: r.leaves()}
}

// Ledgers hold the secrets of four kinds in the clear, as wefts before have
// written them, or sealed and in a file beside them: what becomes of the entries
// is the same.
func TestKeptSecrets(t *testing.T) {
	for _, how := range []string{"clear", "sealed"} {
		text, err := os.ReadFile("testdata/secrets/" + how)
		if err != nil {
			t.Fatal(err)
		}
		look := linux().Memory.Looks("one", nil)[0]
		m, _ := linux().Memory.Parse(remote.NewSeen(remote.Answer{Look: look, Sight: remote.Sight{Content: text}}), "one", nil)
		all := ledgersOf("one", m, NewKindSet(linux().Kinds()), func(e plan.Entry) string { return e.Name })
		if all.warning != "" {
			t.Fatal(all.warning)
		}
		kinds := map[string]int{}
		for _, e := range all.own.Entries {
			t.Run(how+"/"+e.Key(), func(t *testing.T) {
				for _, c := range keptOf(t, e.Kind) {
					if c.Name != e.Name {
						continue
					}
					kinds[e.Kind]++
					c.Entry = e
					if got, _ := c.becomes(t, all.own); !cmp.Equal(c, got) {
						t.Error(cmp.Diff(c, got))
					}
				}
			})
		}
		if len(kinds) != 4 {
			t.Errorf("%s: only of the kinds %v there were entries", how, kinds)
		}
	}
}

// keptOf are the entries that are kept of a kind.
func keptOf(t *testing.T, kind string) (cases []keptEntry) {
	t.Helper()
	files, err := filepath.Glob("../linux/*/testdata/" + kind + "/ledger.json")
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%d files", len(files))
	}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(files[0]); err == nil {
			err = json.Unmarshal(text, &cases)
		}
	}
	if err != nil {
		t.Errorf("of kind %s no entry is kept: %v", kind, err)
	}
	return cases
}
