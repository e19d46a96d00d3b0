package guest

import (
	"fmt"
	"slices"
	"strconv"

	"weft/internal/pattern"
)

// A pciAddress is a bus, a slot on it and a function in the slot. Guests have
// only the domain 0000.
type pciAddress struct{ bus, slot, function int }

var pciForm = pattern.New(`^0000:([0-9a-f]{2}):([01][0-9a-f])\.([0-7])$`)

// The slots of bus 0 that are taken: the chip set, the management card, bridges,
// and what guests boot from.
const (
	managementSlot  = 0x02
	diskSlot        = 0x03
	firstBridgeSlot = 0x10
	lastBridgeSlot  = 0x17
	drivesSlot      = 0x18 // eight drives in each slot, so 0x1b is the last
	rngSlot         = 0x1d
	chainSlot       = 0x1f // of other buses: where the next one hangs
)

// parsePCI reads an address such as 0000:41:00.1.
func parsePCI(s string) (pciAddress, error) {
	f := pciForm.FindStringSubmatch(s)
	if f == nil {
		return pciAddress{}, fmt.Errorf("PCI address %q: guests have addresses such as 0000:41:00.0", s)
	}
	var n [3]int
	for i, text := range f[1:] {
		v, err := strconv.ParseInt(text, 16, 32)
		if err != nil {
			return pciAddress{}, fmt.Errorf("PCI address %q: %w", s, err)
		}
		n[i] = int(v)
	}
	a := pciAddress{n[0], n[1], n[2]}
	if a.bus == 0 && (a.slot <= diskSlot || a.slot >= firstBridgeSlot) || a.slot == chainSlot {
		return pciAddress{}, fmt.Errorf("PCI address %q: the guest's own devices are there", s)
	}
	return a, nil
}

// bridges gives the arguments that make buses with these numbers, and the name
// of each. The firmware gives numbers out as it meets bridges, the deepest
// first: so a run of buses without a gap is a chain of bridges, each in the last
// slot of the one before, and a run begins below a root of that number less one.
func bridges(buses []int) (args []string, names map[int]string, err error) {
	buses = slices.Compact(slices.Sorted(slices.Values(buses)))
	names = map[int]string{0: "pci.0"}
	before, slot := 0, firstBridgeSlot // bus 0 is there
	for _, bus := range buses {
		if bus == 0 {
			continue
		}
		name := fmt.Sprintf("bus%02x", bus)
		names[bus] = name
		switch {
		case bus != before+1: // brings a bridge of its own, which bears its name
			args = append(args, "-device", fmt.Sprintf("pxb,id=%s,bus=pci.0,addr=%02x.0,bus_nr=%d", name, slot, bus-1))
			slot++
		case bus == 1:
			args = append(args, "-device", fmt.Sprintf("pci-bridge,id=%s,bus=pci.0,addr=%02x.0,chassis_nr=%d,shpc=off", name, slot, bus))
			slot++
		default:
			args = append(args, "-device", fmt.Sprintf("pci-bridge,id=%s,bus=%s,addr=%02x.0,chassis_nr=%d,shpc=off", name, names[before], chainSlot, bus))
		}
		before = bus
	}
	if slot > lastBridgeSlot+1 {
		return nil, nil, fmt.Errorf("cards on %d PCI buses are more than a guest can have", len(buses))
	}
	return args, names, nil
}
