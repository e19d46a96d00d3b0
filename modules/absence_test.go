package modules

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"weft/plan"
)

// Every kind bears absence on both sides, and what is read of a ledger leads
// where what was observed would.
func TestStatesLive(t *testing.T) {
	for kind, k := range newKindSet(Kinds()) {
		files, _ := filepath.Glob("testdata/" + kind + "/*.txtar")
		for _, file := range files {
			t.Run(kind+"/"+filepath.Base(file), func(t *testing.T) {
				a, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				want := section(a, "want")
				r, err := k.restore(&server{os: Linux()}, plan.Entry{Kind: kind, Name: "x", Applied: want, Former: want})
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

// live tries the kind of what is restored.
func (r *resource[T]) live(t *testing.T, a *txtar.Archive) {
	k, want := r.kind, r.kept.last
	if n := len(k.Diff(nil, nil)) + len(k.Steps(nil, nil)); n != 0 {
		t.Errorf("from nothing to nothing: %d changes and steps", n)
	}
	k.Diff(want, nil)
	k.Steps(want, nil)
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
	if d := k.Diff(kept, have); len(d) > 0 {
		t.Errorf("what is kept of the observation differs from it: %v", d)
	}
	if got, was := show(k.Steps(kept, have)), show(k.Steps(have, have)); !slices.Equal(got, was) {
		t.Errorf("what is kept of the observation leads to %q, it itself to %q", got, was)
	}
	left(t, k, kept, want)
}

// left checks that steps lead to a state exactly where something differs, or
// nothing can lead there.
func left[T any](t *testing.T, k *Kind[T], want, have *T) {
	t.Helper()
	changes, steps := k.Diff(want, have), k.Steps(want, have)
	if len(changes) > 0 && len(steps) == 0 {
		if c, ok := any(have).(*Command); ok && len(c.Undo) == 0 {
			return
		}
		if d, ok := any(want).(*DCBX); ok && len(d.Modes) == 0 {
			return // dcb cannot set nothing
		}
		t.Errorf("%v, and no step", changes)
	}
}

// The name that an interface had when a ledger was written says nothing about
// the port that bears it today.
func TestLedgersForgetInterfaces(t *testing.T) {
	raw := json.RawMessage(`{"PCI": "0000:41:00.0", "Interface": "old0", "Bytes": 1500}`)
	var former MTU
	if err := json.Unmarshal(raw, &former); err != nil {
		t.Fatal(err)
	}
	steps := show(former.Steps(&MTU{PCI: former.PCI, Interface: "new0", Bytes: 9000}))
	if want := []string{"$ ip link set dev new0 mtu 1500"}; !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
}

// An agent that goes leaves nothing of weft's.
func TestAgentGoes(t *testing.T) {
	have := &Agent{Name: "weft-target", Config: "c", Unit: "u", Binary: "b", Enabled: true, Active: true}
	want := []string{
		"$ systemctl stop weft-target.service", "$ systemctl disable weft-target.service",
		"remove /usr/local/lib/weft/weft-target", "remove /usr/local/lib/weft/weft-target.previous",
		"remove /etc/weft/target.toml", "remove /etc/systemd/system/weft-target.service", "$ systemctl daemon-reload",
	}
	if got := show((*Agent)(nil).Steps(have)); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestAddressGoes(t *testing.T) {
	have := &Address{PCI: "0000:41:00.0", Interface: "ens1f0", Present: true, Up: true}
	if err := json.Unmarshal([]byte(`"10.0.0.1/24"`), &have.CIDR); err != nil {
		t.Fatal(err)
	}
	if got, want := show((*Address)(nil).Steps(have)), []string{"$ ip addr del 10.0.0.1/24 dev ens1f0"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
