package modules

import (
	"context"
	"encoding/json"
	"fmt"

	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/plan"
)

// A restorer makes the resource that takes an entry of a ledger back.
type restorer func(*server, plan.Entry) (plan.Resource, error)

// kinds are all the kinds that ledgers may name.
func kinds() map[string]restorer {
	return map[string]restorer{
		"mtu":     lasting[MTU],
		"address": restorable[Address],

		"rdma_link": restorable[RDMALink],
		"roce":      lasting[RoCE],
		"ecn":       lasting[ECN],
		"memlock":   restorable[Memlock],
		"buffers":   lasting[Buffers],

		"pfc":   lasting[PFC],
		"dcbx":  lasting[DCBX],
		"pause": lasting[Pause],
		"ets":   lasting[ETS],
		"dscp":  restorable[DSCP],
		"file":  restorable[File],
		"agent": restorable[Agent],
		"boot":  restorable[Boot],

		"volume_group":    restorable[VolumeGroup],
		"volume":          restorable[Volume],
		"nvmet_host":      restorable[NVMeTHost],
		"nvmet_auth":      restorable[NVMeTAuth],
		"dhchap_key":      restorable[DHCHAPKey],
		"nvmet_subsystem": restorable[NVMeTSubsystem],
		"nvmet_port":      restorable[NVMeTPort],
		"nvme_connection": restorable[NVMeConnection],
		"mirror":          restorable[Mirror],

		"sysctl":        lasting[Sysctl],
		"kernel_module": restorable[KernelModule],
		"package":       restorable[Package],
		"service":       lasting[Service],
		"command":       restorable[Command],
	}
}

// A keeper is a kind whose thing may stay although nobody declares it any more:
// Keeps says of one that was observed why, "" it does not.
type keeper interface{ Keeps() string }

// An outlaster is a kind whose thing stays when the run that made it is taken
// back.
type outlaster interface{ outlasts() }

// sourced is a kind that needs weft's bundle to put back what it took away.
type sourced interface{ from(*bundle.Bundle) }

// A movable kind takes a setting off before it puts another in its place, and
// may be cut off in between: amid is the observed state in which what is off, or not
// taken off yet, is still as it was before.
type movable[T any] interface{ amid(applied, before *T) *T }

// A lodger is a kind whose things share something: stay changes a former state
// so that what others declare of that holds when this one has gone back to it.
type lodger interface{ stay(*things) }

// lasting is a kind whose thing is always there: it can be given its former
// state only, never be removed. What was found as wanted is not given back.
func lasting[T any, K kind[T]](dev *server, e plan.Entry) (plan.Resource, error) {
	if e.State != plan.EntryAdopted && (e.Former == nil || string(e.Former) == "null") {
		return nil, fmt.Errorf("it does not say what was there before")
	}
	return restorable[T, K](dev, e)
}

func restorable[T any, K kind[T]](dev *server, e plan.Entry) (plan.Resource, error) {
	r := &restoration[T, K]{dev: dev, key: e.Key(), half: e.State == plan.EntryCreating}
	if e.Applied == nil && e.Former == nil {
		return nil, fmt.Errorf("it does not say what was applied")
	}
	if e.Applied != nil {
		if err := json.Unmarshal(e.Applied, &r.last); err != nil {
			return nil, fmt.Errorf("what was applied: %w", err)
		}
	}
	if e.Former != nil {
		if err := json.Unmarshal(e.Former, &r.former); err != nil {
			return nil, fmt.Errorf("what was there before: %w", err)
		}
		if err := found(any(r.former)); err != nil {
			return nil, err
		}
	}
	if l, ok := any(r.former).(lodger); ok && r.former != nil {
		l.stay(&dev.things)
	}
	for _, state := range []K{r.last, r.former} {
		if s, ok := any(state).(sourced); ok && state != nil {
			s.from(dev.bundle)
		}
	}
	return r, nil
}

// restoration leads a resource back to what was there before weft came. It
// touches only what is still as weft left it.
type restoration[T any, K kind[T]] struct {
	dev    *server
	key    string
	last   K    // what weft made of it; nil: it was removed
	former K    // nil: there was nothing
	half   bool // weft may have been cut off while making it
	back   bool // a run is taken back, not a declaration
}

// reverses says that a run is taken back. What may hold data since then stays.
func (r *restoration[T, K]) reverses() { r.back = true }

func (r *restoration[T, K]) reversing() bool { return r.back }

// basis is a state that says what to look at.
func (r *restoration[T, K]) basis() K {
	if r.last == nil {
		return r.former
	}
	return r.last
}

func (r *restoration[T, K]) looks() []remote.Look { return r.basis().Looks() }

func (r *restoration[T, K]) parse(seen remote.Seen) plan.State {
	is := &resource[T, K]{want: r.basis(), dev: r.dev}
	if r.dev != nil {
		is.remember(r.dev.ledgers.own.Entries)
	}
	return is.observe(seen) // also what could not be written today
}

// follows says what the run found that is taken back: what weft had made before
// belongs to what that run gave back.
func (r *restoration[T, K]) follows(prior plan.Entry) {
	if r.last != nil {
		follow(r.last, prior, true)
	}
}

// Diff implements plan.Resource.
func (r *restoration[T, K]) Diff(have plan.State) plan.Diff {
	if no, ok := have.(refused); ok {
		if no.firm {
			return plan.Diff{Err: no.err}
		}
		return plan.Diff{Left: "it cannot be reverted: " + no.err.Error()}
	}
	h, _ := have.(K)
	if h == nil && r.former == nil {
		return plan.Diff{}
	}
	d := plan.Diff{Changes: r.former.Diff(h)}
	if len(d.Changes) == 0 {
		return plan.Diff{}
	}
	if r.moved(have) {
		return plan.Diff{Left: "it changed since weft applied it, so it is not reverted"}
	}
	if r.stays() {
		return plan.Diff{}
	}
	if k, ok := any(h).(keeper); ok && k.Keeps() != "" {
		return plan.Diff{Left: "it is not reverted: " + k.Keeps()}
	}
	steps := r.former.Steps(h)
	if len(steps) == 0 {
		return plan.Diff{Left: "it cannot be reverted: no steps lead to what was there before"}
	}
	d.Send, d.Undo, d.Alone = show(steps), show(h.Steps(r.former)), alone(r.former, h)
	return d
}

// moved reports whether somebody changed the resource since. What was cut off
// half way, while it was made or while a run was taken back, may also be, in part,
// what it was before.
func (r *restoration[T, K]) moved(have plan.State) bool {
	h, _ := have.(K)
	switch {
	case r.last == nil:
		return h != nil
	case h == nil:
		return !r.half || r.former != nil
	}
	since := r.last.Diff(h)
	if !r.half && !r.back || len(since) == 0 {
		return len(since) > 0
	}
	if m, ok := any(h).(movable[T]); ok {
		h = m.amid(r.last, r.former)
		since = r.last.Diff(h)
	}
	was := map[string]bool{} // what weft changed, and whether it is not as before
	for _, c := range r.former.Diff(r.last) {
		was[c.Path] = false
	}
	for _, c := range r.former.Diff(h) {
		was[c.Path] = true
	}
	for _, c := range since {
		if differs, ours := was[c.Path]; !ours || differs {
			return true
		}
	}
	return false
}

// stays reports whether it is there after a rollback as before.
func (r *restoration[T, K]) stays() bool {
	_, ok := any(r.last).(outlaster)
	return ok && r.back && r.former == nil
}

// gone reports whether nothing of it is there any more.
func (r *restoration[T, K]) gone(have plan.State) (key string, ok bool) {
	d := r.Diff(have)
	return r.key, d.Empty() && d.Left == "" && !r.stays()
}

// Verify implements plan.Resource: commit has read that it is gone.
func (r *restoration[T, K]) Verify(context.Context) error { return nil }

func (r *restoration[T, K]) steps(have plan.State) []remote.Step {
	h, _ := have.(K)
	return r.former.Steps(h)
}

func (r *restoration[T, K]) undo(have plan.State) []remote.Step {
	h, _ := have.(K)
	return h.Steps(r.former)
}

func (r *restoration[T, K]) restored(have, now plan.State) error { return sameState[T, K](have, now) }

func (r *restoration[T, K]) applied(plan.State) json.RawMessage { return encode[T](r.last) }
func (r *restoration[T, K]) formerly(have plan.State) json.RawMessage {
	h, _ := have.(K)
	return encode[T](h)
}

// leaves is what is there once it is done.
func (r *restoration[T, K]) leaves() json.RawMessage { return encode[T](r.former) }
