package leaf

import (
	"slices"

	"weft/internal/slice"
	"weft/inventory"
	"weft/plan"
	"weft/switches"
)

// Classes are the traffic classes of a fabric as switches are told of them, in
// the order of their priorities.
func Classes(f *inventory.Fabric) []switches.Class {
	out := slice.Map(f.Classes, func(c *inventory.TrafficClass) switches.Class { return class(f, c) })
	slices.SortStableFunc(out, func(a, b switches.Class) int { return a.Priority - b.Priority })
	return out
}

func class(f *inventory.Fabric, c *inventory.TrafficClass) switches.Class {
	out := switches.Class{
		Name: c.Name, DSCP: slices.Sorted(slices.Values(c.DSCP)), Priority: c.Priority,
		Bandwidth: c.Bandwidth, Strict: c.Strict, PFC: c.PFC && f.Mode != "lossy",
	}
	if c.ECN != nil {
		out.ECN = &switches.ECN{Min: c.ECN.Min, Max: c.ECN.Max, Probability: c.ECN.Probability}
	}
	if h := c.Headroom; h != nil && out.PFC {
		out.Headroom = &switches.Headroom{Size: h.Size, Xoff: h.Xoff, Xon: h.Xon}
	}
	return out
}

// Carry makes the switch one of a fabric, and is the resource of its classes; nil:
// it has none, and nothing is to be told apart.
func (d *Device) Carry(f *inventory.Fabric) plan.Resource {
	d.want.Name = switches.ObjectName(d.cfg.Owner, f.OnDevices())
	d.want.Classes = Classes(f)
	if d.cfg.OS.Lacks(switches.Headrooms) != nil {
		for i := range d.want.Classes {
			d.want.Classes[i].Headroom = nil
		}
	}
	if dog := f.PFCWatchdog; dog != nil && f.Lossless() && d.cfg.OS.Lacks(switches.Watchdogs) == nil {
		d.want.Watchdog = dog.Action
	}
	if len(d.want.Classes) == 0 {
		return nil
	}
	return &qos{d}
}

// Link is the resource of a port through which the fabric goes. Where the NIC at its other
// end marks packets in the tag of a VLAN, which is not 0 then, the port tells them apart by it.
func (d *Device) Link(f *inventory.Fabric, name string, vlan int) plan.Resource {
	classed := len(d.want.Classes) > 0
	p := switches.Port{Name: name, MTU: f.MTU, PFC: f.Lossless(), Classify: classed, Queue: classed, Exists: true,
		Watchdog: d.want.Watchdog != "",
		Headroom: slices.ContainsFunc(d.want.Classes, func(k switches.Class) bool { return k.Headroom != nil })}
	if classed && vlan != 0 {
		p.ByTag, p.VLAN, d.want.Tagged = true, vlan, true
	}
	d.want.Ports = append(d.want.Ports, p)
	d.want.LLDP = true // cables are proven with it
	return &port{d, p}
}
