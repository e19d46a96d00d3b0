package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/inventory"
	"weft/modules"
	"weft/modules/host"
	"weft/modules/vcenter"
)

// An emptied host is one that others' machines have left.
type emptied struct {
	by      string // who moves them, for people
	fill    func(context.Context) error
	started bool // it has started again since it was emptied, by a weft that has ended
}

// empty has all machines leave a host: through the vCenter that has it, else by itself. What
// a weft that was killed had emptied already is gone on with; what people did is theirs.
func (r *Restarts) empty(ctx context.Context, server string) (*emptied, error) {
	e, err := r.Site.Fleet.Device(server).Maintenance()
	if err != nil {
		return nil, err
	}
	through, block, name := r.Site.emptiedBy(server)
	out := r.emptier(server, through, block, name)
	s, err := r.stoodBefore(ctx, server, e, through)
	if err != nil {
		return nil, err
	}
	up, err := e.Up(ctx)
	if err != nil {
		return nil, err
	}
	if s.Empty {
		out.started = up < s.Note.Up
		return out, nil
	}
	n := host.Emptying{Owner: r.Site.Input.Owner, By: Holder(), Since: s.Now, Before: s.Said, Up: up}
	if until, ok := ctx.Deadline(); ok {
		n.Until = s.Now + int64(time.Until(until).Seconds()) + 1
	}
	if s.Unable != nil {
		r.notes(server, fmt.Sprintf("will not know its own maintenance mode again, if this weft is killed: %v", s.Unable))
	} else if err := e.NoteEmptying(ctx, n); err != nil {
		return nil, fmt.Errorf("note that it enters maintenance mode: %w", err)
	}
	if through == nil {
		r.notes(server, "enters maintenance mode: esxcli system maintenanceMode set -e true")
		if err := e.Empty(ctx); err != nil {
			return nil, errors.Join(err, e.Fill(context.WithoutCancel(ctx))) // and nothing is noted any more
		}
		return out, nil
	}
	r.notes(server, "enters maintenance mode, through "+block)
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

// emptier says how a host is filled again.
func (r *Restarts) emptier(server string, through *vcenter.Device, block, name string) *emptied {
	fill := func(ctx context.Context) error { // takes the note away, too
		return r.withHost(ctx, server, func(e modules.Maintenance) error { return e.Fill(ctx) })
	}
	if through == nil {
		return &emptied{by: "itself", fill: fill}
	}
	return &emptied{by: block, fill: func(ctx context.Context) error {
		if _, err := through.Open(ctx); err != nil { // its session may have ended meanwhile
			return err
		}
		if err := through.Fill(ctx, name); err != nil {
			return err
		}
		return fill(ctx)
	}}
}

// stoodBefore is how a host stands: empty, by a weft of this owner that has ended, or not.
// Anything else is an error.
func (r *Restarts) stoodBefore(ctx context.Context, server string, e modules.Maintenance, through *vcenter.Device) (*host.Standing, error) {
	owner, me := r.Site.Input.Owner, Holder()
	s, err := e.Stands(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Held(owner, me); err != nil {
		return nil, err
	}
	if n := s.Note; n != nil && n.Owner == owner && n.Task != "" && !s.Noted && through != nil {
		r.notes(server, fmt.Sprintf("was entering maintenance mode for a weft that has ended: waiting for its task %s", n.Task))
		done, why := through.Await(ctx, n.Task)
		if ctx.Err() != nil {
			return nil, why
		}
		if why != nil {
			r.notes(server, why.Error())
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
	r.notes(server, fmt.Sprintf("is in maintenance mode since a weft of %s that has ended: it is gone on with", s.Note.By.Who))
	return s, nil
}

// emptiedBy is the vCenter of the files that has a host, its block, and what it calls the
// host; nil: none has it. Devices are open.
func (s *Site) emptiedBy(server string) (_ *vcenter.Device, block, name string) {
	i := slices.IndexFunc(s.Model.Servers, func(x *inventory.Server) bool { return x.Addr == server })
	for _, v := range s.Model.VCenters {
		if d, err := s.Fleet.Device(v.Addr).VCenter(); err == nil && i >= 0 && d.Knows(s.Model.Servers[i].Host) {
			return d, v.Addr, s.Model.Servers[i].Host
		}
	}
	return nil, "", ""
}
