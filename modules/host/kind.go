package host

import (
	"context"
	"encoding/json"
	"fmt"

	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/inventory"
	"weft/plan"
)

// A Kind is one sort of resource on a server. All there is to it stands in one
// literal in one file, beside the struct T, which is both what is wanted and
// what was observed; its page is NAME.md, its cases are in testdata/NAME.
//
// To write a kind: declare T, whose exported fields are what ledgers keep (their
// names never change); write a function that returns the literal, with the
// functions of T as its hooks; add that function to Kinds. Expand then makes
// resources of it with Want.
//
// Looks, Parse and Steps are there in every kind, the others where they are
// needed. All but Verify are pure. A nil *T is absence: Steps(nil, have)
// removes. Diff and Steps are never given two of that. A lasting kind always has
// a state: they are given none, and what was not observed is the zero state.
type Kind[T any] struct {
	Name    string
	Lasting bool // it can be given its former state, and never be removed
	Risky   bool // it may cut the server off: the dead-man covers it
	Stays   bool // what a run made of it may hold data, and stays when the run is reverted

	// Declares is the block in a server that files write it as, where its words are
	// the kind's own; nil: the language has them, or there is none.
	Declares *inventory.BlockType
	// Blocks are the blocks of the kind's name in a server that declare it; nil:
	// there are none, and it is made by what Expand finds elsewhere.
	Blocks func(*inventory.Server) []Block[T]

	// Writes is the block that declares an applied state: its label, and what is set in
	// it where that is not what is usual. An error says why it cannot be written, its
	// hint what to do. nil: internal/discover writes it with others, or not at all.
	Writes func(name string, applied *T) (label string, set []Setting, err error)

	// Port is what a fabric asks of a port of a NIC with its classes; nil: nothing.
	Port func(*inventory.RNIC) *T
	// Part names the resource that ignore_drift of a server means by a path that is
	// no block of the kind's name.
	Part func(path string) (name string, ok bool)

	// Looks lists what must be read to observe it; it is batched with the looks
	// of every other resource of the server.
	Looks func(want *T) []remote.Look
	// Parse makes the observed state of what was seen; nil is absence. Its error
	// says why it cannot be had on this server.
	Parse func(want *T, s remote.Seen) (*T, error)
	// Absent is what its absence looks like beside a state of it: then Diff and Steps
	// are given no nil at all.
	Absent func(*T) *T
	// Present is the change of a thing that comes or goes, where that is all there is
	// to say: then Diff is asked only of two that are there.
	Present string
	// Diff lists what differs from have; nil: nothing can.
	Diff func(want, have *T) []plan.Change
	// Steps leads from have to want; Steps(have, want) is the way back.
	Steps func(want, have *T) []remote.Step
	// Verify proves the effect on the live server, where reading it back does not.
	Verify func(want *T, ctx context.Context, h remote.Host) error

	// Before it is compared: Check says why what is wanted cannot be written, and
	// Reveal reads secrets into it.
	Check  func(want *T) error
	Reveal func(want *T) error
	// NIC is the PCI address of the port whose facts must allow it.
	NIC func(want *T) string

	// About names what it is about, where it is called after a block that only
	// points at that: the same thing under another block's name is the same
	// resource.
	About func(*T) string
	// Boot is the lines of a script that bring back what a restart loses; they may
	// run at any time. The interface of a PCI address is $(nic ADDRESS).
	Boot func(want *T) []string
	// Goal is what will be observed once the steps from have are done, where that
	// says more than want.
	Goal func(want, have *T) *T
	// Left is what of an observed state is not as it should be and is left to
	// people; "" is nothing.
	Left  func(have *T) string
	Fails func(have *T) bool // Left says that hosts do not get what it was applied for
	// Advice says what to do about a failure. The reply is what the server answered
	// to a step, "" when all steps were taken and it is still not as wanted. Why is
	// a command of the server that tells more.
	Advice func(want *T, reply string) string
	Why    func(want *T) []string
	// Self is what a state is about, as people know it, and All of its sort that its
	// first look shows.
	Self, All func(*T, remote.Seen) []Object

	// Keeps says why an observed thing stays although it is declared no more.
	Keeps func(have *T) string
	// From gives it weft's bundle, to put back what it took away.
	From func(*T, *bundle.Bundle)
	// Secrets are the parts of a state that nobody may read.
	Secrets func(*T) []*[]byte
	Partial Partial[T]

	// Together refuses states, as read of all resources of a server, where one may
	// not be pruned because of others.
	Together func(rs []plan.Resource, states []plan.State)
	// Holds names what only one resource of a server can have at a time.
	Holds func(*T) []string
	// Provides names what hosts get from it and may get from another resource of the
	// server, the most specific name first: the other one comes before this one goes.
	Provides func(*T) []string
	Follows  func(want *T) []string // names, as Provides has them, of what has to end before it comes
	Fleeting bool                   // nothing to be given back: only a run that is reverted does so
	Additive bool                   // what it gives hosts beyond what is declared is ended by a fleeting kind
	// Undo is the way back from want after some steps towards it, where not all of
	// it is to be undone.
	Undo func(have, want *T, begun []remote.Step) []remote.Step

	// Special are hooks that only a few kinds need; most leave it out.
	Special Special[T]
}

// Partial is for kinds that speak of some settings of their thing and leave the
// others alone. When the declaration changes, it may speak of others than before:
// what weft made of those that it does not speak of any more goes back to what was
// there before weft, unless an operator changed it since.
type Partial[T any] struct {
	// Follow takes on the settings that weft applied and want does not speak of.
	Follow func(want *T, p Past[T])
	// Since is what was there before weft, of all that want speaks of: as former has
	// it where applied spoke of it, otherwise as have. nil: former speaks of all.
	Since func(want, applied, former, have *T) *T
	// Settle leaves of applied, once it is proven, and of what was there before it,
	// what is declared.
	Settle func(applied, former *T)
}

// A past is what the ledger says of a thing. A setting that is still as it was
// applied is to be as it was before weft.
type Past[T any] struct {
	Applied *T
	Former  *T   // before weft
	Half    bool // weft may have been cut off: a setting may have been taken off and nothing put there
	Firm    bool // a setting is to be as before weft, whatever it is now
}

// A Block declares one resource of a kind.
type Block[T any] struct {
	*inventory.Block
	Name string // of the resource
	Also string // how ignore_drift may name it as well
	Want *T
}

// A Setting is an attribute of a block with its value: a string, bool, int, []string or
// map[string]string.
type Setting struct {
	Name  string
	Value any
}

// Set sets an attribute.
func Set(name string, value any) Setting { return Setting{name, value} }

// AnyKind is a kind whatever its states are.
type AnyKind interface {
	KindName() string
	// Words is the block that it declares for itself; nil: none.
	Words() *inventory.BlockType
	// blocks are what a server's blocks of its name declare; false: it has none.
	DeclaredBy(*Machine, *inventory.Server) ([]declaration, bool)
	// Written is the block that declares what an entry of a ledger says was applied;
	// false: the kind does not write its own.
	Written(plan.Entry) (label string, set []Setting, ok bool, err error)
	// port is what a NIC's port is to have; nil: nothing.
	OnPort(*Machine, *inventory.RNIC) Thing
	PartNamed(path string) (name string, ok bool)
	OfFabric() string
	// restore makes the resource that leads back from what an entry of a ledger
	// says was applied to what was there before.
	restore(*Machine, plan.Entry) (Thing, error)
	together([]plan.Resource, []plan.State)
	fleeting() bool
	// secrets opens a state as a ledger keeps it; false: it has no secrets.
	secrets(json.RawMessage) (openState, bool)
}

// A declaration is a Block whatever its kind is.
type declaration struct {
	*inventory.Block
	Name, Also string
	Resource   Thing
}

func (k *Kind[T]) KindName() string { return k.Name }

func (k *Kind[T]) Words() *inventory.BlockType { return k.Declares }

func (k *Kind[T]) fleeting() bool { return k.Fleeting }

func (k *Kind[T]) together(rs []plan.Resource, states []plan.State) {
	if k.Together != nil {
		k.Together(rs, states)
	}
}

func (k *Kind[T]) DeclaredBy(dev *Machine, s *inventory.Server) (list []declaration, ok bool) {
	if k.Blocks == nil {
		return nil, false
	}
	list = slice.Map(k.Blocks(s), func(b Block[T]) declaration { return declaration{b.Block, b.Name, b.Also, k.Want(dev, b.Want)} })
	return list, true
}

func (k *Kind[T]) Written(e plan.Entry) (label string, set []Setting, ok bool, err error) {
	if k.Writes == nil {
		return "", nil, false, nil
	}
	applied, _, err := states[T](plan.Entry{Applied: e.Applied})
	if err != nil || applied == nil {
		return "", nil, true, unreadable(e)
	}
	label, set, err = k.Writes(e.Name, applied)
	return label, set, true, err
}

func (k *Kind[T]) OnPort(dev *Machine, r *inventory.RNIC) Thing {
	if k.Port == nil {
		return nil
	}
	if want := k.Port(r); want != nil {
		return k.Want(dev, want)
	}
	return nil
}

func (k *Kind[T]) PartNamed(path string) (name string, ok bool) {
	if k.Part == nil {
		return "", false
	}
	return k.Part(path)
}

func (k *Kind[T]) OfFabric() string { return k.Special.FabricPart }

// Want is a declared resource of a server.
func (k *Kind[T]) Want(dev *Machine, want *T) Thing {
	return &resource[T]{kind: k, want: want, dev: dev}
}

func (k *Kind[T]) restore(dev *Machine, e plan.Entry) (Thing, error) {
	applied, former, err := states[T](e)
	switch {
	case err != nil:
		return nil, err
	case k.Lasting && e.State != plan.EntryAdopted && former == nil:
		return nil, fmt.Errorf("it does not say what was there before")
	case e.Applied == nil && e.Former == nil:
		return nil, fmt.Errorf("it does not say what was applied")
	}
	if former != nil && k.Secrets != nil {
		if err := found(k.Secrets(former)); err != nil {
			return nil, err
		}
	}
	if former != nil && k.Special.Stay != nil {
		k.Special.Stay(former, &dev.things)
	}
	for _, state := range []*T{applied, former} {
		if state != nil && k.From != nil {
			k.From(state, dev.bundle)
		}
	}
	return &resource[T]{kind: k, dev: dev, id: plan.ID{Device: dev.name, Kind: e.Kind, Name: e.Name}, want: former,
		kept: &kept[T]{last: applied, half: e.State == plan.EntryCreating}}, nil
}

// states are what an entry says of a thing; nil is nothing.
func states[T any](e plan.Entry) (applied, former *T, err error) {
	if e.Applied != nil {
		if err = json.Unmarshal(e.Applied, &applied); err != nil {
			return nil, nil, fmt.Errorf("applied state: %w", err)
		}
	}
	if e.Former != nil {
		if err = json.Unmarshal(e.Former, &former); err != nil {
			return nil, nil, fmt.Errorf("previous state: %w", err)
		}
	}
	return applied, former, nil
}

// encode is a state as a ledger keeps it.
func encode[T any](state *T) json.RawMessage {
	if state == nil {
		return nil
	}
	raw, err := json.Marshal(state)
	if err != nil {
		panic(err) // states are plain structs; a test encodes one of each kind
	}
	return raw
}

// changes lists what differs from have.
func (k *Kind[T]) changes(want, have *T) []plan.Change {
	want, have = k.ends(want, have)
	switch {
	case want == nil && have == nil:
		return nil
	case k.Present != "" && have == nil:
		return plan.Changed(k.Present, false, true, plan.ImpactNone)
	case k.Present != "" && want == nil:
		return plan.Changed(k.Present, true, false, plan.ImpactTraffic)
	case k.Diff == nil:
		return nil
	}
	return k.Diff(want, have)
}

// way leads from have to want.
func (k *Kind[T]) way(want, have *T) []remote.Step {
	if want, have = k.ends(want, have); want == nil && have == nil {
		return nil
	}
	return k.Steps(want, have)
}

// ends are two states as the hooks take them.
func (k *Kind[T]) ends(want, have *T) (*T, *T) {
	switch {
	case k.Lasting && want == nil:
		return nil, nil
	case k.Lasting:
		return want, Some(have)
	case k.Absent != nil:
		return Either(want, have, k.Absent)
	}
	return want, have
}

// Nothing is the zero state, where absence looks like that.
func Nothing[T any](*T) *T { return new(T) }

// Either gives the one of two states that is nil what its absence looks like;
// when both are nil it gives nothing.
func Either[T any](want, have *T, absent func(*T) *T) (*T, *T) {
	switch {
	case want == nil && have != nil:
		want = absent(have)
	case want != nil && have == nil:
		have = absent(want)
	}
	return want, have
}

// some is a state, or the zero one of what was not observed.
func Some[T any](state *T) *T {
	if state == nil {
		return new(T)
	}
	return state
}

func Run(args ...string) remote.Step { return remote.Step{Args: args} }

// kindSet are kinds by their names.
type KindSet map[string]AnyKind

func NewKindSet(kinds []AnyKind) KindSet {
	set := make(KindSet, len(kinds))
	for _, k := range kinds {
		set[k.KindName()] = k
	}
	return set
}
