package modules

import (
	"weft/internal/remote"
	"weft/plan"
)

// A solitary kind is one of which hosts miss something while it is changed.
// Alone reports whether the way from have is of that sort: then no other device
// does the like at the same time.
type solitary[T any] interface{ Alone(have *T) bool }

// alone reports whether hosts miss something on the way from have to want.
func alone[T any, K kind[T]](want, have K) bool {
	s, ok := any(want).(solitary[T])
	return ok && want != nil && have != nil && s.Alone(have)
}

// A careful kind takes back no more than was begun. Undo is the way back from
// want to it, begun are the steps towards want that were sent.
type careful[T any] interface {
	Undo(want *T, begun []remote.Step) []remote.Step
}

// takeBack is the way back from want to have after some steps.
func takeBack[T any, K kind[T]](have, want K, begun []remote.Step) []remote.Step {
	if c, ok := any(have).(careful[T]); ok && have != nil {
		return c.Undo(want, begun)
	}
	return have.Steps(want)
}

func (r *resource[T, K]) takeBack(have plan.State, begun []remote.Step) []remote.Step {
	h, _ := have.(K)
	return takeBack(h, r.want, begun)
}

func (r *restoration[T, K]) takeBack(have plan.State, begun []remote.Step) []remote.Step {
	h, _ := have.(K)
	return takeBack(h, r.former, begun)
}

// A waning kind can be as wanted and still lack what was there before: Lost says
// what of it is missing now. back: it was put back, so that all of it belongs
// there.
type waning[T any] interface {
	Lost(now *T, back bool) error
}

// lost says what was there before a change and is not any more.
func lost[T any, K kind[T]](have, now plan.State, back bool) error {
	h, _ := have.(K)
	n, _ := now.(K)
	if l, ok := any(h).(waning[T]); ok && h != nil && n != nil {
		return l.Lost(n, back)
	}
	return nil
}

func (r *resource[T, K]) lost(have, now plan.State) error { return lost[T, K](have, now, false) }

func (r *restoration[T, K]) lost(have, now plan.State) error { return lost[T, K](have, now, false) }

// A carried step is one of a transaction and how far it has come.
type carried struct {
	plan.Step
	begun []remote.Step // what was sent of it
}

// undo takes back what was begun.
func (c *carried) undo() []remote.Step {
	if r, ok := c.Resource.(interface {
		takeBack(have plan.State, begun []remote.Step) []remote.Step
	}); ok {
		return r.takeBack(c.Have, c.begun)
	}
	return c.Resource.(onServer).undo(c.Have)
}

// lost says what the step has cost although everything is as wanted.
func (c *carried) lost(now plan.State) error {
	if r, ok := c.Resource.(interface {
		lost(have, now plan.State) error
	}); ok {
		return r.lost(c.Have, now)
	}
	return nil
}
