package host

import "weft/plan"

// reverses says that a run is reverted. What may hold data since then stays.
func (r *resource[T]) reverses() { r.kept.back = true }

func (r *resource[T]) reversing() bool { return r.kept != nil && r.kept.back }

// follows says what the run found that is reverted: what weft had made before
// belongs to what that run gave back.
func (r *resource[T]) follows(prior plan.Entry) { r.follow(r.kept.last, prior, true) }

// revert leads back to what was there before weft.
func (r *resource[T]) revert(have plan.State) plan.Diff {
	if no, ok := have.(refused); ok {
		if no.firm {
			return plan.Diff{Err: no.err}
		}
		return plan.Diff{Left: "it cannot be reverted: " + no.err.Error()}
	}
	h := observed[T](have)
	if h == nil && r.want == nil || r.kind.Fleeting && !r.kept.back {
		return plan.Diff{}
	}
	d := plan.Diff{Changes: r.kind.changes(r.want, h)}
	switch {
	case len(d.Changes) == 0:
		return plan.Diff{}
	case r.moved(have):
		return plan.Diff{Left: "it changed since weft applied it, so it is not reverted"}
	case r.stays():
		return plan.Diff{}
	}
	if h != nil && r.kind.Keeps != nil {
		if why := r.kind.Keeps(h); why != "" {
			return plan.Diff{Left: "it is not reverted: " + why}
		}
	}
	if r.leads(&d, h); len(d.Send) == 0 {
		return plan.Diff{Left: "it cannot be reverted: no steps lead to what was there before"}
	}
	return d
}

// moved reports whether an operator changed the resource since. What was cut off
// half way, while it was made or while a run was reverted, may also be, in part,
// what it was before.
func (r *resource[T]) moved(have plan.State) bool {
	h := observed[T](have)
	switch {
	case r.kept.last == nil:
		return h != nil
	case h == nil:
		return !r.kept.half || r.want != nil
	}
	since := r.kind.changes(r.kept.last, h)
	if !r.kept.half && !r.kept.back || len(since) == 0 {
		return len(since) > 0
	}
	if r.kind.Special.Amid != nil {
		h = r.kind.Special.Amid(h, r.kept.last, r.want)
		since = r.kind.changes(r.kept.last, h)
	}
	was := map[string]bool{} // what weft changed, and whether it is not as before
	for _, c := range r.kind.changes(r.want, r.kept.last) {
		was[c.Path] = false
	}
	for _, c := range r.kind.changes(r.want, h) {
		was[c.Path] = true
	}
	for _, c := range since {
		if differs, ours := was[c.Path]; !ours || differs {
			return true
		}
	}
	return false
}

// stays reports whether it is there after a revert as before.
func (r *resource[T]) stays() bool { return r.kind.Stays && r.kept.back && r.want == nil }

// gone reports whether nothing is left of it to revert.
func (r *resource[T]) gone(have plan.State) bool {
	if r.kept == nil {
		return false
	}
	d := r.Diff(have)
	return d.Empty() && d.Left == "" && !r.stays()
}

// leaving is the observed state of a resource that is led to nothing, because nobody
// declares it any more or because a run is reverted; nil: it is none of T, it stays, or
// nothing is there.
func Leaving[T any](r plan.Resource, have plan.State) (state *T, reverting bool) {
	it, ok := r.(*resource[T])
	if !ok || it.declared() || it.want != nil {
		return nil, false
	}
	return observed[T](have), it.kept.back
}

// Coming is what a resource is to make where nothing is yet; nil: it is none of T, or
// something is there, or nothing is to be.
func Coming[T any](r plan.Resource, have plan.State) *T {
	it, ok := r.(*resource[T])
	if !ok || have != nil {
		return nil
	}
	return it.want
}

// stopped is the state of a resource that may not be led anywhere, nor anything else
// meanwhile.
func Stopped(err error) plan.State { return refused{firm: true, err: err} }
