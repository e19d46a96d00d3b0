package plan

import (
	"context"
	"fmt"
	"slices"

	"weft/internal/hint"
)

// Apply carries the plan out, or less of it, never more. It opens and reads
// every device again, refuses a plan that is stale (*StaleError), made for
// another device (*WrongDeviceError), of which a device cannot be reached
// (*UnreachableError), or whose ledger it does not know (*LedgerError), and only
// then changes anything.
//
// Devices are changed in parallel, the steps of one device in the plan's
// order, each step after those it needs. A device that fails is reverted,
// together with the devices that need what it did not do; others finish. When
// ctx ends, running steps finish, none begins, and what has not committed is
// reverted. When Pause says so, devices that were begun are finished, unless they
// need one that was not: Paused of the Result tells that from failures.
//
// The Result is never nil. The error is nil exactly if everything in the plan
// is done and proven.
func Apply(ctx context.Context, p *Plan, in Input) (*Result, error) {
	in = in.withDefaults()
	in.Destroy, in.SkipUnreachable, in.Select = p.Destroy, p.Skip, p.Select
	res := newResult(p)
	steps, err := p.applicable(&in)
	if err != nil {
		return res.end(err)
	}
	beat := startPulse(&in)
	defer beat.stop()
	s, err := take(ctx, &in, beat)
	if err != nil {
		return res.end(err)
	}
	if err := p.sameDevices(&in, s, res); err != nil {
		return res.end(err)
	}
	if err := firstOf(in.Held(p), in.unmarked(p)); err != nil {
		return res.end(err)
	}
	if err := refused(s); err != nil {
		return res.end(err)
	}
	live, err := p.match(s)
	if err != nil {
		tellMoved(&in, err)
		return res.end(err)
	}
	x := newExecution(&in, beat)
	x.schedule(p, s, steps, live)
	for i := range res.Devices {
		res.Devices[i].markAlready()
	}
	x.run(ctx)
	return res.end(res.collect(x))
}

// markAlready takes every step as found; collect corrects those that had
// something to do.
func (d *DeviceResult) markAlready() {
	for i := range d.Steps {
		d.Steps[i].Outcome = StepAlready
	}
}

// Applicable reports why Apply would refuse the plan before it looks at any
// device: nil, or the error that Apply would end with.
func (p *Plan) Applicable(in Input) error {
	_, err := p.applicable(&in)
	return err
}

// applicable refuses what no look at the devices could make right.
func (p *Plan) applicable(in *Input) (*graph, error) {
	if p.Format < oldest || p.Format > Format {
		return nil, fmt.Errorf("the plan has format %d, this weft applies format %d to %d", p.Format, oldest, Format)
	}
	if p.Owner != in.Owner {
		return nil, fmt.Errorf("the plan belongs to owner %q, the inventory to %q", p.Owner, in.Owner)
	}
	if p.Simulated != in.Simulated {
		where := map[bool]string{true: "the simulated lab", false: "real devices"}
		return nil, fmt.Errorf("the plan was made for %s and would be applied to %s",
			where[p.Simulated], where[in.Simulated])
	}
	if err := p.Incomplete(); err != nil {
		return nil, fmt.Errorf("the plan is incomplete: %w", err)
	}
	if len(p.Refusals) > 0 {
		return nil, refusalError(len(p.Refusals), p.Refusals[0])
	}
	if list := p.losing(); list != nil { // a file may claim that nothing is refused
		return nil, refusalError(len(list), Refusal{ID: list[0].ID, Text: "its data would be lost, and the plan does not allow it"})
	}
	return p.stepGraph()
}

func refusalError(n int, first Refusal) error {
	err := fmt.Errorf("%s cannot be applied: %s", first.ID, first.Text)
	if n > 1 {
		err = fmt.Errorf("%d resources cannot be applied, the first: %w", n, err)
	}
	if first.Hint != "" {
		err = hint.Wrap(err, "%s", first.Hint)
	}
	return err
}

// sameDevices refuses devices that cannot be reached or are not those of the
// plan, and warns about restarts.
func (p *Plan) sameDevices(in *Input, s *survey, res *Result) error {
	found := make(map[string]*surveyed, len(s.devices))
	for _, d := range s.devices {
		found[d.address] = d
	}
	var unreachable UnreachableError
	var wrong, refused error
	for i, planned := range p.Devices {
		d, r := found[planned.Address], &res.Devices[i]
		if d == nil {
			continue // nothing is declared on it any more; its steps are stale
		}
		delete(found, planned.Address)
		if d.err != nil {
			r.Err = d.err
			if d.refuses() {
				refused = firstOf(refused, d.err)
				continue
			}
			unreachable.add(d)
			r.Outcome = DeviceUnreachable
			continue
		}
		if err := sameDevice(planned, d.identity); err != nil {
			wrong = firstOf(wrong, err)
			r.Outcome, r.Err = DeviceUnreachable, err
		}
		if was, is := planned.Identity.BootID, d.identity.BootID; was != "" && was != is {
			in.emit(Event{Type: EventDiagnostic, Level: "warn", Device: d.address,
				Message: d.address + " was restarted since the plan was made",
				Data:    map[string]any{"planned_boot_id": was, "boot_id": is}})
		}
	}
	for _, d := range s.devices { // those that came after the plan
		switch {
		case found[d.address] == nil || d.err == nil:
		case d.refuses():
			refused = firstOf(refused, d.err)
		default:
			unreachable.add(d)
		}
	}
	if wrong != nil {
		return wrong
	}
	if unreachable.Err != nil && !in.SkipUnreachable {
		return &unreachable
	}
	return refused
}

func (e *UnreachableError) add(d *surveyed) {
	e.Devices = append(e.Devices, d.address)
	e.Err = firstOf(e.Err, d.err)
}

// refused reports resources that cannot be applied as things are now.
func refused(s *survey) error {
	list := slices.Clone(s.refusals)
	for _, i := range s.graph.order {
		if f := s.found[i]; f != nil && f.diff.Err != nil {
			list = append(list, newRefusal(s.items[i], f.diff.Err))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return refusalError(len(list), list[0])
}
