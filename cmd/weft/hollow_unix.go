//go:build unix

package main

import (
	"slices"

	"weft/internal/lab"
	"weft/inventory"
)

// hollow says which targets of the lab carry no I/O: the kernel's, on servers that
// are SIMULATED. Guests have kernels of their own.
func (a *app) hollow() func(*inventory.Target) string {
	if !a.lab {
		return nil
	}
	devices, err := lab.Status(a.dir)
	if err != nil {
		return nil // whoever measures will meet that
	}
	return func(t *inventory.Target) string {
		simulated := func(d lab.DeviceStatus) bool { return d.Kind == "server" && d.Name == t.Server.Host }
		if t.Engine != "nvmet" || t.Server == nil || !slices.ContainsFunc(devices, simulated) {
			return ""
		}
		return "the kernel's target of a SIMULATED server carries no I/O: measure with engine = \"weft\", or on guests (weft lab up --real)"
	}
}
