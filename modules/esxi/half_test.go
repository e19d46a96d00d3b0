package esxi

import (
	"net/netip"
	"testing"

	"weft/plan"
)

// What is left of a switch or a port whose making ended halfway is gone on with by the same
// plan: each change that is left is one of it, from the same value, and no worse.
func TestHalfMade(t *testing.T) {
	vs := &VSwitch{Name: "weft-a", PCI: "0000:41:00.0", MTU: 9000, nic: "vmnic1"}
	vmk := &VMKernel{ID: "vmk2", PortGroup: "weft-a", MTU: 9000, Address: netip.MustParsePrefix("10.50.1.21/24")}
	group := &PortGroup{Name: "weft-a", VSwitch: "weft-a", PCI: "0000:41:00.0", nic: "vmnic1"}
	for name, test := range map[string]struct{ planned, left []plan.Change }{
		"switch added":     {vs.Diff(nil), vs.Diff(&VSwitch{Name: "weft-a", PCI: vs.PCI, MTU: 1500, Uplinks: []string{}, nic: "vmnic1"})},
		"MTU set":          {vs.Diff(nil), vs.Diff(&VSwitch{Name: "weft-a", PCI: vs.PCI, MTU: 9000, Uplinks: []string{}, nic: "vmnic1"})},
		"port added":       {vmk.Diff(nil), vmk.Diff(&VMKernel{ID: "vmk2", PortGroup: "weft-a", MTU: 9000})},
		"port group added": {group.Diff(nil), group.Diff(&PortGroup{Name: "weft-a", VSwitch: "weft-a", PCI: group.PCI, Active: []string{"vmnic1"}, nic: "vmnic1"})},
	} {
		for _, c := range test.left {
			covered := false
			for _, p := range test.planned {
				covered = covered || p == c
			}
			if !covered {
				t.Errorf("%s: %+v is none of %+v", name, c, test.planned)
			}
		}
	}
}
