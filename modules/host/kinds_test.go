package host

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/plan"
)

var update = flag.Bool("update", false, "rewrite diff, apply and undo of the cases, for a person to review")

// TestKinds runs testdata/KIND/*.txtar: what was declared and what a server
// answered in, what would be typed out. A look that the case does not answer
// fails.
func TestKinds(t *testing.T) {
	for os, cases := range tested() {
		for name, k := range NewKindSet(os.Kinds()) {
			kind := func(a *txtar.Archive) (plan.Resource, error) { return declaredBy(t, k, a) }
			files, _ := filepath.Glob(cases + name + "/*.txtar")
			if len(files) == 0 {
				t.Errorf("kind %s of %s has no case", name, os.Name)
			}
			for _, file := range files {
				t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runCase(t, file, kind) })
			}
		}
	}
}

// declaredBy is the resource that a case declares.
func declaredBy(t *testing.T, k AnyKind, a *txtar.Archive) (plan.Resource, error) {
	r, err := k.(interface {
		wanted(*txtar.Archive) (plan.Resource, error)
	}).wanted(a)
	if from, ok := r.(interface{ from(*bundle.Bundle) }); ok {
		from.from(bundle.From(fstest.MapFS{
			"agents/linux-amd64/weft-target.gz":      {Data: gzipped(t, "a new target")},
			"agents/linux-amd64/weft-initiator.gz":   {Data: gzipped(t, "a new probe")},
			"agents/windows-amd64/weft-initiator.gz": {Data: gzipped(t, "a new probe")},
		}))
	}
	return r, err
}

// wanted is what a case declares.
func (k *Kind[T]) wanted(a *txtar.Archive) (plan.Resource, error) {
	w := new(T)
	d := json.NewDecoder(bytes.NewReader(Section(a, "want")))
	d.DisallowUnknownFields()
	r := k.Want(remembering(a), w).(*resource[T])
	if entries := r.dev.ledgers.own.Entries; len(entries) > 0 {
		r.id = plan.ID{Kind: entries[0].Kind, Name: entries[0].Name}
	}
	return r, d.Decode(w)
}

// remembering is a server with the entries that the case has in its ledger.
func remembering(a *txtar.Archive) *Machine {
	d := &Machine{os: linux()}
	if text := Section(a, "ledger"); text != nil {
		if err := json.Unmarshal(text, &d.ledgers.own.Entries); err != nil {
			panic(err) // the case is wrong
		}
	}
	return d
}

// What a ledger keeps of a state is all of it, and no kind falls over absence.
func TestStatesInLedgers(t *testing.T) {
	for os, cases := range tested() {
		for kind, k := range NewKindSet(os.Kinds()) {
			files, _ := filepath.Glob(cases + kind + "/*.txtar")
			for _, file := range files {
				a, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				raw := Section(a, "want")
				r, err := k.restore(&Machine{os: os}, plan.Entry{Kind: kind, Name: "x", Applied: raw, Former: raw})
				if err != nil {
					t.Errorf("%s: %v", file, err)
					continue
				}
				again := r.applied(nil)
				r, err = k.restore(&Machine{os: os}, plan.Entry{Kind: kind, Name: "x", Applied: again, Former: again})
				if err != nil {
					t.Errorf("%s: %v", file, err)
				} else if twice := r.applied(nil); !bytes.Equal(again, twice) {
					t.Errorf("%s: %s becomes %s", file, again, twice)
				}
			}
		}
	}
}

func gzipped(t *testing.T, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func Section(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func runCase(t *testing.T, file string, kind func(*txtar.Archive) (plan.Resource, error)) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(Section(a, "source"))) == 0 {
		t.Error("the case names no source: a document, a file of the kernel, what printed it, or SYNTHETIC")
	}
	r, err := kind(a)
	if err != nil {
		t.Fatalf("want: %v", err)
	}
	diff := r.Diff(r.(Resource).parse(observe(t, a, r.(Resource).looks())))
	var changes strings.Builder
	if diff.Err != nil {
		fmt.Fprintf(&changes, "refused: %v\n", diff.Err)
	}
	if diff.Left != "" {
		fmt.Fprintf(&changes, "left: %s\n", diff.Left)
		if diff.Degraded != strings.HasPrefix(diff.Left, "DEGRADED") {
			t.Errorf("degraded is %t, and the text is %q", diff.Degraded, diff.Left)
		}
	}
	for _, c := range diff.Changes {
		fmt.Fprintf(&changes, "~ %s  %s → %s  %s\n", c.Path, c.Before, c.After, c.Impact)
	}
	expect(t, a, "diff", changes.String())
	expect(t, a, "apply", lines(diff.Send))
	expect(t, a, "undo", lines(diff.Undo))
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// observe gives the looks what the case says that the server answered.
func observe(t *testing.T, a *txtar.Archive, looks []remote.Look) remote.Seen {
	t.Helper()
	replies := parseReplies(t, Section(a, "read"))
	var answers []remote.Answer
	for _, look := range looks {
		key := look.String()
		if look.Sum {
			key = "sum of " + key
		}
		sight, ok := reply(replies, key)
		if !ok {
			t.Fatalf("unforeseen look: %s", key)
		}
		if look.Stat {
			sight.Mode = replies["sum of "+key].Mode
		}
		sight.Interface = replies[look.PCI].Interface
		answers = append(answers, remote.Answer{Look: look, Sight: sight})
	}
	return remote.NewSeen(answers...)
}

// reply is what a server answered. An interface is in no bond, and the only one of its PCI
// function, unless the case says otherwise.
func reply(replies map[string]remote.Sight, key string) (remote.Sight, bool) {
	sight, ok := replies[key]
	if !ok && (strings.Contains(key, "/{if}/master/") || strings.HasSuffix(key, "/{if}/dev_port")) {
		return remote.Sight{Absent: true, Err: fs.ErrNotExist}, true
	}
	return sight, ok
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

func expect(t *testing.T, a *txtar.Archive, name, got string) {
	t.Helper()
	for i, f := range a.Files {
		if f.Name != name {
			continue
		}
		if *update {
			a.Files[i].Data = []byte(got)
		} else if d := cmp.Diff(string(f.Data), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		return
	}
	if *update {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got)})
	} else {
		t.Errorf("the case has no section %s", name)
	}
}

// parseReplies reads what a server answered:
//
//	@ 0000:41:00.0 ens1f0     the interface behind a PCI address
//	< /etc/file               its content follows, up to the next of these lines
//	< /etc/file 0644 SUM      its mode and SHA-256 instead
//	! /etc/file               it is not there
//	$ command                 its output follows
//	? 3                       exit status of the command above
func parseReplies(t *testing.T, text []byte) map[string]remote.Sight {
	replies := map[string]remote.Sight{}
	var key string
	for _, line := range strings.SplitAfter(string(text), "\n") {
		mark, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		words := strings.Fields(rest)
		switch {
		case mark == "@" && len(words) == 2:
			replies[words[0]] = remote.Sight{Interface: words[1]}
		case mark == "<" && len(words) == 3:
			mode, err := strconv.ParseUint(words[1], 8, 32)
			if err != nil {
				t.Fatalf("read: %q", line)
			}
			replies["sum of "+words[0]] = remote.Sight{Mode: os.FileMode(mode), Sum: words[2]}
		case mark == "<" || mark == "$":
			key = rest
			replies[key] = remote.Sight{}
		case mark == "!":
			gone := remote.Sight{Absent: true, Err: fmt.Errorf("%s: %w", rest, os.ErrNotExist)}
			replies[rest], replies["sum of "+rest] = gone, gone
		case mark == "?":
			s := replies[key]
			s.Code, _ = strconv.Atoi(rest)
			s.Err = &remote.ExitError{Args: strings.Fields(key), Code: s.Code, Output: remote.Output{Stderr: s.Content}}
			replies[key] = s
		default:
			s := replies[key]
			s.Content = append(s.Content, line...)
			replies[key] = s
		}
	}
	return replies
}

// from gives an agent what it installs.
func (r *resource[T]) from(b *bundle.Bundle) {
	if f := reflect.ValueOf(r.want).Elem().FieldByName("Bundle"); f.IsValid() {
		f.Set(reflect.ValueOf(b))
	}
}
