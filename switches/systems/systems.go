// Package systems lists the switch systems that weft speaks to.
package systems

import (
	"slices"

	"weft/internal/slice"
	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// All are the switch systems that weft speaks to.
func All() []*switches.OS { return []*switches.OS{nxos.OS(), comware.OS()} }

// Named is the one of that name; nil: weft does not speak to it.
func Named(name string) *switches.OS {
	all := All()
	if i := slices.IndexFunc(all, func(o *switches.OS) bool { return o.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// Names are the names of All, as files and flags write them.
func Names() []string {
	return slice.Map(All(), func(o *switches.OS) string { return o.Name })
}
