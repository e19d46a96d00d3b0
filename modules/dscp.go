package modules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/inventory"
	"weft/plan"
)

// DSCP keeps the priorities that one NIC port gives to the DSCPs of a fabric.
// What other DSCPs are mapped to is left alone.
type DSCP struct {
	PCI       string // address of the NIC port: 0000:41:00.0
	Interface string `json:"-"` // observed: the name it has today
	Map       []Marking
}

// A Marking maps a DSCP to a priority.
type Marking struct{ DSCP, Priority int }

func (m Marking) String() string { return fmt.Sprintf("%d:%d", m.DSCP, m.Priority) }

// newDSCP maps the DSCPs of the classes to their priorities.
func newDSCP(pci string, classes []*inventory.TrafficClass) *DSCP {
	d := &DSCP{PCI: pci}
	for _, c := range classes {
		for _, dscp := range c.DSCP {
			d.Map = append(d.Map, Marking{dscp, c.Priority})
		}
	}
	sortMarkings(d.Map)
	return d
}

func sortMarkings(list []Marking) {
	slices.SortFunc(list, func(a, b Marking) int {
		return cmp.Or(a.DSCP-b.DSCP, a.Priority-b.Priority)
	})
}

func (d *DSCP) look() remote.Look {
	return remote.Look{PCI: d.PCI, Args: []string{"dcb", "-j", "app", "show", "dev", "{if}"}}
}

// Looks implements kind.
func (d *DSCP) Looks() []remote.Look { return []remote.Look{d.look()} }

// Parse implements kind. It keeps the DSCPs that are declared only.
func (d *DSCP) Parse(s remote.Seen) (*DSCP, error) {
	name, out, err := outputOn(s, d.PCI, d.look())
	if err != nil {
		return nil, err
	}
	// Since iproute2 6.5 an entry has a third element that means nothing.
	var got struct {
		Entries [][]json.RawMessage `json:"dscp_prio"`
	}
	bad := fmt.Errorf("dcb -j app show dev %s answers %q", name, out)
	if err := json.Unmarshal(out, &got); err != nil {
		return nil, bad
	}
	have := &DSCP{PCI: d.PCI, Interface: name}
	for _, e := range got.Entries {
		var m Marking
		if len(e) < 2 || json.Unmarshal(e[0], &m.DSCP) != nil || json.Unmarshal(e[1], &m.Priority) != nil {
			return nil, bad
		}
		if d.priorities(m.DSCP) != "" {
			have.Map = append(have.Map, m)
		}
	}
	sortMarkings(have.Map)
	return have, nil
}

// priorities are those of a DSCP: one, or several where somebody mapped it
// more than once; "" is none.
func (d *DSCP) priorities(dscp int) string {
	var list []string
	for _, m := range d.Map {
		if m.DSCP == dscp {
			list = append(list, strconv.Itoa(m.Priority))
		}
	}
	return strings.Join(list, ",")
}

// Diff implements kind. Absence is a port that maps none of them.
func (d *DSCP) Diff(have *DSCP) []plan.Change {
	d, have = some(d), some(have)
	all := slices.Concat(d.Map, have.Map)
	sortMarkings(all)
	var out []plan.Change
	for i, m := range all {
		if i == 0 || m.DSCP != all[i-1].DSCP {
			out = append(out, change("dscp."+strconv.Itoa(m.DSCP), have.priorities(m.DSCP), d.priorities(m.DSCP), plan.ImpactTraffic)...)
		}
	}
	return out
}

// Steps implements kind. DSCPs that are not mapped yet come first: mlx5 trusts
// DSCP while there is any entry, so that it need not stop in between.
func (d *DSCP) Steps(have *DSCP) []remote.Step {
	d, have = some(d), some(have)
	name := cmp.Or(d.Interface, have.Interface)
	var fresh, stale, moved []Marking
	for _, m := range d.Map {
		switch {
		case slices.Contains(have.Map, m):
		case have.priorities(m.DSCP) == "":
			fresh = append(fresh, m)
		default:
			moved = append(moved, m)
		}
	}
	for _, m := range have.Map {
		if !slices.Contains(d.Map, m) {
			stale = append(stale, m)
		}
	}
	return slices.Concat(app("add", name, fresh), app("del", name, stale), app("add", name, moved))
}

// app are commands about entries of the APP table, one for each: dcb stops at
// the first that is refused, and an undo must go as far as it can.
func app(verb, name string, list []Marking) []remote.Step {
	var steps []remote.Step
	for _, m := range list {
		steps = append(steps, run("dcb", "app", verb, "dev", name, "dscp-prio", m.String()))
	}
	return steps
}

// Verify implements kind: the entries read back are its proof here; that
// packets arrive in their queues is proven by counters under load.
func (d *DSCP) Verify(context.Context, remote.Host) error { return nil }
