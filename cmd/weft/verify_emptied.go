package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/run"
	"weft/inventory"
	"weft/modules"
	"weft/modules/host"
	"weft/modules/vcenter"
	"weft/plan"
)

// An emptied host is one that others' machines have left.
type emptied struct {
	by   string // who moves them, for people
	fill func(context.Context) error
}

// empty has all machines leave a host: through the vCenter that has it, else by itself. What
// a weft that was killed had emptied already is gone on with; what people did is theirs.
func (a *app) empty(ctx context.Context, p *run.Site, server string) (*emptied, error) {
	e, err := plan.As[modules.Emptier](p.Fleet.Devices, server, "is emptied by nobody")
	if err != nil {
		return nil, err
	}
	through, block, name := a.emptiedBy(p, server)
	out := &emptied{"itself", func(ctx context.Context) error {
		return a.withHost(ctx, p.Model, server, func(e modules.Emptier) error { return e.Fill(ctx) })
	}}
	if through != nil {
		out = &emptied{block, func(ctx context.Context) error {
			if _, err := through.Open(ctx); err != nil { // its session may have ended meanwhile
				return err
			}
			if err := through.Fill(ctx, name); err != nil {
				return err
			}
			return a.withHost(ctx, p.Model, server, func(e modules.Emptier) error { return e.Fill(ctx) }) // takes the note away
		}}
	}
	s, err := a.stoodBefore(ctx, p.Input.Owner, server, e, through)
	if err != nil || s.Empty {
		return out, err
	}
	n := host.Emptying{Owner: p.Input.Owner, By: run.Holder(), Since: s.Now, Before: s.Said}
	if until, ok := ctx.Deadline(); ok {
		n.Until = s.Now + int64(time.Until(until).Seconds()) + 1
	}
	if s.Unable != nil {
		a.notes(server, fmt.Sprintf("will not know its own maintenance mode again, if this weft is killed: %v", s.Unable))
	} else if err := e.NoteEmptying(ctx, n); err != nil {
		return nil, fmt.Errorf("note that it enters maintenance mode: %w", err)
	}
	if through == nil {
		a.notes(server, "enters maintenance mode: esxcli system maintenanceMode set -e true")
		if err := e.Empty(ctx); err != nil {
			return nil, errors.Join(err, e.Fill(context.WithoutCancel(ctx))) // and nothing is noted any more
		}
		return out, nil
	}
	a.notes(server, "enters maintenance mode, through "+block)
	err = through.Empty(ctx, name, func(task string) error {
		if n.Through, n.Task = block, task; s.Unable != nil {
			return nil
		}
		return e.NoteEmptying(ctx, n)
	})
	switch {
	case err == nil:
		err = e.NoteEmptied(ctx)
	case n.Task == "": // vCenter has begun nothing
		err = errors.Join(err, e.Fill(context.WithoutCancel(ctx)))
	}
	return out, err
}

// stoodBefore is how a host stands: empty, by a weft of this owner that has ended, or not.
// Anything else is an error.
func (a *app) stoodBefore(ctx context.Context, owner, server string, e modules.Emptier, through *vcenter.Device) (*host.Standing, error) {
	s, err := e.Stands(ctx)
	if err != nil {
		return nil, err
	}
	me := run.Holder()
	if err := s.Held(owner, me); err != nil {
		return nil, err
	}
	if n := s.Note; n != nil && n.Owner == owner && n.Task != "" && !s.Noted && through != nil {
		a.notes(server, fmt.Sprintf("was entering maintenance mode for a weft that has ended: waiting for its task %s", n.Task))
		done, why := through.Await(ctx, n.Task)
		if ctx.Err() != nil {
			return nil, why
		}
		if why != nil {
			a.notes(server, why.Error())
		}
		if s, err = e.Stands(ctx); err == nil && done && s.Empty && s.Once {
			if err = e.NoteEmptied(ctx); err == nil {
				s, err = e.Stands(ctx)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if !s.Empty {
		return s, nil
	}
	if err := s.Whose(owner, me); err != nil {
		return nil, err
	}
	a.notes(server, fmt.Sprintf("is in maintenance mode since a weft of %s that has ended: it is gone on with", s.Note.By.Who))
	return s, nil
}

// emptiedBy is the vCenter of the files that has a host, its block, and what it calls the
// host; nil: none has it.
func (a *app) emptiedBy(p *run.Site, server string) (_ *vcenter.Device, block, name string) {
	i := slices.IndexFunc(p.Model.Servers, func(s *inventory.Server) bool { return s.Addr == server })
	for _, v := range p.Model.VCenters {
		if d, ok := p.Fleet.Devices[v.Addr].(*vcenter.Device); ok && i >= 0 && d.Knows(p.Model.Servers[i].Host) {
			return d, v.Addr, p.Model.Servers[i].Host
		}
	}
	return nil, "", ""
}
