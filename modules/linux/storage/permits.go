package storage

import "weft/internal/remote"

// Permits are the looks of this package that a reader does for others than root.
func Permits() []remote.Permit {
	return []remote.Permit{
		{What: "physical volumes", Look: pvsLook()},
		{What: "volume groups", Look: vgsLook()},
		{What: "logical volumes", Look: lvsLook()},
		{What: "whether a drive is free", Look: driveLook(""), Each: drivePath("*")},
		{What: "arrays of md, and their halves", Look: mdLook(nil), Each: "/dev/*"},
	}
}
