package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"weft/internal/remote"
	"weft/plan"
)

// onServer is what a server device needs of its resources.
type Resource interface {
	plan.Resource
	looks() []remote.Look
	parse(remote.Seen) plan.State
	steps(have plan.State) []remote.Step
	restored(have, now plan.State) error
}

// A thing is a resource of some kind.
type Thing interface {
	Resource
	Named(plan.ID)
	key() string
	additive() bool // see Kind.Additive
	declared() bool // else it leads back to what a ledger says was there before
	about() string
	Boot() []string
	risky() bool
	nic() string
	advice(reply string) string
	why() []string
	objects(seen remote.Seen, looked map[string]bool) (mine, all []Object)
	undo(have plan.State) []remote.Step
	undoBegun(have plan.State, begun []remote.Step) []remote.Step
	lost(have, now plan.State) error
	tries(have plan.State, c plan.Change) bool

	// What a ledger keeps: of the outcome, of what was there, of what was there
	// before weft ever came, and of what the steps lead to.
	applied(have plan.State) json.RawMessage
	formerly(have plan.State) json.RawMessage
	first(have plan.State, entries []plan.Entry) json.RawMessage
	leaves() json.RawMessage
	since(plan.Entry, plan.State) json.RawMessage // as first, where there is an entry already
	settled(plan.Entry) plan.Entry                // once what was applied is proven
	adopted(have plan.State) (plan.Entry, bool)   // of what was found as wanted
	sameApplied(raw json.RawMessage, have plan.State) bool

	// Of what is restored.
	moved(have plan.State) bool
	gone(have plan.State) bool
	reverses()
	reversing() bool
	follows(prior plan.Entry)
}

// resource is a thing of one kind: declared, or, where kept is there, one that
// goes back to what was there before weft came. That touches only what is still
// as weft left it.
type resource[T any] struct {
	kind *Kind[T]
	dev  *Machine
	id   plan.ID
	want *T // nil: nothing is to be there
	kept *kept[T]
}

// kept is what a ledger says of a thing.
type kept[T any] struct {
	last *T   // what weft made of it; nil: it was removed
	half bool // weft may have been cut off while making it
	back bool // a run is reverted, not a declaration
}

// refused is the state of a resource that cannot be had.
type refused struct {
	err  error
	firm bool // also where it is pruned: nothing else may go on
}

func (r *resource[T]) key() string { return r.id.Kind + "." + r.id.Name }

func (r *resource[T]) declared() bool { return r.kept == nil }

func (r *resource[T]) additive() bool { return r.kind.Additive }

func (r *resource[T]) Named(id plan.ID) {
	r.id = id
	if r.kind.About != nil {
		r.dev.things.declare(id, r.kind.About(r.want))
	}
}

// basis is a state that says what to look at.
func (r *resource[T]) basis() *T {
	if r.kept == nil || r.kept.last == nil {
		return r.want
	}
	return r.kept.last
}

// states are all that the resource speaks of: what weft made, and what was there
// before that, are both its business.
func (r *resource[T]) states() (list []*T) {
	if r.kept != nil && r.kept.last != nil {
		list = append(list, r.kept.last)
	}
	if r.want != nil {
		list = append(list, r.want)
	}
	return list
}

func (r *resource[T]) looks() []remote.Look { return r.kind.Looks(r.basis()) }

// parse observes. What is restored may be such that it could not be written today.
func (r *resource[T]) parse(seen remote.Seen) plan.State {
	if r.kept == nil {
		if err := errors.Join(ask(r.kind.Check, r.want), ask(r.kind.Reveal, r.want)); err != nil {
			return refused{err: err}
		}
	}
	if r.dev != nil {
		r.remember(r.dev.ledgers.own.Entries)
	}
	have, err := r.kind.Parse(r.basis(), seen)
	switch {
	case err != nil:
		return refused{err: err}
	case have == nil:
		return nil
	}
	return have
}

// remember tells the kind what the ledger holds that concerns it.
func (r *resource[T]) remember(entries []plan.Entry) {
	if r.kind.Special.Inherit != nil {
		r.kind.Special.Inherit(r.basis(), entries)
	}
	for _, e := range entries {
		if r.kept == nil && e.Kind == r.id.Kind && e.Name == r.id.Name {
			r.follow(r.want, e, false)
		}
	}
}

// follow tells a state of a partial kind what the entry of a ledger says of it.
func (r *resource[T]) follow(state *T, e plan.Entry, firm bool) {
	if r.kind.Partial.Follow == nil || state == nil || e.State == plan.EntryAdopted {
		return
	}
	if applied, former, err := states[T](e); err == nil {
		r.kind.Partial.Follow(state, Past[T]{Some(applied), Some(former), e.State == plan.EntryCreating, firm})
	}
}

// observed is a state that was read; nil: there is nothing, or it was refused.
func observed[T any](state plan.State) *T {
	s, _ := state.(*T)
	return s
}

// Diff implements plan.Resource.
func (r *resource[T]) Diff(have plan.State) plan.Diff {
	if r.kept != nil {
		return r.revert(have)
	}
	if no, ok := have.(refused); ok {
		return plan.Diff{Err: no.err}
	}
	h := observed[T](have)
	if r.kind.Special.Refuse != nil {
		if err := r.kind.Special.Refuse(r.want, h); err != nil {
			return plan.Diff{Err: err}
		}
	}
	d := plan.Diff{Changes: r.kind.changes(r.want, h)}
	if len(d.Changes) > 0 {
		if err := r.dev.unable(); err != nil {
			return plan.Diff{Err: err}
		}
		r.leads(&d, h)
	} else if r.kind.Left != nil && h != nil {
		d.Left = r.kind.Left(h)
		d.Fails = d.Left != "" && r.kind.Fails != nil && r.kind.Fails(h)
		d.Degraded = d.Left != "" && r.kind.Special.Degraded != nil && r.kind.Special.Degraded(h)
	}
	return d
}

// leads completes a difference with the ways there and back.
func (r *resource[T]) leads(d *plan.Diff, h *T) {
	d.Send, d.Undo = show(r.kind.way(r.want, h)), show(r.kind.way(h, r.want))
	d.Alone = r.kind.Special.Alone != nil && r.want != nil && h != nil && r.kind.Special.Alone(r.want, h)
}

func show(steps []remote.Step) []string {
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = s.String()
	}
	return lines
}

// Holds implements plan.Holder.
func (r *resource[T]) Holds(have plan.State) (now, then []string) {
	if r.kind.Holds == nil {
		return nil, nil
	}
	if h := observed[T](have); h != nil {
		now = r.kind.Holds(h)
	}
	if r.want != nil {
		then = r.kind.Holds(r.want)
	}
	return now, then
}

// Provides implements plan.Provider.
func (r *resource[T]) Provides(have plan.State) (now, then []string) {
	if r.kind.Provides == nil {
		return nil, nil
	}
	if h := observed[T](have); h != nil {
		now = r.kind.Provides(h)
	}
	if r.want != nil {
		then = r.kind.Provides(r.want)
	}
	return now, then
}

// Verify implements plan.Resource: of what is restored, commit has read that it
// is as before.
func (r *resource[T]) Verify(ctx context.Context) error {
	if r.kept != nil || r.kind.Verify == nil {
		return nil
	}
	return r.kind.Verify(r.want, ctx, r.dev.host)
}

func (r *resource[T]) steps(have plan.State) []remote.Step {
	return r.kind.way(r.want, observed[T](have))
}

func (r *resource[T]) undo(have plan.State) []remote.Step {
	return r.kind.way(observed[T](have), r.want)
}

// undoBegun is the way back after some steps.
func (r *resource[T]) undoBegun(have plan.State, begun []remote.Step) []remote.Step {
	if h := observed[T](have); h != nil && r.kind.Undo != nil {
		return r.kind.Undo(h, r.want, begun)
	}
	return r.undo(have)
}

// restored says whether now is what have was.
func (r *resource[T]) restored(have, now plan.State) error {
	if no, ok := now.(refused); ok {
		return no.err
	}
	h, n := observed[T](have), observed[T](now)
	if h == nil {
		if n != nil {
			return fmt.Errorf("still there")
		}
		return nil
	}
	for _, c := range r.kind.changes(h, n) {
		return fmt.Errorf("%s is %s, was %s", c.Path, c.Before, c.After)
	}
	return r.misses(h, n, true)
}

// lost says what was there before a change and is not any more.
func (r *resource[T]) lost(have, now plan.State) error {
	return r.misses(observed[T](have), observed[T](now), false)
}

// tries reports whether a change was to be tried only.
func (r *resource[T]) tries(have plan.State, c plan.Change) bool {
	h := observed[T](have)
	return r.kept == nil && h != nil && r.kind.Special.Tries != nil && r.kind.Special.Tries(r.want, h, c)
}

func (r *resource[T]) misses(have, now *T, back bool) error {
	if r.kind.Special.Lost == nil || have == nil || now == nil {
		return nil
	}
	return r.kind.Special.Lost(have, now, back)
}

// ask is what a hook says of a state; nothing where there is no hook.
func ask[T, V any](hook func(*T) V, state *T) (said V) {
	if hook != nil {
		said = hook(state)
	}
	return said
}

func (r *resource[T]) about() string  { return ask(r.kind.About, r.basis()) }
func (r *resource[T]) Boot() []string { return ask(r.kind.Boot, r.want) }
func (r *resource[T]) why() []string  { return ask(r.kind.Why, r.basis()) }
func (r *resource[T]) risky() bool    { return r.kind.Risky }

func (r *resource[T]) nic() string {
	if r.kept != nil {
		return ""
	}
	return ask(r.kind.NIC, r.want)
}

func (r *resource[T]) advice(reply string) string {
	if r.kind.Advice == nil {
		return ""
	}
	return r.kind.Advice(r.basis(), reply)
}

// objects is what the resource is, and all that its looks show which were not
// looked at yet.
func (r *resource[T]) objects(seen remote.Seen, looked map[string]bool) (mine, all []Object) {
	if r.kind.Self == nil {
		return nil, nil
	}
	for _, state := range r.states() {
		mine = append(mine, r.kind.Self(state, seen)...)
		if look := r.kind.Looks(state)[0].String(); !looked[look] {
			looked[look] = true
			all = append(all, r.kind.All(state, seen)...)
		}
	}
	return mine, all
}

func (r *resource[T]) applied(have plan.State) json.RawMessage {
	switch {
	case r.kept != nil:
		return encode(r.kept.last)
	case r.kind.Goal != nil:
		return encode(r.kind.Goal(r.want, observed[T](have)))
	}
	return encode(r.want)
}

func (r *resource[T]) formerly(have plan.State) json.RawMessage { return encode(observed[T](have)) }

func (r *resource[T]) leaves() json.RawMessage { return encode(r.want) }

func (r *resource[T]) first(have plan.State, entries []plan.Entry) json.RawMessage {
	h := observed[T](have)
	if r.kind.Special.First != nil && h != nil {
		h = r.kind.Special.First(r.want, h, entries)
	}
	return encode(h)
}

func (r *resource[T]) since(e plan.Entry, have plan.State) json.RawMessage {
	applied, former, err := states[T](e)
	if r.kind.Partial.Since == nil || err != nil || former == nil {
		return e.Former
	}
	return encode(r.kind.Partial.Since(r.want, Some(applied), former, Some(observed[T](have))))
}

func (r *resource[T]) settled(e plan.Entry) plan.Entry {
	applied, former, err := states[T](e)
	if r.kind.Partial.Settle == nil || err != nil || applied == nil {
		return e
	}
	r.kind.Partial.Settle(applied, former)
	e.Applied, e.Former = encode(applied), encode(former)
	return e
}

func (r *resource[T]) adopted(have plan.State) (plan.Entry, bool) {
	if r.id.Kind == "" || r.kept != nil || !r.Diff(have).Empty() {
		return plan.Entry{}, false
	}
	return plan.Entry{Kind: r.id.Kind, Name: r.id.Name, State: plan.EntryAdopted, Applied: r.applied(have)}, true
}

func (r *resource[T]) sameApplied(raw json.RawMessage, have plan.State) bool {
	return sameApplied(r.kind, raw, r.applied(have))
}

// Wish is what a resource wants; nil: it is none of T, or nothing is to be there. It is
// for tests of Expand: all others ask a resource how it differs.
func Wish[T any](r plan.Resource) *T {
	if it, ok := r.(*resource[T]); ok {
		return it.want
	}
	return nil
}
