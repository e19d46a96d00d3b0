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

// A DesiredPort is a port of a fabric, and the VLAN whose tags the NIC at its other end
// sends; 0: none.
type DesiredPort struct {
	Name string
	VLAN int
}

// Desired is what a fabric asks of a switch.
func Desired(os *switches.OS, owner string, f *inventory.Fabric, ports []DesiredPort) switches.Intent {
	want := switches.Intent{Owner: switches.Owner{Name: owner}}
	desireClasses(&want, os, f)
	for _, p := range ports {
		desirePort(&want, f, p)
	}
	return want
}

func desireClasses(want *switches.Intent, os *switches.OS, f *inventory.Fabric) {
	want.Name = switches.ObjectName(want.Owner.Name, f.OnDevices())
	want.Classes = Classes(f)
	if os.Lacks(switches.Headrooms) != nil {
		for i := range want.Classes {
			want.Classes[i].Headroom = nil
		}
	}
	if dog := f.PFCWatchdog; dog != nil && f.Lossless() && os.Lacks(switches.Watchdogs) == nil {
		want.Watchdog = dog.Action
	}
}

func desirePort(want *switches.Intent, f *inventory.Fabric, port DesiredPort) switches.Port {
	classed := len(want.Classes) > 0
	p := switches.Port{Name: port.Name, MTU: f.MTU, PFC: f.Lossless(), Classify: classed, Queue: classed, Exists: true,
		Watchdog: want.Watchdog != "",
		Headroom: slices.ContainsFunc(want.Classes, func(k switches.Class) bool { return k.Headroom != nil })}
	if classed && port.VLAN != 0 {
		p.ByTag, p.VLAN, want.Tagged = true, port.VLAN, true
	}
	want.Ports = append(want.Ports, p)
	want.LLDP = true // cables are proven with it
	return p
}

// Carry makes the switch one of a fabric, and is the resource of its classes; nil:
// it has none, and nothing is to be told apart.
func (d *Device) Carry(f *inventory.Fabric) plan.Resource {
	desireClasses(&d.want, d.cfg.OS, f)
	if len(d.want.Classes) == 0 {
		return nil
	}
	return &qos{d}
}

// Link is the resource of a port through which the fabric goes. Where the NIC at its other
// end marks packets in the tag of a VLAN, which is not 0 then, the port tells them apart by it.
func (d *Device) Link(f *inventory.Fabric, name string, vlan int) plan.Resource {
	return &port{d, desirePort(&d.want, f, DesiredPort{name, vlan})}
}
