package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"weft/internal/hint"
	"weft/internal/slice"
)

// A survey is what the devices report about all items at one time.
type survey struct {
	items    []Item // those declared, and those that prune what is no longer declared
	graph    *graph
	devices  []*surveyed // in the order of the items
	found    []*finding  // by item; nil: converged, or on an unreachable device
	refusals []Refusal   // about whole devices
	left     []LeftAlone

	mu sync.Mutex
}

// A surveyed device has been opened and read, or could not be.
type surveyed struct {
	address   string
	device    Device
	removed   bool       // no longer declared: it is here to be pruned
	items     []*Item    // those declared are the input's own
	beside    []Resource // declared, and not in this part of a plan: what is as declared is noted in the ledger
	found     []*finding // by item
	identity  Identity
	unmanaged map[string][]string // foreign: what was seen and is not managed, by kind
	err       error
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
	if err := s.refuseTwins(ctx, in, beat); err != nil {
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
	for _, d := range wave {
		i := slices.IndexFunc(s.devices, func(o *surveyed) bool { return d.identity.sameMachine(o.identity) })
		if i < 0 {
			continue
		}
		other := s.devices[i].address
		s.refusals = append(s.refusals, Refusal{ID: ID{d.address, LedgerKind, "roster"}, Range: in.removed(d.address).Range,
			Text: "it is the machine that is declared as " + other,
			Hint: "if the block was only renamed, take the removed block out and write:\n" + movedBlock(d.address, other)})
		d.items, d.found = nil, nil
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
				if len(in.Devices) >= crowd {
					_ = d.device.Rest() // a connection that does not end well has ended
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
	for i := range in.Items {
		if chosen[i] {
			d := add(in.Items[i].ID.Device)
			if !in.Destroy {
				d.items = append(d.items, &in.Items[i])
			}
		}
	}
	for i := range in.Items {
		if d := byAddress[in.Items[i].ID.Device]; in.Select.Only != nil && !in.Destroy && !chosen[i] && d != nil {
			d.beside = append(d.beside, in.Items[i].Resource)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(in.Devices)) {
		// Those that a removed block names come later, if a ledger knows them.
		if in.capabilities(address).Ledger && in.Select.device(address) && in.removed(address) == nil {
			add(address)
		}
	}
	return errors.Join(errs...)
}

// visit opens and reads one device and compares its items.
func (s *survey) visit(ctx context.Context, in *Input, beat *pulse, own *ownership, d *surveyed) {
	end := beat.begin(d.address, "connecting")
	d.device.Foresee(slices.Concat(d.resources(), d.beside))
	d.identity, d.err = d.device.Open(ctx)
	end()
	if d.err != nil {
		what := d.address + " cannot be reached"
		if d.refuses() {
			what = d.address + " refuses this weft"
		}
		d.report(ctx, in, what)
		return
	}
	for _, m := range in.others(d.device) {
		d.identity.Warnings = append(slices.Clip(d.identity.Warnings), "it belongs to "+m.Text()+": no other run changes it until that has ended")
	}
	in.emit(Event{Type: EventConnect, Device: d.address,
		Message: d.address + " is connected",
		Data:    map[string]any{"identity": d.identity}})

	end = beat.begin(d.address, "reading")
	defer end()
	if err := s.addKept(in, own, d); err != nil {
		d.err = &LedgerError{d.address, err}
		d.report(ctx, in, fmt.Sprintf("the ledger of %s cannot be used", d.address))
		return
	}
	resources := d.resources()
	states, err := d.device.Read(ctx, slices.Concat(resources, d.beside))
	if all := len(resources) + len(d.beside); err == nil && len(states) != all {
		err = fmt.Errorf("asked for %d resources, read %d", all, len(states))
	}
	if err == nil {
		states = states[:len(resources)]
	}
	if err != nil {
		d.err = err
		d.report(ctx, in, fmt.Sprintf("%s cannot be read", d.address))
		return
	}
	// Where a part of what is declared was read, the rest of it would seem to be
	// nobody's.
	if !in.Select.narrow() && in.Reverse == nil {
		d.unmanaged = d.device.Unmanaged()
	}
	changed := d.compare(s, states)
	if in.probe {
		s.probe(ctx, d)
	}
	in.emit(Event{Type: EventRead, Device: d.address,
		Message: fmt.Sprintf("%s was read: %d resources, %d not as declared", d.address, d.count(), changed),
		Data:    map[string]any{"resources": d.count(), "changed": changed}})
}

// probe asks a device on which something is to be changed whether it has what
// that needs.
func (s *survey) probe(ctx context.Context, d *surveyed) {
	n := slices.IndexFunc(d.found, func(f *finding) bool { return f != nil && f.diff.Err == nil })
	if n < 0 || !d.device.Capabilities().Probe {
		return
	}
	lines := 0
	for _, f := range d.found {
		if f != nil && f.diff.Err == nil {
			lines += len(f.diff.Send)
		}
	}
	note, err := d.device.Probe(ctx, lines)
	if note != "" {
		d.identity.Warnings = append(slices.Clip(d.identity.Warnings), note)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, newRefusal(Item{ID: ID{d.address, safetyKind, "commit_confirm"}, Range: d.items[n].Range}, err))
}

// safetyKind is the kind of what is declared about how a device is changed.
const safetyKind = "safety"

func (d *surveyed) resources() []Resource {
	return slice.Map(d.items, func(item *Item) Resource { return item.Resource })
}

// addPending adds the proof of what an apply that did not end has left.
func (d *surveyed) addPending() {
	if r := d.device.Pending(); !r.Diff(nil).Empty() {
		d.items = append(d.items, &Item{ID: ID{d.address, LedgerKind, "revert"}, Resource: r})
	}
}

// addKept adds what the device's ledger asks for: to prune what is no longer
// declares, first, and the roster.
func (s *survey) addKept(in *Input, own *ownership, d *surveyed) error {
	if in.Reverse != nil {
		return s.reverse(in.Reverse, d)
	}
	k := d.device
	if !k.Capabilities().Ledger {
		if in.Destroy {
			s.leave(LeftAlone{Device: d.address, Text: "the changes on switches are not reverted yet"})
		}
		return nil
	}
	orphans, err := own.orphans(d.address, k)
	if err != nil {
		return err
	}
	d.addPending()
	roster := &Item{ID: ID{d.address, LedgerKind, "roster"}}
	whole := !in.Select.narrow() || slices.Contains(in.Select.Only, roster.ID)
	if in.Select.narrow() {
		orphans = slices.DeleteFunc(orphans, func(i *Item) bool { return !in.Select.picks(i.ID) })
	}
	switch {
	case !whole || in.Roster == nil:
		d.items = append(orphans, d.items...)
		return nil
	case in.Destroy || d.removed:
		roster.Resource = k.Belongs(nil, nil, nil)
		roster.last = true
	default:
		want := slices.Clip(in.Roster) // shared: it is as long as the fleet, and there is one for each device
		for _, m := range k.Kept().Roster {
			switch m.Device = in.Moved.Now(m.Device); {
			case own.members[m.Device]:
			case in.removed(m.Device) != nil:
				roster.last = true // to be forgotten when it is done
			default:
				want = append(want, m) // until it is said what becomes of it
			}
		}
		roster.Resource = k.Belongs(want, protects(d.items, k.Kept()), own.released(d.address, k.Kept()))
	}
	if roster.last {
		d.items = slices.Concat(orphans, d.items, []*Item{roster})
	} else {
		d.items = slices.Concat([]*Item{roster}, orphans, d.items)
	}
	return nil
}

func (s *survey) leave(l LeftAlone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, l)
}

// report tells why nothing is known about the device, unless the reason is that
// nobody wants to know any more.
func (d *surveyed) report(ctx context.Context, in *Input, what string) {
	if ctx.Err() != nil {
		return
	}
	in.emit(Event{Type: EventConnect, Level: "error", Device: d.address,
		Message: what + ": " + d.why().Error(),
		Data:    errorData(d.why())})
}

// refuses reports whether the device was reached, and its ledger is what is wrong.
func (d *surveyed) refuses() bool { return errors.As(d.err, new(*LedgerError)) }

// why is the error beside the name of the device.
func (d *surveyed) why() error {
	if ledger := new(LedgerError); errors.As(d.err, &ledger) {
		return ledger.Err
	}
	return d.err
}

// planned is the device as a plan keeps it.
func (d *surveyed) planned() PlannedDevice {
	p := PlannedDevice{Address: d.address, Identity: d.identity, Items: d.count(), Removed: d.removed, Unmanaged: d.unmanaged}
	if d.err != nil {
		p.Error, p.Hint, p.Refuses = d.why().Error(), hint.Of(d.err), d.refuses()
	}
	return p
}

// count is how many resources there are. Those that end access to others are a part of
// these, unless there is something to end.
func (d *surveyed) count() int {
	n := len(d.items)
	for i, item := range d.items {
		if item.Closes != nil && (i >= len(d.found) || d.found[i] == nil) {
			n--
		}
	}
	return n
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
