package plan

import (
	"cmp"
	"slices"
)

// join puts the items of all devices into one graph.
func (s *survey) join(in *Input) error {
	var first, last []Item
	found := make(map[ID]*finding, len(in.Items)) // nil: as declared, or not known
	for _, d := range s.devices {
		for n, item := range d.items {
			found[item.ID] = nil
			if n < len(d.found) {
				found[item.ID] = d.found[n]
			}
			switch {
			case item.last:
				last = append(last, *item)
			case item.prune != nil || item.reverse || item.ID.Kind == LedgerKind:
				first = append(first, *item)
			}
		}
	}
	s.orderLast(last)
	s.items = append(make([]Item, 0, len(first)+len(in.Items)+len(last)), first...)
	for _, item := range in.Items { // in the order of the input, not of the devices
		if _, ok := found[item.ID]; ok && !in.Destroy {
			if item.rests == nil {
				item.rests = item.Needs
			}
			s.items = append(s.items, item)
		}
	}
	s.items = append(s.items, last...)
	if in.Select.narrow() {
		keepNeeds(s.items)
	}
	after := s.handOver(in, found)
	s.orderAccess(in, found, after)
	linkPrunes(s.items, s.devices, in.Moved, after)
	in.Reverse.link(s.items, after)
	g, err := newGraph(s.items)
	if err != nil { // ledgers of different times may contradict each other
		for i := range s.items {
			if s.items[i].prune != nil {
				s.items[i].Needs = nil
			}
		}
		if g, err = newGraph(s.items); err != nil {
			return err
		}
	}
	s.graph, s.found = g, make([]*finding, len(s.items))
	for i, item := range s.items {
		s.found[i] = found[item.ID]
	}
	if in.SkipUnreachable {
		s.skipBlocked()
	}
	slices.SortFunc(s.left, func(a, b LeftAlone) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return nil
}

// orderLast has the devices that are removed lose their ledgers before others
// forget them.
func (s *survey) orderLast(last []Item) {
	slices.SortStableFunc(last, func(a, b Item) int {
		switch {
		case s.removed(a) == s.removed(b):
			return 0
		case s.removed(a):
			return -1
		}
		return 1
	})
	for i := range last {
		if !s.removed(last[i]) {
			last[i].Needs = s.onRemoved()
		}
	}
}

// removed reports whether an item is on a device that is removed.
func (s *survey) removed(item Item) bool {
	return slices.ContainsFunc(s.devices, func(d *surveyed) bool { return d.removed && d.address == item.ID.Device })
}

// onRemoved lists what is done on devices that are removed: a ledger forgets a
// device only after that.
func (s *survey) onRemoved() []ID {
	var ids []ID
	for _, d := range s.devices {
		for _, item := range d.items {
			if d.removed {
				ids = append(ids, item.ID)
			}
		}
	}
	return ids
}

// skipBlocked leaves out what needs something on a device that could not be
// read.
func (s *survey) skipBlocked() {
	unread := map[string]bool{}
	for _, d := range s.devices {
		unread[d.address] = d.err != nil
	}
	blocked := make([]bool, len(s.items))
	for _, i := range s.graph.order {
		blocked[i] = unread[s.items[i].ID.Device]
		for _, n := range s.graph.needs[i] {
			blocked[i] = blocked[i] || blocked[n]
		}
		if blocked[i] && s.found[i] != nil {
			s.left = append(s.left, LeftAlone{Device: s.items[i].ID.Device, ID: s.items[i].ID,
				Text: "it needs something on a device that cannot be reached"})
			s.found[i] = nil
		}
	}
}
