package leaf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/plan"
	"weft/switches"
)

// A switch keeps no ledger: what weft owns on it carries the owner's name, and
// what was there before is in a copy of the configuration that the switch made
// of itself before the first line. What nobody declares is led back to that
// copy, as far as it still reads as weft left it.

// owned finds what is ours, reads what was there before where something is to
// be given back, and says what will stay.
func (d *Device) owned(ctx context.Context) (notes []string, err error) {
	d.owns, d.relics = d.have.Owned(d.want.Owner), switches.Relics{}
	d.wrote = d.marks.Wrote(d.have, d.want.Owner)
	gone := slices.DeleteFunc(d.entries(), d.declared)
	// Without classes nothing on a port carries weft's name, and an older weft left no mark.
	nameless := len(d.want.Classes) == 0 && d.marks.Base(d.cfg.Owner)
	if len(gone) == 0 && !nameless {
		return nil, nil
	}
	if err := d.recollect(ctx); err != nil {
		return nil, err
	}
	if nameless {
		notes = append(notes, switches.Nameless(d.have, d.relics, d.want, d.marks.Told(d.have))...)
	}
	if d.relics.Base == nil {
		notes = append(notes, "the copy of what was there before weft is not on the switch: only what carries weft's name can be removed")
	}
	return notes, nil
}

// recollect reads what the switch has kept of the time before.
func (d *Device) recollect(ctx context.Context) (err error) {
	if d.relics != (switches.Relics{}) {
		return nil
	}
	d.relics.Base, d.relics.Left, err = d.session.Base(ctx, d.cfg.Owner, d.marks)
	return err
}

// declared reports whether the files still speak of what an entry stands for.
func (d *Device) declared(e plan.Entry) bool {
	if e.Kind == "qos" {
		return len(d.want.Classes) > 0 && d.fabric(d.want.Name) == e.Name
	}
	return slices.ContainsFunc(d.want.Ports, func(p switches.Port) bool { return p.Name == e.Name })
}

// fabric is the name of the fabric in that of objects.
func (d *Device) fabric(name string) string {
	return strings.TrimPrefix(name, switches.ObjectName(d.cfg.Owner, ""))
}

// entries is the ledger as the switch itself shows it: what ports carry rests
// on the classes of that name, and those that are wished on those they replace.
func (d *Device) entries() []plan.Entry {
	id := func(name string) plan.ID { return plan.ID{Device: d.cfg.Name, Kind: "qos", Name: d.fabric(name)} }
	var out []plan.Entry
	var old []plan.ID
	for _, name := range d.owns.Names {
		out = append(out, plan.Entry{Kind: "qos", Name: d.fabric(name), State: plan.EntryCreated})
		if name != d.want.Name {
			old = append(old, id(name))
		}
	}
	if len(old) > 0 && len(d.want.Classes) > 0 {
		key := d.fabric(d.want.Name)
		out = slices.DeleteFunc(out, func(e plan.Entry) bool { return e.Name == key })
		out = append(out, plan.Entry{Kind: "qos", Name: key, State: plan.EntryCreated, Needs: old})
	}
	for _, port := range slices.Sorted(keysOf(d.owns.Ports)) {
		out = append(out, plan.Entry{Kind: "port", Name: port, State: plan.EntryCreated, Needs: []plan.ID{id(d.owns.Ports[port])}})
	}
	for _, port := range d.wrote {
		out = append(out, plan.Entry{Kind: "port", Name: port, State: plan.EntryCreated})
	}
	return append(out, d.lost(out)...)
}

// lost are entries of what the files declare and the proven copy has, and the switch has no
// more: an operator has taken weft's policies off.
func (d *Device) lost(present []plan.Entry) (out []plan.Entry) {
	if d.relics.Left == nil {
		return nil
	}
	proven := d.relics.Left.Owned(d.want.Owner)
	add := func(kind, name string) {
		e := plan.Entry{Kind: kind, Name: name, State: plan.EntryCreated}
		same := func(o plan.Entry) bool { return o.Kind == kind && o.Name == name }
		if d.declared(e) && !slices.ContainsFunc(present, same) {
			out = append(out, e)
		}
	}
	for _, name := range proven.Names {
		add("qos", d.fabric(name))
	}
	for _, port := range slices.Sorted(keysOf(proven.Ports)) {
		add("port", port)
	}
	return out
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Kept implements plan.Keeper. Rosters are in the ledgers of servers.
func (d *Device) Kept() plan.Kept { return plan.Kept{Entries: d.entries()} }

// Restore implements plan.Keeper.
func (d *Device) Restore(e plan.Entry) (plan.Resource, error) {
	if e.Kind != "qos" && e.Kind != "port" {
		return nil, fmt.Errorf("a switch has no kind %q", e.Kind)
	}
	return &giveBack{dev: d, kind: e.Kind, name: e.Name, length: slices.Contains(d.wrote, e.Name)}, nil
}

// Drifted implements plan.Keeper: what was applied is in the copy that the switch
// made when it was proven. Without that copy nothing tells what an operator changed
// from a change of mind: then all that carries weft's name and is not as the files
// say has drifted.
func (d *Device) Drifted(e plan.Entry, _ plan.State) bool {
	if d.relics.Left == nil {
		return true
	}
	if e.Kind == "port" {
		return switches.Changed(d.have, *d.relics.Left, d.want.Owner, e.Name)
	}
	return switches.Changed(d.have, *d.relics.Left, d.want.Owner, "") || d.displaced()
}

// displaced reports whether the classes are as they were proven, and cannot be applied any
// more: another policy has taken the place of weft's on a port.
func (d *Device) displaced() bool {
	proven, classes := *d.relics.Left, &qos{d}
	proven.Facts = d.have.Facts
	return classes.Diff(&d.have).Err != nil && classes.Diff(&proven).Empty()
}

// Unchanged implements plan.Keeper.
func (d *Device) Unchanged(plan.Entry, plan.Resource) bool { return false }

// Pending implements plan.Keeper: a switch that waits for a proof reverts by
// itself, see heed.
func (d *Device) Pending() plan.Resource { return nothing{} }

// Belongs implements plan.Keeper.
func (d *Device) Belongs(roster []plan.Member, _ map[string]bool, _ []string) plan.Resource {
	if roster == nil {
		d.leaving = true
		return &relics{d}
	}
	return nothing{}
}

// nothing is a resource that is always as wanted.
type nothing struct{}

// Diff implements plan.Resource.
func (nothing) Diff(plan.State) plan.Diff { return plan.Diff{} }

// Verify implements plan.Resource.
func (nothing) Verify(context.Context) error { return nil }

// giveBack leads the classes of a fabric, or a port, back to what was there
// before weft.
type giveBack struct {
	dev        *Device
	kind, name string
	length     bool // all that is ours of the port is its frame length, and a mark says so
}

func (r *giveBack) back(have switches.Reading) switches.Return {
	d := r.dev
	switch {
	case r.length:
		return switches.GiveBackLength(have, d.relics, r.name)
	case r.kind == "port":
		return switches.GiveBackPort(have, d.relics, d.want.Owner, r.name)
	}
	return switches.GiveBack(have, d.relics, switches.ObjectName(d.cfg.Owner, r.name), !d.leaving && len(d.want.Classes) > 0)
}

// Diff implements plan.Resource.
func (r *giveBack) Diff(state plan.State) plan.Diff {
	b := r.back(*state.(*switches.Reading))
	d := plan.Diff{Send: b.Send, Undo: b.Undo}
	for _, c := range b.Changes {
		path := c.Key
		if r.kind != "port" && c.Place != "" {
			path = c.Place + pathMark + c.Key
		}
		d.Changes = append(d.Changes, plan.Change{Path: path, Before: value(c.Before, c.Key), After: value(c.After, c.Key), Impact: plan.ImpactTraffic})
	}
	if len(d.Changes) == 0 {
		return plan.Diff{Left: strings.Join(b.Kept, "; ")}
	}
	for i, line := range b.Kept {
		d.Changes = append(d.Changes, plan.Change{Path: fmt.Sprintf(staysPath+"%d", i+1), Before: line, After: line})
	}
	return d
}

// The paths of what giving back changes: the headers that lead to a line with the
// mark between them, and lines that stay all the same.
const (
	pathMark  = " / "
	staysPath = "stays."
	isThere   = "there" // the value of an object
)

// value is a line without its key, for people; a line that is nothing but its
// key is on.
func value(line, key string) string {
	if line == "" {
		return ""
	}
	if rest := strings.TrimSpace(strings.TrimPrefix(line, key)); rest != "" {
		return rest
	}
	return "on"
}

// Verify implements plan.Resource.
func (r *giveBack) Verify(context.Context) error { return nil }

// relics are the copies that the switch keeps for the owner, which go last.
type relics struct{ dev *Device }

func isRelics(s plan.Step) bool {
	_, ok := s.Resource.(*relics)
	return ok
}

// Diff implements plan.Resource.
func (r *relics) Diff(plan.State) plan.Diff {
	var d plan.Diff
	d.Send = append(d.Send, r.dev.session.Forgetting(r.dev.cfg.Owner, r.dev.marks)...)
	if len(d.Send) > 0 {
		d.Changes = []plan.Change{{Path: "copies of the configuration", Before: "kept"}}
	}
	return d
}

// Verify implements plan.Resource.
func (r *relics) Verify(context.Context) error { return nil }

// forget removes the copies, once all the rest is proven.
func (d *Device) forget(ctx context.Context) error {
	if !slices.ContainsFunc(d.steps, isRelics) {
		return nil
	}
	if err := d.session.Forget(ctx, d.cfg.Owner); err != nil {
		return hint.Wrap(errors.Join(errors.New("the configuration is as it was before weft; its copies stay on the switch"), err),
			"apply again, or delete weft-%s-*.cfg by hand", d.cfg.Owner)
	}
	return nil
}

// writes are the frame lengths that steps write, or leave, on ports that carry
// nothing of the owner's name afterwards.
func (d *Device) writes(steps []plan.Step) (out []switches.Wrote) {
	for _, s := range steps {
		if s.ID.Kind != "port" || len(d.want.Classes) > 0 {
			continue
		}
		length := 0
		for _, line := range s.Diff.Send {
			if n, ok := d.cfg.OS.Length(line); ok {
				length = n
			}
		}
		if _, wished := d.want.Port(s.ID.Name); length == 0 && wished && d.owns.Ports[s.ID.Name] != "" {
			length = d.have.LengthOf(s.ID.Name) // its classes go, and with them the name
		}
		if length > 0 {
			out = append(out, switches.Wrote{Owner: d.cfg.Owner, Port: s.ID.Name, Length: length})
		}
	}
	return out
}
