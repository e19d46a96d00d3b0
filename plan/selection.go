package plan

import "slices"

// A Selection narrows a plan to a part of the items. The zero value is all.
// An address in it is that of a device, of a block with all of its instances,
// of a module, or device/kind.name of one resource.
type Selection struct {
	Target  []string `json:"target,omitempty"`  // only these, and what they need
	Exclude []string `json:"exclude,omitempty"` // not these, nor what needs them
	Only    []ID     `json:"only,omitempty"`    // these and nothing else
}

func (s Selection) narrow() bool { return len(s.Target)+len(s.Exclude) > 0 || s.Only != nil }

// picks reports whether the resource is selected by its own name.
func (s Selection) picks(id ID) bool {
	if s.Only != nil {
		return slices.Contains(s.Only, id)
	}
	return (len(s.Target) == 0 || names(s.Target, id)) && !names(s.Exclude, id)
}

// device reports whether a whole device is selected.
func (s Selection) device(address string) bool {
	if s.Only != nil {
		return slices.ContainsFunc(s.Only, func(id ID) bool { return id.Device == address })
	}
	for _, t := range s.Exclude {
		if covers(t, address) {
			return false
		}
	}
	for _, t := range s.Target {
		if covers(t, address) {
			return true
		}
	}
	return len(s.Target) == 0
}

func names(list []string, id ID) bool {
	for _, t := range list {
		if covers(t, id.Device) || t == id.String() {
			return true
		}
	}
	return false
}

// chosen says which of the items are selected: targets with all they need,
// less what is excluded with all that needs it.
func (in *Input) chosen() []bool {
	chosen := make([]bool, len(in.Items))
	if !in.Select.narrow() {
		for i := range chosen {
			chosen[i] = true
		}
		return chosen
	}
	if in.Select.Only != nil {
		only := make(map[ID]bool, len(in.Select.Only))
		for _, id := range in.Select.Only {
			only[id] = true
		}
		for i, item := range in.Items {
			chosen[i] = only[item.ID]
		}
		return chosen
	}
	g, err := newGraph(in.Items)
	if err != nil {
		return chosen // take has reported it
	}
	out := make([]bool, len(in.Items))
	for _, i := range g.order {
		out[i] = names(in.Select.Exclude, in.Items[i].ID)
		for _, n := range g.needs[i] {
			out[i] = out[i] || out[n]
		}
	}
	for k := len(g.order) - 1; k >= 0; k-- {
		i := g.order[k]
		chosen[i] = chosen[i] || len(in.Select.Target) == 0 || names(in.Select.Target, in.Items[i].ID)
		if chosen[i] {
			for _, n := range g.needs[i] {
				chosen[n] = true
			}
		}
	}
	for i := range chosen {
		chosen[i] = chosen[i] && !out[i]
	}
	return chosen
}

// Unmatched lists the selection's addresses that name nothing.
func (in *Input) Unmatched() []string {
	var list []string
	for _, t := range slices.Concat(in.Select.Target, in.Select.Exclude) {
		found := slices.ContainsFunc(in.Items, func(item Item) bool { return names([]string{t}, item.ID) })
		for address := range in.Devices { // one of which nothing is wished any more has things to give back
			found = found || covers(t, address)
		}
		if !found {
			list = append(list, t)
		}
	}
	return list
}

// keepNeeds drops needs that are not among the items.
func keepNeeds(items []Item) {
	all := make(map[ID]bool, len(items))
	for _, item := range items {
		all[item.ID] = true
	}
	for i, item := range items {
		var needs []ID
		for _, id := range item.Needs {
			if all[id] {
				needs = append(needs, id)
			}
		}
		items[i].Needs = needs
	}
}
