//go:build unix

package simserver

import (
	"fmt"
	"slices"
)

// ethtool is a part of ethtool's: -i, who drives the card, -S, what it has
// counted, --show-fec, -m, the optic, and -a and -A, global pause. As mlx5 does it, the card comes up with pause in both directions and no autonegotiation of it.
func ethtool(x *call) int {
	if len(x.args) < 2 {
		return x.notSimulated(1)
	}
	verb, name, args := x.args[0], x.args[1], x.args[2:]
	i, ok := x.server.iface(name)
	switch {
	case !slices.Contains([]string{"-i", "-S", "-a", "-A", "-m", "--show-fec"}, verb) || verb != "-A" && len(args) > 0:
		return x.notSimulated(1)
	case i.bond.mode != "": // its driver answers of itself
		return x.notSimulated(1)
	case !ok:
		return x.fail(76, "netlink error: no device matches name (offset 24)\nnetlink error: No such device")
	case verb == "-m": // cables of the lab have no memory to read
		return x.fail(76, "netlink error: Operation not supported")
	case verb == "--show-fec" && (i.loop || i.Plain || i.infiniBand()):
		return x.fail(76, "netlink error: Operation not supported")
	case verb == "--show-fec": // ethtool(8) 6.1: what mlx5 runs from 100G on
		fmt.Fprintf(x.stdout, "FEC parameters for %s:\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\n", name)
		return 0
	case verb == "-i" && i.loop:
		return x.fail(71, "Cannot get driver information: Operation not supported")
	case verb == "-i":
		card := i.kind()
		fmt.Fprintf(x.stdout, "driver: %s\nversion: %s\nfirmware-version: %s\nexpansion-rom-version: \nbus-info: %s\n",
			card.driver, kernelRelease, card.firmware, i.PCI)
		return 0
	case verb == "-S" && (i.loop || i.Plain):
		return x.fail(94, "no stats available")
	case verb == "-S":
		return x.statistics(&i)
	case i.loop || i.Plain:
		return x.fail(76, "netlink error: Operation not supported")
	case verb == "-a":
		fmt.Fprintf(x.stdout, "Pause parameters for %s:\nAutonegotiate:\t%s\nRX:\t\t%s\nTX:\t\t%s\n\n",
			name, onOff(i.pause[0]), onOff(i.pause[1]), onOff(i.pause[2]))
		return 0
	case !x.user.root:
		return x.fail(1, "netlink error: Operation not permitted")
	}
	set := i.pause
	for n := 0; n < len(args); n += 2 {
		which := slices.Index([]string{"autoneg", "rx", "tx"}, args[n])
		if which < 0 || n+1 == len(args) || args[n+1] != "on" && args[n+1] != "off" {
			return x.fail(22, "ethtool (%s): unknown parameter '%s'", verb, args[n])
		}
		set[which] = args[n+1] == "on"
	}
	if set == i.pause {
		return x.fail(78, "rx unmodified, ignoring\ntx unmodified, ignoring\nno pause parameters changed, aborting")
	}
	x.server.setIface(name, func(i *iface) { i.pause = set })
	return 0
}
