package host

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/plan"
)

// A declaration that changes is no drift, and what an operator changes is, of every
// kind: each case of testdata that is as wanted is declared otherwise, in every
// attribute, and each that is not as wanted was applied before. That the half of a
// mirror failed or that a disk grew is nobody's change of what was applied.
func TestDriftIsWhatSomebodyChanged(t *testing.T) {
	for kind := range NewKindSet(linux().Kinds()) {
		files, _ := filepath.Glob("../linux/*/testdata/" + kind + "/*.txtar")
		calm, moved := 0, 0
		for _, file := range files {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if Section(a, "ledger") != nil {
				continue
			}
			replies := parseReplies(t, Section(a, "read"))
			see := func(d *Machine, raw []byte) (r plan.Resource, have plan.State) {
				r, err := declare(d, kind, raw)
				if err != nil {
					return nil, nil
				}
				d.sights = answer(replies, r.(Resource).looks())
				return r, r.(Resource).parse(d.sights)
			}
			d := &Machine{os: linux(), name: "server.s", bundle: bundle.New()}
			want := Section(a, "want")
			r, have := see(d, want)
			diff := r.Diff(have)
			if diff.Err != nil || diff.Left != "" {
				continue
			}
			e := plan.Entry{Kind: kind, Name: "x", State: plan.EntryCreated, Applied: r.(Thing).applied(have), Former: r.(Thing).applied(have)}
			d.ledgers.own.Entries = []plan.Entry{e}
			if len(diff.Changes) > 0 {
				if moved++; !d.Drifted(e, have) && kind != "mirror" {
					t.Errorf("%s: what is not as it was applied has not drifted: %v", file, diff.Changes)
				}
				continue
			}
			calm++
			if d.Drifted(e, have) {
				t.Errorf("%s: what is as it was applied has drifted", file)
			}
			for _, other := range others(t, want) {
				if _, have := see(d, other); d.Drifted(e, have) {
					t.Errorf("%s: nobody changed anything, and declared as %s it has drifted", file, other)
				}
			}
		}
		if calm == 0 {
			t.Errorf("kind %s has no case that is as wanted", kind)
		}
		if moved == 0 {
			t.Errorf("kind %s has no case that is not as wanted", kind)
		}
	}
}

// declare is a resource of a kind.
func declare(d *Machine, kind string, want []byte) (plan.Resource, error) {
	r, err := NewKindSet(linux().Kinds())[kind].restore(d, plan.Entry{Kind: kind, Name: "x", State: plan.EntryAdopted, Applied: want})
	if err != nil {
		return nil, err
	}
	out := r.(interface{ redeclared() plan.Resource }).redeclared()
	out.(interface{ Named(plan.ID) }).Named(plan.ID{Device: d.name, Kind: kind, Name: "x"})
	return out, nil
}

func (r *resource[T]) redeclared() plan.Resource { return r.kind.Want(r.dev, r.kept.last) }

// answer is what a server says to looks, as far as the case foresees them.
func answer(replies map[string]remote.Sight, looks []remote.Look) remote.Seen {
	var list []remote.Answer
	for _, look := range looks {
		key := look.String()
		if look.Sum {
			key = "sum of " + key
		}
		sight, ok := reply(replies, key)
		if !ok {
			continue
		}
		if look.Stat {
			sight.Mode = replies["sum of "+key].Mode
		}
		sight.Interface = replies[look.PCI].Interface
		list = append(list, remote.Answer{Look: look, Sight: sight})
	}
	return remote.NewSeen(list...)
}

// others are declarations that differ from one in one place each.
func others(t *testing.T, want []byte) (out [][]byte) {
	var tree any
	if err := json.Unmarshal(want, &tree); err != nil {
		t.Fatal(err)
	}
	add := func() {
		raw, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, raw)
	}
	var walk func(value any, set func(any))
	try := func(was any, set func(any), values ...any) {
		for _, v := range values {
			set(v)
			add()
		}
		set(was)
	}
	walk = func(value any, set func(any)) {
		switch v := value.(type) {
		case map[string]any:
			for k, child := range v {
				walk(child, func(n any) { v[k] = n })
				delete(v, k)
				add()
				v[k] = child
			}
		case []any:
			for i, child := range v {
				walk(child, func(n any) { v[i] = n })
			}
			try(v, set, v[:len(v)-1])
		case string:
			try(v, set, "", v+"x", strings.ToUpper(v))
		case float64:
			try(v, set, v+1, float64(-1))
		case bool:
			try(v, set, !v)
		}
	}
	walk(tree, func(any) {})
	return out
}
