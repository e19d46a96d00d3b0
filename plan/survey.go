package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"weft/internal/hint"
)

// A survey is what the devices report about all items at one time.
type survey struct {
	items    []Item // those declared, and those that take back what no one declares
	graph    *graph
	devices  []*surveyed // in the order of the items
	found    []*finding  // by item; nil: converged, or on an unreachable device
	refusals []Refusal   // about whole devices
	left     []LeftAlone

	mu sync.Mutex
}

// A surveyed device has been opened and read, or could not be.
type surveyed struct {
	address  string
	device   Device
	removed  bool // no longer declared: it is here to be taken back
	items    []Item
	found    []*finding // by item
	identity Identity
	beside   map[string][]string // what was seen and is not managed, by kind
	err      error
}

// take opens and reads every device, and compares. Its error is about the
// input or about the context; devices carry their own.
func take(ctx context.Context, in *Input, beat *pulse) (*survey, error) {
	if _, err := newGraph(in.Items); err != nil {
		return nil, err // before anything is dialled
	}
	s := &survey{}
	own := newOwnership(in)
	if err := s.group(in); err != nil {
		return nil, err
	}
	if err := s.visitAll(ctx, in, beat, own, s.devices); err != nil {
		return nil, err
	}
	if in.Reverse == nil && (!in.Select.narrow() || in.Select.Only != nil) {
		if err := s.recall(ctx, in, beat, own); err != nil {
			return nil, err
		}
	}
	return s, s.join(in)
}

// recall visits the devices that a removed block names.
func (s *survey) recall(ctx context.Context, in *Input, beat *pulse, own *ownership) error {
	refusals, members := s.lost(in, own)
	if in.Select.narrow() {
		refusals = nil
		members = slices.DeleteFunc(members, func(m Member) bool { return !in.Select.device(m.Device) })
	}
	s.refusals = append(s.refusals, refusals...)
	var wave []*surveyed
	for _, m := range members {
		device, err := in.Recall(m)
		if err != nil {
			return fmt.Errorf("reach %s, which is no longer declared: %w", m.Device, err)
		}
		in.Devices[m.Device] = device
		wave = append(wave, &surveyed{address: m.Device, device: device, removed: true})
	}
	if len(wave) == 0 {
		return nil
	}
	if err := s.visitAll(ctx, in, beat, own, wave); err != nil {
		return err
	}
	machines := map[string]string{}
	for _, d := range s.devices {
		if d.identity.MachineID != "" {
			machines[d.identity.MachineID] = d.address
		}
	}
	for _, d := range wave {
		if other := machines[d.identity.MachineID]; other != "" {
			s.refusals = append(s.refusals, Refusal{ID: ID{d.address, LedgerKind, "roster"}, Range: in.removed(d.address).Range,
				Text: "it is the machine that is declared as " + other,
				Hint: `if the block was only renamed, write mode = "forget"`})
			d.items, d.found = nil, nil
		}
	}
	s.devices = append(s.devices, wave...)
	return nil
}

// visitAll opens and reads devices, some at a time.
func (s *survey) visitAll(ctx context.Context, in *Input, beat *pulse, own *ownership, devices []*surveyed) error {
	queue := make(chan *surveyed)
	var workers sync.WaitGroup
	for range min(in.Parallelism, len(devices)) {
		workers.Go(func() {
			for d := range queue {
				s.visit(ctx, in, beat, own, d)
				if r, ok := d.device.(Rester); ok && len(in.Devices) >= crowd {
					_ = r.Rest() // a connection that does not end well has ended
				}
			}
		})
	}
	for _, d := range devices {
		if ctx.Err() != nil {
			break
		}
		queue <- d
	}
	close(queue)
	workers.Wait()
	if ctx.Err() != nil { // devices that did not answer then prove nothing
		return fmt.Errorf("interrupted while reading devices: %w", context.Cause(ctx))
	}
	return nil
}

// group sorts the items to their devices. Devices that may remember something
// are looked at even if nothing is declared on them.
func (s *survey) group(in *Input) error {
	var errs []error
	byAddress := make(map[string]*surveyed, len(in.Devices))
	add := func(address string) *surveyed {
		d := byAddress[address]
		if d == nil {
			d = &surveyed{address: address, device: in.Devices[address]}
			if d.device == nil {
				errs = append(errs, fmt.Errorf("%s has resources, but there is no such device", address))
			}
			byAddress[address] = d
			s.devices = append(s.devices, d)
		}
		return d
	}
	if in.Reverse != nil {
		for _, step := range in.Reverse.Steps {
			add(step.ID.Device)
		}
		return errors.Join(errs...)
	}
	chosen := in.chosen()
	for i, item := range in.Items {
		if chosen[i] {
			d := add(item.ID.Device)
			if !in.Destroy {
				d.items = append(d.items, item)
			}
		}
	}
	for _, address := range slices.Sorted(maps.Keys(in.Devices)) {
		// Those that a removed block names come later, if a ledger knows them.
		if _, ok := in.Devices[address].(Keeper); ok && in.Select.device(address) && in.removed(address) == nil {
			add(address)
		}
	}
	return errors.Join(errs...)
}

// visit opens and reads one device and compares its items.
func (s *survey) visit(ctx context.Context, in *Input, beat *pulse, own *ownership, d *surveyed) {
	end := beat.begin(d.address, "connecting")
	d.identity, d.err = d.device.Open(ctx)
	end()
	if d.err != nil {
		d.report(in, fmt.Sprintf("%s cannot be reached", d.address))
		return
	}
	in.emit(Event{Type: EventConnect, Device: d.address,
		Message: d.address + " is connected",
		Data:    map[string]any{"identity": d.identity}})

	end = beat.begin(d.address, "reading")
	defer end()
	if d.err = s.addKept(in, own, d); d.err != nil {
		d.report(in, fmt.Sprintf("what %s remembers cannot be used", d.address))
		return
	}
	resources := make([]Resource, len(d.items))
	for n, item := range d.items {
		resources[n] = item.Resource
	}
	states, err := d.device.Read(ctx, resources)
	if err == nil && len(states) != len(resources) {
		err = fmt.Errorf("asked for %d resources, read %d", len(resources), len(states))
	}
	if err != nil {
		d.err = err
		d.report(in, fmt.Sprintf("%s cannot be read", d.address))
		return
	}
	// Where a part of what is declared was read, the rest of it would seem to be
	// nobody's.
	if o, ok := d.device.(Onlooker); ok && !in.Select.narrow() && in.Reverse == nil {
		d.beside = o.Unmanaged()
	}
	changed := d.compare(s, states)
	in.emit(Event{Type: EventRead, Device: d.address,
		Message: fmt.Sprintf("%s was read: %d resources, %d not as declared", d.address, len(resources), changed),
		Data:    map[string]any{"resources": len(resources), "changed": changed}})
}

// addKept adds what the device's ledger asks for: to take back what no one
// declares, first, and the roster.
func (s *survey) addKept(in *Input, own *ownership, d *surveyed) error {
	if in.Reverse != nil {
		return s.reverse(in.Reverse, d)
	}
	k, ok := d.device.(Keeper)
	if !ok {
		if in.Destroy {
			s.leave(LeftAlone{Device: d.address, Text: "what weft did to switches is not yet taken back"})
		}
		return nil
	}
	orphans, err := own.orphans(d.address, k)
	if err != nil {
		return err
	}
	if r := k.Pending(); !r.Diff(nil).Empty() {
		d.items = append(d.items, Item{ID: ID{d.address, LedgerKind, "revert"}, Resource: r})
	}
	roster := Item{ID: ID{d.address, LedgerKind, "roster"}}
	whole := !in.Select.narrow() || slices.Contains(in.Select.Only, roster.ID)
	if in.Select.narrow() {
		orphans = slices.DeleteFunc(orphans, func(i Item) bool { return !in.Select.picks(i.ID) })
	}
	switch {
	case !whole || in.Roster == nil:
		d.items = append(orphans, d.items...)
		return nil
	case in.Destroy || d.removed:
		roster.Resource = k.Belongs(nil, nil)
		roster.last = true
	default:
		want := slices.Clip(in.Roster) // shared: it is as long as the fleet, and there is one for each device
		for _, m := range k.Kept().Roster {
			switch {
			case own.members[m.Device]:
			case in.removed(m.Device) != nil:
				roster.last = true // to be forgotten when it is done
			default:
				want = append(want, m) // until somebody says what becomes of it
			}
		}
		roster.Resource = k.Belongs(want, protects(d.items, k.Kept()))
	}
	if roster.last {
		d.items = slices.Concat(orphans, d.items, []Item{roster})
	} else {
		d.items = slices.Concat([]Item{roster}, orphans, d.items)
	}
	return nil
}

func (s *survey) leave(l LeftAlone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, l)
}

// join puts the items of all devices into one graph.
func (s *survey) join(in *Input) error {
	var first, middle, last []Item
	found := make(map[ID]*finding, len(in.Items))
	mine := make(map[ID]Item, len(in.Items))
	for _, d := range s.devices {
		for n, item := range d.items {
			mine[item.ID] = item
			if n < len(d.found) && d.found[n] != nil {
				found[item.ID] = d.found[n]
			}
			switch {
			case item.last:
				last = append(last, item)
			case item.prune != nil || item.reverse || item.ID.Kind == LedgerKind:
				first = append(first, item)
			}
		}
	}
	for _, item := range in.Items { // in the order of the input, not of the devices
		if m, ok := mine[item.ID]; ok && m.prune == nil {
			middle = append(middle, item)
		}
	}
	// The devices that are removed lose their ledgers before others forget them.
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
			last[i].Needs = s.takenBack()
		}
	}
	s.items = slices.Concat(first, middle, last)
	if in.Select.narrow() {
		keepNeeds(s.items)
	}
	linkPrunes(s.items, s.devices)
	in.Reverse.link(s.items)
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

// removed reports whether an item is on a device that is removed.
func (s *survey) removed(item Item) bool {
	return slices.ContainsFunc(s.devices, func(d *surveyed) bool { return d.removed && d.address == item.ID.Device })
}

// takenBack lists what is done on devices that are removed: a ledger forgets a
// device only after that.
func (s *survey) takenBack() []ID {
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

// report tells why nothing is known about the device.
func (d *surveyed) report(in *Input, what string) {
	in.emit(Event{Type: EventConnect, Level: "error", Device: d.address,
		Message: what + ": " + d.err.Error(),
		Data:    errorData(d.err)})
}

// planned is the device as a plan keeps it.
func (d *surveyed) planned() PlannedDevice {
	p := PlannedDevice{Address: d.address, Identity: d.identity, Items: len(d.items), Removed: d.removed, Unmanaged: d.beside}
	if d.err != nil {
		p.Error, p.Hint = d.err.Error(), hint.Of(d.err)
	}
	return p
}

// errorData describes an error in an event.
func errorData(err error) map[string]any {
	data := map[string]any{"error": err.Error()}
	if h := hint.Of(err); h != "" {
		data["hint"] = h
	}
	var refused *RefusedError
	if errors.As(err, &refused) {
		data["line"], data["reply"] = refused.Line, refused.Reply
	}
	return data
}
