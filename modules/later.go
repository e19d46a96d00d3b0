package modules

import (
	"strings"

	"weft/inventory"
)

// later refuses what the language describes and nothing keeps yet.
func (x *expansion) later() {
	for i, r := range x.model.Rollouts {
		if i > 0 {
			x.refuse(r.Range, r.Addr, "more than one rollout at a time")
		}
	}
	for _, r := range x.model.Removed {
		if r.Mode == "forget" && !devices(r.From) {
			x.refuse(r.At("mode"), r.Addr, `mode = "forget" for less than a device`)
		}
	}
}

// devices reports whether an address is that of devices, or of a module.
func devices(address string) bool {
	_, rest := inventory.ModulePath(address + ".")
	return rest == "" || strings.HasPrefix(rest, "server.") || strings.HasPrefix(rest, "switch.") || strings.HasPrefix(rest, "vcenter.")
}
