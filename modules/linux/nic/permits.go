package nic

import "weft/internal/remote"

// Permits are the looks of this package that a reader does for others than root.
func Permits() []remote.Permit {
	return []remote.Permit{{What: "congestion control of a NIC", Look: (&ECN{}).look(), Each: "*"}}
}
