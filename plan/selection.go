package plan

import (
	"slices"
	"strings"

	"weft/internal/selector"
	"weft/internal/slice"
)

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

// device reports whether a device is selected, or something on it by name.
func (s Selection) device(address string) bool {
	if s.Only != nil {
		return slices.ContainsFunc(s.Only, func(id ID) bool { return id.Device == address })
	}
	for _, t := range s.Exclude {
		if selector.Covers(t, address) {
			return false
		}
	}
	for _, t := range s.Target {
		if selector.Covers(t, address) || strings.HasPrefix(t, address+"/") {
			return true
		}
	}
	return len(s.Target) == 0
}

func names(list []string, id ID) bool {
	return slices.ContainsFunc(list, func(t string) bool { return selector.Covers(t, id.Device) || t == id.String() })
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

// Unmatched lists the selection's addresses that name nothing. What is no longer
// declared stands in ledgers only: p is the plan, which knows it; before there is
// one (nil), what may be on a device of the input is not listed.
func (in *Input) Unmatched(p *Plan) []string {
	return slice.Filter(slices.Concat(in.Select.Target, in.Select.Exclude), func(t string) bool { return !in.matched(t, p) })
}

func (in *Input) matched(t string, p *Plan) bool {
	if slices.ContainsFunc(in.Items, func(i Item) bool { return names([]string{t}, i.ID) }) {
		return true
	}
	for device := range in.Devices {
		if selector.Covers(t, device) || p == nil && strings.HasPrefix(t, device+"/") {
			return true
		}
	}
	return p != nil && slices.ContainsFunc(p.Steps, func(s PlannedStep) bool { return s.ID.String() == t })
}

// CutOff lists what the selection leaves out although nobody named it: it needs
// what is excluded.
func (in *Input) CutOff() []ID {
	if len(in.Select.Exclude) == 0 {
		return nil
	}
	whole := *in
	whole.Select.Exclude = nil
	all, chosen := whole.chosen(), in.chosen()
	var list []ID
	for i, item := range in.Items {
		if all[i] && !chosen[i] && !names(in.Select.Exclude, item.ID) {
			list = append(list, item.ID)
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
		needs := slice.Filter(item.Needs, func(id ID) bool { return all[id] })
		items[i].Needs = needs
	}
}
