package leaf

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/plan"
	"weft/switches"
)

// qos is the resource of the traffic classes of a switch: classification,
// queues, lossless classes, ECN and scheduling, and their attachment to the
// system.
type qos struct{ dev *Device }

// Diff implements plan.Resource.
func (r *qos) Diff(state plan.State) plan.Diff {
	have := *state.(*switches.Reading)
	if len(have.Foreign) > 0 {
		return plan.Diff{Err: hint.Wrap(
			fmt.Errorf("foreign policies stand where the fabric's must go: %s", strings.Join(have.Foreign, ", ")),
			"take them off by hand, or set adopt = true on the switch: then ours take their place, and what stood there comes back when weft leaves%s", r.dev.otherWeft(have.Foreign))}
	}
	if err := fits(r.dev.cfg.Known, r.dev.cfg.OS.Name, have.Facts, r.dev.want.Classes); err != nil {
		return plan.Diff{Err: err}
	}
	if len(have.Starved) > 0 {
		return plan.Diff{Err: hint.Wrap(
			fmt.Errorf("foreign queues would lose what they are served with: %s", strings.Join(have.Starved, "; ")),
			"give the fabric a class of that priority, or take that policy off there: the queues of the switch are the same for all its ports")}
	}
	d, err := r.dev.cfg.OS.CompareClasses(have, r.dev.want)
	return planned(d, classChanges(d.Before, d.After), err)
}

// Verify implements plan.Resource: the configuration read back by a fresh
// login is the proof of commit; effects are proven by probes.
func (r *qos) Verify(context.Context) error { return nil }

// port is the resource of one switch port.
type port struct {
	dev  *Device
	want switches.Port
}

// Diff implements plan.Resource.
func (r *port) Diff(state plan.State) plan.Diff {
	have := *state.(*switches.Reading)
	i := slices.IndexFunc(have.Ports, func(p switches.Port) bool { return p.Name == r.want.Name })
	if i < 0 || !have.Ports[i].Exists {
		return plan.Diff{Err: noPort(r.want.Name, have.PortNames())}
	}
	if bundle := have.Ports[i].Bundle; bundle != "" {
		return plan.Diff{Err: hint.Wrap(
			fmt.Errorf("%s is a member of %s: %s", r.want.Name, bundle, r.dev.cfg.OS.Dialect.Members),
			"a plane is one port: take it out of %s, or link another one", bundle)}
	}
	// Ports come after the classes, so they are rendered on top of them.
	// The others stand as they are on both sides.
	now, wished := have.Ports[i], r.want
	wished.MTU = max(wished.MTU, now.MTU) // at least
	d, err := r.dev.cfg.OS.ComparePort(have, r.dev.want, now, wished)
	if err != nil {
		return plan.Diff{Err: err}
	}
	return planned(d, portChanges(now, d.After.Ports[0]), nil)
}

// noPort says how ports are called on a switch that has none of that name.
func noPort(name string, names []string) error {
	err := fmt.Errorf("the switch has no port %s", name)
	if len(names) == 0 {
		return hint.Wrap(err, "its running configuration shows no Ethernet port at all: may this user see it?")
	}
	return hint.Wrap(err, "it has %d Ethernet ports, such as %s: links name one as its running configuration does", len(names), names[0])
}

// Verify implements plan.Resource.
func (r *port) Verify(context.Context) error { return nil }

// planned is a difference as the plan shows it.
func planned(d switches.Difference, changes []plan.Change, err error) plan.Diff {
	out := plan.Diff{Changes: changes, Send: d.Send, Undo: d.Undo, Err: err}
	if len(out.Send) == 0 && len(out.Undo) == 0 && out.Err == nil {
		// Nothing is typed for it: an OS on which nothing that is wished has a name,
		// or a port that uses what the classes change.
		out.Changes = nil
	}
	if len(out.Changes) == 0 && len(out.Send) > 0 {
		// An operator wrote lines among ours that no attribute speaks of.
		out.Changes = plan.Changed("lines", "differ", "as declared", plan.ImpactTraffic)
	}
	return out
}

const policies = "policies" // the change of whose policies are in force

func classChanges(have, want switches.Intent) []plan.Change {
	out := plan.Changed(policies, have.Name, want.Name, plan.ImpactTraffic)
	out = append(out, plan.Changed("pfc_watchdog", have.Watchdog, want.Watchdog, plan.ImpactTraffic)...)
	out = append(out, plan.Changed("priority_tags", enabled(have.Tagged), enabled(want.Tagged), plan.ImpactNone)...)
	out = append(out, plan.Changed("lldp", enabled(have.LLDP), enabled(want.LLDP), plan.ImpactNone)...)
	find := func(c switches.Intent, name string) switches.Class {
		i := slices.IndexFunc(c.Classes, func(x switches.Class) bool { return x.Name == name })
		if i < 0 {
			return switches.Class{Priority: -1}
		}
		return c.Classes[i]
	}
	var names []string
	for _, c := range slices.Concat(want.Classes, have.Classes) {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		h, w := find(have, name), find(want, name)
		for _, f := range []struct {
			path string
			text func(switches.Class) string
		}{
			{"dscp", func(c switches.Class) string { return join(c.DSCP) }},
			{"priority", func(c switches.Class) string { return absent(c.Priority < 0, strconv.Itoa(c.Priority)) }},
			{"bandwidth", func(c switches.Class) string { return absent(c.Bandwidth == 0, fmt.Sprintf("%d%%", c.Bandwidth)) }},
			{"strict", func(c switches.Class) string { return absent(!c.Strict, "on") }},
			{"pfc", func(c switches.Class) string { return absent(!c.PFC, "lossless") }},
			{"ecn", func(c switches.Class) string { return ecn(c.ECN) }},
			{"headroom", func(c switches.Class) string { return headroom(c.Headroom) }},
		} {
			out = append(out, plan.Changed("class."+name+"."+f.path, f.text(h), f.text(w), plan.ImpactTraffic)...)
		}
	}
	return out
}

func portChanges(h, w switches.Port) []plan.Change {
	return slices.Concat(
		plan.Changed("mtu", frame(h.MTU), frame(w.MTU), plan.ImpactTraffic),
		plan.Changed("pfc", enabled(h.PFC), enabled(w.PFC), plan.ImpactTraffic),
		plan.Changed("classification", classified(h), classified(w), plan.ImpactTraffic),
		plan.Changed("queueing", enabled(h.Queue), enabled(w.Queue), plan.ImpactTraffic),
		plan.Changed("pfc_watchdog", enabled(h.Watchdog), enabled(w.Watchdog), plan.ImpactTraffic),
		plan.Changed("headroom", enabled(h.Headroom), enabled(w.Headroom), plan.ImpactTraffic),
	)
}

// classified says by what a port tells packets apart.
func classified(p switches.Port) string {
	if p.Classify && p.ByTag {
		return byTag
	}
	return enabled(p.Classify)
}

const byTag = "by the priority in VLAN tags"

func enabled(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// frame shows an MTU; 0 is what the OS does without being told.
func frame(mtu int) string {
	if mtu == 0 {
		return "default"
	}
	return strconv.Itoa(mtu)
}

func absent(yes bool, text string) string {
	if yes {
		return ""
	}
	return text
}

func join(ns []int) string {
	words := slice.Map(ns, strconv.Itoa)
	return strings.Join(words, ",")
}

func ecn(e *switches.ECN) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%d–%d bytes, %d%%", e.Min, e.Max, e.Probability)
}

func headroom(h *switches.Headroom) string {
	if h == nil {
		return ""
	}
	return fmt.Sprintf("%d bytes, pause at %d, until %d", h.Size, h.Xoff, h.Xon)
}

// otherWeft says what to do about policies that carry the name of another
// owner.
func (d *Device) otherWeft(foreign []string) string {
	if slices.ContainsFunc(foreign, switches.Weft) {
		return "; they are of weft under another owner: was weft { name } changed from " + strings.Join(d.want.Owner.Others, " or ") +
			"? Then put it back, plan --destroy there, and apply with the new one"
	}
	return ""
}
