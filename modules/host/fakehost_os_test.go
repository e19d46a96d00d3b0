package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// fakehost is a second host system: nothing of it is like Linux.
func fakehost() *host.OS {
	self := func() []remote.Look { return []remote.Look{{Args: []string{"tell", "self"}}} }
	return &host.OS{
		Name:   "fakehost",
		Method: "verbs",
		Open:   func(h remote.Host) host.Transport { return h.(*line) },
		Who: host.Identity{Looks: self, Parse: func(s remote.Seen) (id plan.Identity) {
			_ = json.Unmarshal(s.Of(self()[0]).Content, &id.MachineID)
			id.System = "fakehost 1"
			return id
		}},
		Kinds:  func() []host.AnyKind { return []host.AnyKind{notes(), wires()} },
		Memory: vault{},
		Guard:  fuse{},
		Without: map[host.Feature]string{
			host.Telling: "a box says nothing of itself",
			host.Intents: "a box has no NICs",
		},
	}
}

// A fuse is the guard of fakehost.
type fuse struct{}

func (fuse) Name(owner string) string { return "fuse of " + owner }
func (fuse) Restarts() bool           { return true }
func (fuse) Look() remote.Look        { return remote.Look{Args: []string{"tell", "fuses"}} }

func (f fuse) Armed(s remote.Seen) (a host.Armed, err error) {
	return a, json.Unmarshal(s.Of(f.Look()).Content, &a.Owners)
}

func (fuse) Arm(ctx context.Context, t host.Transport, owner string, after time.Duration, back []remote.Step) error {
	l := t.(*line)
	return l.guard(ctx, "arm "+owner, func() {
		l.fuses[owner] = fused{time.Now().Add(after), append(slices.Clone(back), l.fuses[owner].back...)}
	})
}

func (fuse) Disarm(ctx context.Context, t host.Transport, owner string) error {
	l := t.(*line)
	return l.guard(ctx, "disarm "+owner, func() { delete(l.fuses, owner) })
}

// A note has a text that anybody may read, and a word that nobody may.
type note struct {
	Name, Text string
	Pass       []byte
}

func notes() *host.Kind[note] {
	look := func(n *note) []remote.Look { return []remote.Look{{Args: []string{"tell", "note", n.Name}}} }
	diff := func(want, have *note) (changes []plan.Change) {
		w, h := host.Some(want), host.Some(have)
		changes = plan.Changed("text", h.Text, w.Text, plan.ImpactNone)
		if !host.SameSecret(w.Pass, h.Pass) {
			changes = append(changes, plan.Change{Path: "pass", Before: "(sensitive)", After: "(sensitive, another)"})
		}
		return changes
	}
	return &host.Kind[note]{
		Name: "note", Declares: boxWords("note", "text"),
		Blocks: func(s *inventory.Server) (list []host.Block[note]) {
			for _, b := range s.Declared("note") {
				list = append(list, host.Block[note]{Block: &b.Block, Name: b.Label, Want: &note{b.Label, b.Values["text"], []byte("word of " + b.Label)}})
			}
			return list
		},
		Looks: look,
		Parse: func(want *note, s remote.Seen) (*note, error) { return told[note](s.Of(look(want)[0])) },
		Diff:  diff,
		Steps: func(want, have *note) (steps []remote.Step) {
			switch {
			case want == nil && have != nil:
				return []remote.Step{host.Run("note", "drop", have.Name)}
			case want == nil:
				return nil
			}
			for _, c := range diff(want, have) {
				if c.Path == "text" {
					steps = append(steps, host.Run("note", "text", want.Name, want.Text))
				} else {
					steps = append(steps, remote.Step{Args: []string{"note", "pass", want.Name}, Secret: want.Pass})
				}
			}
			return steps
		},
		Secrets: func(n *note) []*[]byte { return []*[]byte{&n.Pass} },
	}
}

// A wire is there whatever anybody declares. With a wrong speed nobody reaches the box.
type wire struct {
	Name  string
	Speed int
}

func wires() *host.Kind[wire] {
	look := func(w *wire) []remote.Look { return []remote.Look{{Args: []string{"tell", "wire", w.Name}}} }
	return &host.Kind[wire]{
		Name: "wire", Lasting: true, Risky: true, Declares: boxWords("wire", "speed"),
		Blocks: func(s *inventory.Server) (list []host.Block[wire]) {
			for _, b := range s.Declared("wire") {
				speed, _ := strconv.Atoi(b.Values["speed"]) // its form is that of a number
				list = append(list, host.Block[wire]{Block: &b.Block, Name: b.Label, Want: &wire{b.Label, speed}})
			}
			return list
		},
		Looks: look,
		Parse: func(want *wire, s remote.Seen) (*wire, error) {
			w, err := told[wire](s.Of(look(want)[0]))
			if err == nil && w == nil {
				err = fmt.Errorf("the box has no wire %s", want.Name)
			}
			return w, err
		},
		Diff: func(want, have *wire) []plan.Change {
			return plan.Changed("speed", host.Some(have).Speed, host.Some(want).Speed, plan.ImpactLinkFlap)
		},
		Steps: func(want, have *wire) []remote.Step {
			if want == nil || have != nil && *want == *have {
				return nil
			}
			return []remote.Step{host.Run("wire", "turn", want.Name, strconv.Itoa(want.Speed))}
		},
	}
}

// boxWords is the block that declares a kind of fakehost.
func boxWords(kind, attribute string) *inventory.BlockType {
	form := inventory.Form{Is: "a word", Pattern: `[a-z0-9]+`}
	return &inventory.BlockType{
		Name: kind, About: "What a box has.", Label: "name", Named: form,
		Attributes: []inventory.Attribute{{Name: attribute, About: "What it is to be.", Needed: true, Form: form}},
	}
}

// told is what a sight says; nil: nothing is there.
func told[T any](s remote.Sight) (*T, error) {
	if errors.Is(s.Err, fs.ErrNotExist) {
		return nil, nil
	}
	if s.Err != nil {
		return nil, s.Err
	}
	state := new(T)
	return state, json.Unmarshal(s.Content, state)
}
