package system

import "weft/internal/remote"

// Permits are the looks of this package that a reader does for others than root.
func Permits() []remote.Permit {
	return []remote.Permit{
		{What: "parameters of modules", Look: remote.Look{File: "/sys/module/*/parameters/*", Root: true}},
		{What: "whether a path is there", Look: remote.Look{Args: []string{"test", "-e"}, Root: true}, Each: "/*"},
	}
}
