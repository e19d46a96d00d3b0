package nic

import "weft/internal/remote"

// Permits are the looks of this package that a reader does for others than root.
func Permits() []remote.Permit {
	return []remote.Permit{{What: "congestion control of a NIC", Look: (&ECN{PCI: "0000:00:00.0"}).look(), Each: "*"},
		{What: "congestion control of a NIC known by its MAC address", Look: (&ECN{}).look(), Each: "*"}}
}
