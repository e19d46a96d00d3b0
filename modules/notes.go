package modules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory"
	"weft/modules/leaf"
	"weft/plan"
	"weft/switches"
)

// notes says of everything that is described and has no effect yet that it
// has none. Instances of one block share a note.
func (x *expansion) notes() {
	m := x.model
	for _, f := range m.Fabrics {
		for _, c := range f.Classes {
			if c.Headroom != nil {
				x.note(c.At("headroom"), f.Addr, "NICs get the size of headroom, and their drivers choose when to pause: xoff and xon of NICs are described, not yet managed")
			}
		}
	}
	for _, sw := range m.Switches {
		x.pauses(sw)
	}
	for _, t := range m.Targets {
		if text := degraded(t); text != "" {
			x.note(t.At("transport"), inventory.BlockOf(t.Addr), text)
		}
	}
}

// pauses says what of the guards of lossless classes a switch does not get, and
// what its system makes of classes.
func (x *expansion) pauses(sw *inventory.Switch) {
	os := x.system(sw.OS)
	if os == nil || sw.Fabric == nil || sw.Unmanaged {
		return
	}
	later := func(at hcl.Range, f switches.Feature, verb string) bool {
		var no *switches.WithoutError
		lacks := errors.As(os.Lacks(f), &no)
		if lacks {
			x.note(at, sw.Addr, fmt.Sprintf("%s %s described, not yet managed on %s: %s", f, verb, no.OS, no.Reason()))
		}
		return lacks
	}
	if sw.Fabric.Lossless() {
		if dog := sw.Fabric.PFCWatchdog; dog != nil && !later(dog.Range, switches.Watchdogs, "is") && (dog.Detect != 0 || dog.Restore != 0) {
			later(dog.Range, switches.WatchdogTimes, "are")
		}
		for _, c := range sw.Fabric.Classes {
			if c.Headroom != nil {
				later(c.At("headroom"), switches.Headrooms, "is")
			}
		}
	}
	if os.Advice != nil {
		for _, text := range os.Advice(leaf.Classes(sw.Fabric)) {
			x.note(sw.Range, sw.Addr, text)
		}
	}
}

func (x *expansion) note(at hcl.Range, block, text string) {
	n := plan.Note{Range: at, Block: block, Text: text}
	if !slices.ContainsFunc(x.fleet.Notes, func(o plan.Note) bool { return o.Block == block && o.Text == text }) {
		x.fleet.Notes = append(x.fleet.Notes, n)
	}
}

// degraded says how a target speaks TCP on a fabric that could carry RDMA; "":
// it does not.
func degraded(t *inventory.Target) string {
	if !slices.Contains(t.Transport, "tcp") || !slices.ContainsFunc(t.Portals, func(p inventory.Portal) bool {
		return p.RNIC != nil && p.RNIC.Fabric != nil && p.RNIC.Fabric.Transport != "tcp"
	}) {
		return ""
	}
	switch {
	case t.Transport[0] == "tcp":
		return "TCP on a fabric declared for RDMA, as transport asks for"
	case t.Engine == "weft":
		return "where RDMA cannot be had it is TCP, which the plan, verify and the report then show as DEGRADED, with the reason"
	}
	return ""
}

// later refuses what the language describes and nothing keeps yet.
func (x *expansion) later() {
	for i, r := range x.model.Rollouts {
		if i > 0 {
			x.refuse(r.Range, r.Addr, "more than one rollout at a time")
		}
	}
	for _, r := range x.model.Removed {
		if r.Mode == "forget" && !devices(r.From) {
			x.refuse(r.At("mode"), r.Addr, `mode = "forget" for a part of a device`)
		}
	}
}

// devices reports whether an address is that of devices, or of a module.
func devices(address string) bool {
	_, rest := inventory.ModulePath(address + ".")
	return rest == "" || strings.HasPrefix(rest, "server.") || strings.HasPrefix(rest, "switch.") || strings.HasPrefix(rest, "vcenter.")
}
