package modules

import (
	"strings"

	"weft/inventory"
)

// later refuses what the language describes and nothing keeps yet.
func (x *expansion) later() {
	for _, r := range x.model.Removed {
		if r.Mode == "forget" && !devices(r.From) {
			x.refuse(r.At("mode"), r.Addr, `mode = "forget" for less than a device`)
		}
	}
	for _, v := range x.model.Validations {
		for _, m := range v.Metrics {
			if m.Limit != nil {
				x.refuse(m.At("max"), v.Addr, "metric "+m.Name+": a limit made of observed values")
			}
		}
	}
	for _, b := range blocks(x.model) {
		if b.Protect {
			x.refuse(b.At("protect"), b.Addr, "protect = true")
		}
		if len(b.IgnoreDrift) > 0 {
			x.refuse(b.At("ignore_drift"), b.Addr, "ignore_drift")
		}
	}
}

// blocks are those that stand for something on devices.
func blocks(m *inventory.Model) []*inventory.Block {
	var list []*inventory.Block
	for _, b := range m.Fabrics {
		list = append(list, &b.Block)
	}
	for _, b := range m.Switches {
		list = append(list, &b.Block)
	}
	for _, b := range m.Servers {
		list = append(list, &b.Block)
	}
	for _, b := range m.Links {
		list = append(list, &b.Block)
	}
	for _, b := range m.Pools {
		list = append(list, &b.Block)
	}
	for _, b := range m.Volumes {
		list = append(list, &b.Block)
	}
	for _, b := range m.Targets {
		list = append(list, &b.Block)
	}
	for _, b := range m.Initiators {
		list = append(list, &b.Block)
	}
	return list
}

// devices reports whether an address is that of devices, or of a module.
func devices(address string) bool {
	_, rest := modulePath(address + ".")
	return rest == "" || strings.HasPrefix(rest, "server.") || strings.HasPrefix(rest, "switch.")
}
