package modules

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory"
	"weft/inventory/problem"
	"weft/modules/leaf"
	"weft/plan"
	"weft/switches"
	"weft/switches/systems"
)

// system is the switch system of a name; nil: weft does not speak to it.
func (x *expansion) system(name string) *switches.OS {
	if x.env.System != nil {
		return x.env.System(name)
	}
	return systems.Named(name)
}

func (x *expansion) newSwitch(os *switches.OS, sw *inventory.Switch) *leaf.Device {
	cfg := leaf.Config{
		OS: os, Name: sw.Addr, Host: sw.Host, Serial: sw.Serial, Adopt: sw.Adopt,
		Dial: x.env.Terminal(sw), Timeout: connection(x.model, sw.Connection).CommandTimeout,
		Confirm: sw.Safety.Confirm, Save: sw.Safety.Save != "never", SaveAfterSoak: sw.Safety.Save == "after-soak",
		Owner: x.model.Name, Holder: x.env.Holder, Mine: x.env.Mine, Settle: x.env.Settle,
		Known: x.hardware(),
	}
	if x.env.Say != nil {
		cfg.Say = func(text string) { x.env.Say(sw.Addr, text) }
	}
	return leaf.New(cfg)
}

// switches expands one switch: its classes, then its ports.
func (x *expansion) switches(sw *inventory.Switch) {
	if sw.Unmanaged {
		return
	}
	os := x.system(sw.OS)
	if os == nil {
		x.refuse(sw.At("os"), sw.Addr, fmt.Sprintf("os = %q", sw.OS))
		return
	}
	declared := sw.Safety.Confirm != 0 || sw.Safety.ConfirmNone
	switch {
	case sw.Fabric == nil: // it is read all the same: what weft did there is pruned
		if pruned := *sw; !declared {
			pruned.Safety.Confirm = leaf.UsualConfirm
			sw = &pruned
		}
	case !declared:
		x.report(reason{problem.Missing, "commit_confirm is missing", sw.At("safety"),
			`a change without a timed revert must be requested explicitly: set safety { commit_confirm = "5m" }, or "none"`}, sw.Addr)
		return
	case sw.Safety.Method != "":
		x.refuse(sw.At("safety.commit_method"), sw.Addr, "commit_method: the first method that the switch has is used")
		return
	}
	d := x.newSwitch(os, sw)
	x.fleet.Devices[sw.Addr] = newSwitchNode(d)
	if sw.Fabric != nil {
		x.carry(d, sw)
	}
}

// carry gives a switch what its fabric asks of it.
func (x *expansion) carry(d *leaf.Device, sw *inventory.Switch) {
	var classes []plan.ID
	if r := d.Carry(sw.Fabric); r != nil {
		classes = append(classes, x.add(plan.ID{Device: sw.Addr, Kind: "qos", Name: sw.Fabric.OnDevices()}, r, sw.Range))
	}
	link := func(at hcl.Range, here, there inventory.LinkEnd) {
		if here.Switch != sw {
			return
		}
		vlan := 0
		if there.RNIC != nil {
			vlan = there.RNIC.VLAN
		}
		id := x.add(plan.ID{Device: sw.Addr, Kind: "port", Name: here.Port}, d.Link(sw.Fabric, here.Port, vlan), at, classes...)
		if there.RNIC != nil {
			x.ports[there.RNIC] = id
		}
	}
	for _, l := range x.model.Links {
		link(l.Range, l.From, l.To)
		link(l.Range, l.To, l.From)
	}
}
