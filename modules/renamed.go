package modules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weft/internal/slice"
	"weft/inventory"
	"weft/plan"
	"weft/switches"
)

// Renamed finds pools and volumes that a plan would prune and make again, although their
// drives and sizes are those of blocks with other names: what is refused of them is told
// how to keep its data first, before how to lose it. Of policies that only follow the new
// name of a fabric a reader is warned: to change them disturbs traffic for nothing.
func Renamed(m *inventory.Model, p *plan.Plan) {
	for _, s := range p.Steps {
		if s.ID.Kind == "qos" && !s.Prune {
			fabricRenamed(m, p, s)
		}
	}
	if len(p.Refusals) == 0 {
		return
	}
	r := renames{plan: p, pools: map[plan.ID]*inventory.Pool{}, told: map[plan.ID][]string{}}
	for _, s := range p.Steps {
		if s.Prune && s.ID.Kind == "volume_group" {
			r.pool(m, s)
		}
	}
	for _, s := range p.Steps {
		if s.Prune && s.ID.Kind == "volume" {
			r.volume(m, s)
		}
	}
}

// fabricRenamed warns of a switch whose policies get the name of another fabric, where none
// has the former name any more.
func fabricRenamed(m *inventory.Model, p *plan.Plan, s plan.PlannedStep) {
	c := change(s, "policies")
	was, ours := strings.CutPrefix(c.Before, switches.ObjectName(m.Name, ""))
	now := slices.IndexFunc(m.Fabrics, func(f *inventory.Fabric) bool { return c.After == switches.ObjectName(m.Name, f.OnDevices()) })
	if !ours || now < 0 || m.Fabrics[now].Addr == "fabric."+was || !hclsyntax.ValidIdentifier(was) || slices.ContainsFunc(m.Fabrics, func(f *inventory.Fabric) bool { return f.OnDevices() == was }) {
		return
	}
	text := fmt.Sprintf("policies of fabric.%s stand on it: if the block only got another name write this, which changes nothing there:\nmoved {\n  from = fabric.%s\n  to   = %s\n}", was, was, m.Fabrics[now].Addr)
	for i := range p.Devices {
		if d := &p.Devices[i]; d.Address == s.ID.Device {
			d.Identity.Warnings = append(slices.Clip(d.Identity.Warnings), text)
		}
	}
}

type renames struct {
	plan  *plan.Plan
	pools map[plan.ID]*inventory.Pool // as which pruned groups are declared now
	told  map[plan.ID][]string        // what tell has put before a refusal
}

// pool finds the pool with the drives of a group that is to be pruned.
func (r *renames) pool(m *inventory.Model, s plan.PlannedStep) {
	var found []*inventory.Pool
	for _, p := range m.Pools {
		if p.Server != nil && p.Server.Addr == s.ID.Device && strings.Join(slices.Sorted(slices.Values(p.Drives)), " ") == change(s, "drives").Before && inventory.NameOnDevice(p.Origin(), p.Server.Origin()) != s.ID.Name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return
	}
	p := found[0]
	r.pools[s.ID] = p
	now := plan.ID{Device: s.ID.Device, Kind: s.ID.Kind, Name: inventory.NameOnDevice(p.Origin(), p.Server.Origin())}
	if hint := moving("pool", s.ID.Name, p.Addr); hint != "" {
		r.tell(hint, now, s.ID)
	}
}

// volume finds the volume of the size, and in the pool, of one that is to be pruned.
func (r *renames) volume(m *inventory.Model, s plan.PlannedStep) {
	group, name, _ := strings.Cut(s.ID.Name, ".")
	pool := r.pools[plan.ID{Device: s.ID.Device, Kind: "volume_group", Name: group}]
	var found []*inventory.Volume
	for _, v := range m.Volumes {
		in := v.Pool
		if in == nil || in.Server == nil || in.Server.Addr != s.ID.Device || pool != nil && in != pool || pool == nil && inventory.NameOnDevice(in.Origin(), in.Server.Origin()) != group {
			continue
		}
		now := inventory.NameOnDevice(v.Origin(), in.Origin())
		if now == name { // the pool alone has another name
			if hint := moving("pool", group, in.Addr); hint != "" {
				r.tell(hint, s.ID)
			}
			return
		}
		made := plan.ID{Device: s.ID.Device, Kind: "volume", Name: inventory.NameOnDevice(in.Origin(), in.Server.Origin()) + "." + now}
		i := slices.IndexFunc(r.plan.Steps, func(x plan.PlannedStep) bool { return x.ID == made && !x.Prune })
		if i >= 0 && change(r.plan.Steps[i], "size").After == change(s, "size").Before {
			found = append(found, v)
		}
	}
	if len(found) == 1 {
		if hint := moving("volume", name, found[0].Addr); hint != "" {
			r.tell(hint, s.ID)
		}
	}
}

// tell puts how a thing is kept before what else is said of the refusals.
func (r *renames) tell(how string, ids ...plan.ID) {
	for i := range r.plan.Refusals {
		if f := &r.plan.Refusals[i]; slices.Contains(ids, f.ID) && !slices.Contains(r.told[f.ID], how) {
			r.told[f.ID] = append(r.told[f.ID], how)
			otherwise := ""
			if f.Hint != "" {
				otherwise = "\notherwise: " + f.Hint
			}
			f.Hint = "if the block was only renamed, add this to keep the data:\n" + how + otherwise
		}
	}
}

// change is that of a path; the zero value: there is none.
func change(s plan.PlannedStep, path string) plan.Change {
	return slice.First(s.Changes, func(c plan.Change) bool { return c.Path == path })
}

// moving is the moved block from the name that a thing has on its server to the block that
// stands for it now; "": the name is that of a block in a module.
func moving(kind, name, now string) string {
	if k := inventory.KeyOf(now); k != "" {
		name = strings.TrimSuffix(name, "-"+url.PathEscape(k))
	}
	if !hclsyntax.ValidIdentifier(name) || kind+"."+name == inventory.BlockOf(now) { // it has another key, and no other name
		return ""
	}
	return fmt.Sprintf("moved {\n  from = %s.%s\n  to   = %s\n}", kind, name, inventory.BlockOf(now))
}
