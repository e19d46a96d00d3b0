package modules

import (
	"encoding/json"

	"weft/plan"
)

// A partial kind speaks of some settings of its thing and leaves the others
// alone. When the declaration changes, it may speak of others than before: what
// weft made of those that it does not speak of any more goes back to what was
// there before weft, unless somebody changed it since.
type partial[T any] interface {
	// follow takes on the settings that weft applied and this state does not
	// speak of.
	follow(past[T])
	// since is what was there before weft, of all that this state speaks of: as
	// former has it where applied spoke of it, otherwise as have.
	since(applied, former, have *T) *T
	// settle leaves of this state, once it is proven, and of what was there
	// before it, what is declared.
	settle(former *T)
}

// A past is what the ledger says of a thing. A setting that is still as it was
// applied is to be as it was before weft.
type past[T any] struct {
	applied *T
	former  *T   // before weft
	half    bool // weft may have been cut off: a setting may have been taken off and nothing put there
	firm    bool // a setting is to be as before weft, whatever it is now
}

// declared is a resource of the files, not one that takes something back.
type declared interface {
	since(plan.Entry, plan.State) json.RawMessage
	settled(plan.Entry) plan.Entry
}

// follow tells a partial kind what the entry of a ledger says of it.
func follow[T any, K kind[T]](want K, e plan.Entry, firm bool) {
	p, ok := any(want).(partial[T])
	if !ok || want == nil || e.State == plan.EntryAdopted {
		return
	}
	if applied, former, err := states[T](e); err == nil {
		p.follow(past[T]{some(applied), some(former), e.State == plan.EntryCreating, firm})
	}
}

// states are what an entry says of a thing; nil is nothing.
func states[T any](e plan.Entry) (applied, former *T, err error) {
	if e.Applied != nil {
		err = json.Unmarshal(e.Applied, &applied)
	}
	if err == nil && e.Former != nil {
		err = json.Unmarshal(e.Former, &former)
	}
	return applied, former, err
}

// since is what was there before weft ever came, now that more may be declared.
func (r *resource[T, K]) since(e plan.Entry, have plan.State) json.RawMessage {
	p, ok := any(r.want).(partial[T])
	applied, former, err := states[T](e)
	if !ok || err != nil || former == nil {
		return e.Former
	}
	h, _ := have.(K)
	return encode(p.since(some(applied), former, some((*T)(h))))
}

// settled is the entry once what was applied is proven.
func (r *resource[T, K]) settled(e plan.Entry) plan.Entry {
	applied, former, err := states[T](e)
	p, ok := any(K(applied)).(partial[T])
	if !ok || err != nil || applied == nil {
		return e
	}
	p.settle(former)
	e.Applied, e.Former = encode(applied), encode(former)
	return e
}
