package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"weft/internal/hint"
)

// A survey is what the devices report about all items at one time.
type survey struct {
	graph   *graph
	devices []*surveyed // in the order of the items
	found   []*finding  // by item; nil: converged, or on an unreachable device
}

// A surveyed device has been opened and read, or could not be.
type surveyed struct {
	address  string
	device   Device
	items    []int // in execution order
	identity Identity
	err      error
}

// A finding is an item that is not as declared.
type finding struct {
	have State
	diff Diff
}

// take opens and reads every device that has items, and compares. Its error is
// about the input or about the context; devices carry their own.
func take(ctx context.Context, in *Input, beat *pulse) (*survey, error) {
	g, err := newGraph(in.Items)
	if err != nil {
		return nil, err
	}
	s := &survey{graph: g, found: make([]*finding, len(in.Items))}
	if err := s.group(in); err != nil {
		return nil, err
	}
	queue := make(chan *surveyed)
	var workers sync.WaitGroup
	for range min(in.Parallelism, len(s.devices)) {
		workers.Go(func() {
			for d := range queue {
				s.visit(ctx, in, beat, d)
			}
		})
	}
	for _, d := range s.devices {
		if ctx.Err() != nil {
			break
		}
		queue <- d
	}
	close(queue)
	workers.Wait()
	if ctx.Err() != nil { // devices that did not answer then prove nothing
		return nil, fmt.Errorf("interrupted while reading devices: %w", context.Cause(ctx))
	}
	return s, nil
}

// group sorts the items to their devices.
func (s *survey) group(in *Input) error {
	var errs []error
	byAddress := make(map[string]*surveyed, len(in.Devices))
	for _, item := range in.Items {
		if byAddress[item.ID.Device] != nil {
			continue
		}
		d := &surveyed{address: item.ID.Device, device: in.Devices[item.ID.Device]}
		if d.device == nil {
			errs = append(errs, fmt.Errorf("%s has resources, but there is no such device", d.address))
		}
		byAddress[d.address] = d
		s.devices = append(s.devices, d)
	}
	for _, i := range s.graph.order {
		d := byAddress[in.Items[i].ID.Device]
		d.items = append(d.items, i)
	}
	return errors.Join(errs...)
}

// visit opens and reads one device and compares its items.
func (s *survey) visit(ctx context.Context, in *Input, beat *pulse, d *surveyed) {
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
	resources := make([]Resource, len(d.items))
	for n, i := range d.items {
		resources[n] = in.Items[i].Resource
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
	changed := 0
	for n, i := range d.items {
		if diff := resources[n].Diff(states[n]); !diff.Empty() {
			s.found[i] = &finding{have: states[n], diff: diff} // no other worker has this item
			changed++
		}
	}
	in.emit(Event{Type: EventRead, Device: d.address,
		Message: fmt.Sprintf("%s was read: %d resources, %d not as declared", d.address, len(resources), changed),
		Data:    map[string]any{"resources": len(resources), "changed": changed}})
}

// report tells why nothing is known about the device.
func (d *surveyed) report(in *Input, what string) {
	in.emit(Event{Type: EventConnect, Level: "error", Device: d.address,
		Message: what + ": " + d.err.Error(),
		Data:    errorData(d.err)})
}

// planned is the device as a plan keeps it.
func (d *surveyed) planned() PlannedDevice {
	p := PlannedDevice{Address: d.address, Identity: d.identity, Items: len(d.items)}
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
