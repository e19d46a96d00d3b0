package switches

import "slices"

// All are the switch systems that weft speaks to.
func All() []*OS { return []*OS{NXOS(), Comware()} }

// Named is the system of a name; nil: weft does not speak to it.
func Named(name string) *OS {
	all := All()
	if i := slices.IndexFunc(all, func(o *OS) bool { return o.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}
