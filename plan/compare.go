package plan

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"weft/internal/hint"
)

// A finding is an item that is not as declared.
type finding struct {
	have  State
	diff  Diff
	drift bool
}

// compare finds the items that are not as declared.
func (d *surveyed) compare(s *survey, states []State) (changed int) {
	var kept Kept
	entries := map[string]Entry{}
	k := d.device
	if k.Capabilities().Ledger {
		kept = k.Kept()
		for _, e := range kept.Entries {
			entries[e.Key()] = e
		}
	}
	d.found = make([]*finding, len(d.items))
	for n, item := range d.items {
		diff := item.Resource.Diff(states[n])
		if diff.Left != "" {
			_, applied := entries[item.ID.Kind+"."+item.ID.Name]
			s.leave(LeftAlone{Device: d.address, ID: item.ID, Text: diff.Left, Degraded: diff.Degraded,
				Drift: applied && diff.Fails && !item.IgnoreDrift && item.prune == nil && !item.reverse})
			continue
		}
		if err := forbidden(kept, item, diff); err != nil {
			diff = Diff{Err: err}
		}
		if diff.Empty() {
			continue
		}
		f := &finding{have: states[n], diff: diff}
		e, ok := entries[item.ID.Kind+"."+item.ID.Name]
		if !ok && item.Closes != nil { // written before its kind was there
			e, ok = entries[item.Closes[0].Kind+"."+item.Closes[0].Name]
		}
		if ok && item.prune == nil && !item.reverse {
			// What weft has applied as the files still say, and cannot be applied now, has changed.
			f.drift = k.Drifted(e, states[n]) || diff.Err != nil && k.Unchanged(e, item.Resource)
			if f.drift && item.IgnoreDrift && diff.Err == nil && k.Unchanged(e, item.Resource) {
				s.leave(LeftAlone{Device: d.address, ID: item.ID, Text: "it has drifted, which ignore_drift allows: " + turned(diff)})
				continue
			}
		}
		d.found[n] = f
		changed++
	}
	return changed
}

// forbidden says why a difference may not be set right.
func forbidden(kept Kept, item *Item, diff Diff) error {
	switch {
	case item.prune == nil && foreign(kept, item.ID) != nil:
		return foreign(kept, item.ID)
	case diff.Empty() || diff.Err != nil:
		return nil
	case item.prune != nil && item.prune.Protect:
		return hint.Wrap(fmt.Errorf("it is protected, and no longer declared; it stood at %s", item.prune.Place),
			"put the block back; to let it go, apply once with protect = false")
	case item.Protect && diff.Impact() == ImpactDataLoss:
		return hint.Wrap(errors.New("it is protected, and the change would lose data: "+turned(diff)),
			"to allow that, apply with protect = false")
	}
	return nil
}

// turned says what is there, and what is declared.
func turned(diff Diff) string {
	var list []string
	for _, c := range diff.Changes {
		list = append(list, fmt.Sprintf("%s is %s, declared %s", c.Path, cmp.Or(c.Before, "absent"), cmp.Or(c.After, "absent")))
	}
	return strings.Join(list, "; ")
}
