package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

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
	for on, folder := range tested() {
		for name, kind := range NewKindSet(on.Kinds()) {
			file := keptFile(t, folder+name)
			if _, err := os.Stat(file); *update && err != nil {
				writeKept(t, on, kind, folder+name, file)
			}
			steps := false
			for _, c := range keptOf(t, file) {
				steps = steps || len(c.Pruned.Send) > 0 || len(c.Back.Send) > 0 // what is fleeting goes back only with a run
				t.Run(on.Name+"/"+name+"/"+c.Name, func(t *testing.T) { c.run(t, on) })
			}
			stays := name == "nvme_adapter" // other storage may hang on it
			if !steps && !stays && len(cases(t, folder+name, true)) > 0 {
				t.Errorf("no entry of kind %s of %s leads to steps", name, on.Name)
			}
		}
	}
}

// keptFile is where the entries of a kind are, whose cases are in a folder.
func keptFile(t *testing.T, folder string) string {
	t.Helper()
	folders, err := filepath.Glob(folder)
	if err != nil || len(folders) != 1 {
		t.Fatalf("%s: %d folders, %v", folder, len(folders), err)
	}
	return filepath.Join(folders[0], "ledger.json")
}

// cases are those of a kind, or those in which something is sent.
func cases(t *testing.T, folder string, acted bool) (list []*txtar.Archive) {
	t.Helper()
	files, _ := filepath.Glob(folder + "/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !acted || len(Section(a, "apply")) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// writeKept makes entries of a kind that has none: what the case "wanted" declares and reads,
// with what each case in which something is sent reads as its former state; and each of these
// cases after it was applied and reverted by an operator.
func writeKept(t *testing.T, on *OS, kind AnyKind, folder, file string) {
	t.Helper()
	wanted, err := txtar.ParseFile(filepath.Join(filepath.Dir(file), "wanted.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	was := func(a *txtar.Archive) (applied, former json.RawMessage) {
		r, err := declaredBy(t, kind, a)
		if err != nil {
			t.Fatal(err)
		}
		thing := r.(Thing)
		have := thing.parse(answer(parseReplies(t, Section(a, "read")), thing.looks()))
		return thing.applied(have), thing.formerly(have)
	}
	var list []keptEntry
	keep := func(name string, state plan.EntryState, applied, former json.RawMessage, a *txtar.Archive) (steps bool) {
		e := plan.Entry{Kind: kind.KindName(), Name: "x", State: state, Applied: applied, Former: former}
		c, _ := keptEntry{Name: name, Entry: e, Read: string(Section(a, "read"))}.becomes(t, on, ledger{Entries: []plan.Entry{e}})
		list = append(list, c)
		return len(c.Pruned.Send) > 0
	}
	last, _ := was(wanted)
	keep("adopted", plan.EntryAdopted, last, nil, wanted)
	steps := false
	for i, a := range cases(t, folder, true) {
		applied, former := was(a)
		steps = keep(fmt.Sprintf("created %d", i), plan.EntryCreated, last, former, wanted) || steps
		keep(fmt.Sprintf("created and taken back %d", i), plan.EntryCreated, applied, former, a)
		for _, other := range cases(t, folder, false) {
			if steps {
				break
			}
			if steps = keep(fmt.Sprintf("created otherwise %d", i), plan.EntryCreated, applied, former, other); !steps {
				list = list[:len(list)-1]
			}
		}
	}
	var text bytes.Buffer
	for i, c := range list {
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s\n%s", map[bool]string{true: "[", false: ","}[i == 0], raw)
	}
	text.WriteString("\n]\n")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c keptEntry) run(t *testing.T, on *OS) {
	got, again := c.becomes(t, on, ledger{Entries: []plan.Entry{c.Entry}})
	if d := cmp.Diff(c, got, cmpopts.EquateEmpty()); d != "" {
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
func (c keptEntry) becomes(t *testing.T, on *OS, l ledger) (keptEntry, plan.Entry) {
	t.Helper()
	replies := parseReplies(t, []byte(c.Read))
	d := &Machine{os: on, name: "server.s", bundle: bundle.New()}
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
				for _, c := range keptOf(t, keptFile(t, "../linux/*/testdata/"+e.Kind)) {
					if c.Name != e.Name {
						continue
					}
					kinds[e.Kind]++
					c.Entry = e
					if got, _ := c.becomes(t, linux(), all.own); !cmp.Equal(c, got) {
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

// keptOf are the entries in a file.
func keptOf(t *testing.T, file string) (cases []keptEntry) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil {
		t.Errorf("no entry is kept: %v", err)
	}
	return cases
}
