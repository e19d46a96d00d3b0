package modules

import (
	"strings"
)

// later refuses what the language describes and nothing keeps yet.
func (x *expansion) later() {
	for _, r := range x.model.Removed {
		if r.Mode == "forget" && !devices(r.From) {
			x.refuse(r.At("mode"), r.Addr, `mode = "forget" for less than a device`)
		}
	}
}

// devices reports whether an address is that of devices, or of a module.
func devices(address string) bool {
	_, rest := modulePath(address + ".")
	return rest == "" || strings.HasPrefix(rest, "server.") || strings.HasPrefix(rest, "switch.")
}
