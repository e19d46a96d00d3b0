// Package modules joins wishes to machines: it expands the model into
// resources, each one thing on one device, and knows how each kind is read,
// compared, changed and proven.
package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"weft/internal/remote"
	"weft/plan"
)

// A kind is a resource kind on a server: one struct, which is both what is
// wanted and what was observed. All methods but Verify are pure. The nil
// pointer is absence: (*T)(nil).Steps(have) removes.
type kind[T any] interface {
	*T
	// Looks lists what must be read to observe the resource; it is batched
	// with the looks of every other resource of the server.
	Looks() []remote.Look
	// Parse makes the observed struct of what was seen; nil is absence. Its
	// error says why the resource cannot be brought about on this server.
	Parse(remote.Seen) (*T, error)
	// Diff lists what differs from have.
	Diff(have *T) []plan.Change
	// Steps leads from have to the wanted struct; have.Steps(want) takes it
	// back.
	Steps(have *T) []remote.Step
	// Verify proves the effect on the live server.
	Verify(context.Context, remote.Host) error
}

// onServer is what a server device needs of its resources.
type onServer interface {
	plan.Resource
	looks() []remote.Look
	parse(remote.Seen) plan.State
	steps(have plan.State) []remote.Step
	undo(have plan.State) []remote.Step
	restored(have, now plan.State) error
	applied(have plan.State) json.RawMessage  // what a ledger keeps of the outcome
	formerly(have plan.State) json.RawMessage // and of what was there before; nil: nothing
}

// A goal is a kind whose outcome says more than what is wanted: Goal is what
// will be observed once the steps from have are done.
type goal[T any] interface {
	Goal(have *T) *T
}

// A limited kind observes more than it can set: Left is what of an observed
// state is not as it should be and is left to people, "" nothing.
type limited interface{ Left() string }

// A bounded kind knows of observed states that it does not lead to what is
// wanted: Refuse says why, nil that it does.
type bounded[T any] interface {
	Refuse(have *T) error
}

// An heir is a kind that is about to take the place of what weft made before:
// it is told what the ledger holds, before Parse.
type heir interface{ inherit([]plan.Entry) }

// A successor is a kind whose things share something, which weft may have
// changed for another of them: first is an observed state as it was before weft
// ever came, as far as the entries of the ledger tell.
type successor[T any] interface {
	first(have *T, entries []plan.Entry) *T
}

// resource makes a plan.Resource of a kind.
type resource[T any, K kind[T]] struct {
	want K
	dev  *server
	id   plan.ID
}

// refused is the state of a resource that cannot be brought about.
type refused struct {
	err  error
	firm bool // also where it is taken back: nothing else may go on
}

func on[T any, K kind[T]](dev *server, want K) plan.Resource {
	return &resource[T, K]{want: want, dev: dev}
}

func (r *resource[T, K]) looks() []remote.Look { return r.want.Looks() }

func (r *resource[T, K]) parse(seen remote.Seen) plan.State {
	if err := errors.Join(unwritable(r.want), confide(r.want)); err != nil {
		return refused{err: err}
	}
	if r.dev != nil {
		r.remember(r.dev.ledgers.own.Entries)
	}
	return r.observe(seen)
}

// remember tells the kind what the ledger holds that concerns it.
func (r *resource[T, K]) remember(entries []plan.Entry) {
	if h, ok := any(r.want).(heir); ok {
		h.inherit(entries)
	}
	for _, e := range entries {
		if e.Kind == r.id.Kind && e.Name == r.id.Name {
			follow(r.want, e, false)
		}
	}
}

func (r *resource[T, K]) observe(seen remote.Seen) plan.State {
	have, err := r.want.Parse(seen)
	switch {
	case err != nil:
		return refused{err: err}
	case have == nil:
		return nil
	}
	return K(have)
}

func (r *resource[T, K]) Diff(have plan.State) plan.Diff {
	if no, ok := have.(refused); ok {
		return plan.Diff{Err: no.err}
	}
	h, _ := have.(K)
	if b, ok := any(r.want).(bounded[T]); ok {
		if err := b.Refuse(h); err != nil {
			return plan.Diff{Err: err}
		}
	}
	d := plan.Diff{Changes: r.want.Diff(h)}
	if len(d.Changes) > 0 {
		d.Send, d.Undo, d.Alone = show(r.want.Steps(h)), show(h.Steps(r.want)), alone(r.want, h)
	} else if l, ok := any(h).(limited); ok && h != nil {
		d.Left = l.Left()
	}
	return d
}

func (r *resource[T, K]) Verify(ctx context.Context) error {
	return r.want.Verify(ctx, r.dev.host)
}

func (r *resource[T, K]) steps(have plan.State) []remote.Step {
	h, _ := have.(K)
	return r.want.Steps(h)
}

func (r *resource[T, K]) undo(have plan.State) []remote.Step {
	h, _ := have.(K)
	return h.Steps(r.want)
}

func (r *resource[T, K]) named(id plan.ID) {
	r.id = id
	r.dev.things.declare(id, r.want)
}

func (r *resource[T, K]) applied(have plan.State) json.RawMessage {
	want := r.want
	if g, ok := any(want).(goal[T]); ok {
		h, _ := have.(K)
		want = g.Goal(h)
	}
	return encode(want)
}

func (r *resource[T, K]) formerly(have plan.State) json.RawMessage {
	h, _ := have.(K)
	return encode(h)
}

// first is what was there before weft ever came.
func (r *resource[T, K]) first(have plan.State, entries []plan.Entry) json.RawMessage {
	h, _ := have.(K)
	if s, ok := any(r.want).(successor[T]); ok && h != nil {
		h = s.first(h, entries)
	}
	return encode(h)
}

// adopted is the entry of a resource that was found as wanted.
func (r *resource[T, K]) adopted(have plan.State) (plan.Entry, bool) {
	if r.id.Kind == "" || !r.Diff(have).Empty() {
		return plan.Entry{}, false
	}
	return plan.Entry{Kind: r.id.Kind, Name: r.id.Name, State: plan.EntryAdopted, Applied: r.applied(have)}, true
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

// restored says whether now is what have was.
func (r *resource[T, K]) restored(have, now plan.State) error {
	return sameState[T, K](have, now)
}

func sameState[T any, K kind[T]](have, now plan.State) error {
	if no, ok := now.(refused); ok {
		return no.err
	}
	h, _ := have.(K)
	n, _ := now.(K)
	if h == nil {
		if n != nil {
			return fmt.Errorf("still there")
		}
		return nil
	}
	for _, c := range h.Diff(n) {
		return fmt.Errorf("%s is %s, was %s", c.Path, c.Before, c.After)
	}
	return lost[T, K](have, now, true)
}

func show(steps []remote.Step) []string {
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = s.String()
	}
	return lines
}

// either gives the one of two states that is nil what its absence looks like;
// when both are nil it gives nothing.
func either[T any](want, have *T, absent func(*T) *T) (*T, *T) {
	switch {
	case want == nil && have != nil:
		want = absent(have)
	case want != nil && have == nil:
		have = absent(want)
	}
	return want, have
}

// some is a state, or the zero one of what was not observed.
func some[T any](state *T) *T {
	if state == nil {
		return new(T)
	}
	return state
}

// change is a one-attribute difference, if there is one.
func change[V comparable](path string, before, after V, impact plan.Impact) []plan.Change {
	if before == after {
		return nil
	}
	return []plan.Change{{Path: path, Before: fmt.Sprint(before), After: fmt.Sprint(after), Impact: impact}}
}

func run(args ...string) remote.Step { return remote.Step{Args: args} }
