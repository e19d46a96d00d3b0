package host

import (
	"slices"

	"weft/plan"
)

// Reverse implements plan.Reverser: the ledger knows what the run found.
func (d *Machine) Reverse(run string, s plan.PlannedStep) (plan.Resource, error) {
	e, ok := d.ledgers.own.ofRun(s.ID.Kind+"."+s.ID.Name, run)
	if !ok {
		return nil, plan.ErrUntouched
	}
	e.Former = e.Before
	if e.State == plan.EntryAdopted {
		e.State = plan.EntryCreated
	}
	r, err := d.restore(e)
	if err != nil {
		return nil, err
	}
	r.reverses()
	if e.Prior != nil {
		r.follows(*e.Prior)
	}
	return r, nil
}

func (l ledger) ofRun(key, run string) (plan.Entry, bool) {
	for _, list := range [][]plan.Entry{l.Entries, l.Pruned} {
		for _, e := range list {
			if e.Key() == key && e.Run == run {
				return e, true
			}
		}
	}
	return plan.Entry{}, false
}

// pruned remembers what a run reverts, so that the run itself can be.
func (l *ledger) pruned(key string, s plan.Step) {
	at := slices.IndexFunc(l.Entries, func(e plan.Entry) bool { return e.Key() == key })
	if s.Run == "" || at < 0 {
		return
	}
	was := l.Entries[at]
	l.Pruned = append(l.Pruned, within(s, plan.Entry{
		Kind: was.Kind, Name: was.Name, State: plan.EntryCreated, Applied: s.Resource.(Thing).leaves(), Place: was.Place,
	}, l.Entries[at:at+1]))
}

// reversed makes the entry what it was before the run.
func (l *ledger) reversed(key, run string) {
	e, ok := l.ofRun(key, run)
	if !ok {
		return
	}
	mine := func(e plan.Entry) bool { return e.Key() == key }
	l.Pruned = slices.DeleteFunc(l.Pruned, mine)
	at := slices.IndexFunc(l.Entries, mine)
	switch {
	case e.Prior == nil:
		l.Entries = slices.DeleteFunc(l.Entries, mine)
	case at >= 0:
		l.Entries[at] = *e.Prior
	default:
		l.Entries = append(l.Entries, *e.Prior)
	}
}
