package nic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// DSCP keeps the priorities that one NIC port gives to the DSCPs of a fabric.
// What other DSCPs are mapped to is left alone, but for what weft itself mapped
// before.
type DSCP struct {
	PCI       string // address of the NIC port: 0000:41:00.0
	Interface string `json:"-"` // observed: the name it has today
	Map       []Marking

	Gone []Marking `json:",omitempty"` // that weft made before, and that are declared no more

	past host.Past[DSCP] // what there was in the place of Gone; zero: not known
}

// DSCPKind is the kind dscp.
func DSCPKind() *host.Kind[DSCP] {
	return &host.Kind[DSCP]{
		Name: "dscp", Risky: true, Port: dscpPort,
		Looks: (*DSCP).Looks, Parse: (*DSCP).Parse, Diff: (*DSCP).Diff, Steps: (*DSCP).Steps,
		About: (*DSCP).About, Boot: (*DSCP).Boot, Self: (*DSCP).Self, All: (*DSCP).All,
		Partial: host.Partial[DSCP]{Follow: (*DSCP).follow, Since: (*DSCP).since, Settle: (*DSCP).settle},
		Special: host.Special[DSCP]{Amid: (*DSCP).amid},
	}
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

// speaksOf reports whether the state says something about a DSCP.
func (d *DSCP) speaksOf(dscp int) bool {
	return slices.ContainsFunc(slices.Concat(d.Map, d.Gone), func(m Marking) bool { return m.DSCP == dscp })
}

// of are the markings of a DSCP.
func (d *DSCP) of(dscp int) []Marking {
	return slices.DeleteFunc(slices.Clone(d.Map), func(m Marking) bool { return m.DSCP != dscp })
}

// towards is the state with what becomes of Gone, where other is what is there.
func (d *DSCP) towards(other *DSCP) *DSCP {
	if len(d.Gone) == 0 {
		return d
	}
	other = host.Some(other)
	out := *d
	out.Gone = nil
	out.Map = slices.Clone(d.Map)
	for dscp := range 64 {
		if !d.speaksOf(dscp) || d.priorities(dscp) != "" {
			continue
		}
		is := other.of(dscp)
		ours := (len(is) > 0 || d.past.Half) && !slices.ContainsFunc(is, func(m Marking) bool { return !slices.Contains(d.Gone, m) })
		switch {
		case d.past.Firm || ours && d.past.Former != nil:
			out.Map = append(out.Map, d.past.Former.of(dscp)...)
		case ours || d.past.Former != nil:
			out.Map = append(out.Map, is...)
		}
	}
	sortMarkings(out.Map)
	return &out
}

func (d *DSCP) follow(p host.Past[DSCP]) {
	d.Gone, d.past = nil, p
	for _, m := range slices.Concat(p.Applied.Map, p.Applied.Gone) {
		if !slices.Contains(d.Map, m) && !slices.Contains(d.Gone, m) {
			d.Gone = append(d.Gone, m)
		}
	}
	sortMarkings(d.Gone)
}

func (d *DSCP) amid(applied, before *DSCP) *DSCP {
	out := *d
	out.Map = nil
	for dscp := range 64 {
		is := d.of(dscp)
		if applied.speaksOf(dscp) && !slices.ContainsFunc(is, func(m Marking) bool { return !slices.Contains(applied.Gone, m) }) {
			is = host.Some(before).of(dscp)
		}
		out.Map = append(out.Map, is...)
	}
	return &out
}

func (d *DSCP) since(applied, former, have *DSCP) *DSCP {
	out := &DSCP{PCI: d.PCI}
	for dscp := range 64 {
		switch {
		case !d.speaksOf(dscp):
		case applied.speaksOf(dscp):
			out.Map = append(out.Map, former.of(dscp)...)
		default:
			out.Map = append(out.Map, have.of(dscp)...)
		}
	}
	return out
}

func (d *DSCP) settle(former *DSCP) {
	d.Gone = nil
	if former != nil {
		former.Map = slices.DeleteFunc(former.Map, func(m Marking) bool { return !d.speaksOf(m.DSCP) })
	}
}

func (d *DSCP) look() remote.Look {
	return remote.Look{PCI: d.PCI, Args: []string{"dcb", "-j", "app", "show", "dev", "{if}"}}
}

func (d *DSCP) Looks() []remote.Look { return []remote.Look{d.look()} }

// Parse: it keeps only the DSCPs that are declared, or were.
func (d *DSCP) Parse(s remote.Seen) (*DSCP, error) {
	name, out, err := see.OutputOn(s, d.PCI, d.look())
	if err != nil {
		return nil, err
	}
	// Since iproute2 6.5 an entry has a third element that means nothing.
	var got struct {
		Entries [][]json.RawMessage `json:"dscp_prio"`
	}
	bad := fmt.Errorf("dcb -j app show dev %s answers %q", name, out)
	if err := see.JSON(out, &got); err != nil {
		return nil, bad
	}
	have := &DSCP{PCI: d.PCI, Interface: name}
	for _, e := range got.Entries {
		var m Marking
		if len(e) < 2 || json.Unmarshal(e[0], &m.DSCP) != nil || json.Unmarshal(e[1], &m.Priority) != nil {
			return nil, bad
		}
		if d.speaksOf(m.DSCP) {
			have.Map = append(have.Map, m)
		}
	}
	sortMarkings(have.Map)
	return have, nil
}

// priorities are those of a DSCP: one, or several where an operator mapped it
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

// Diff: absence is a port that maps none of them.
func (d *DSCP) Diff(have *DSCP) []plan.Change {
	d, have = host.Some(d).towards(have), host.Some(have).towards(d)
	all := slices.Concat(d.Map, have.Map)
	sortMarkings(all)
	var out []plan.Change
	for i, m := range all {
		if i == 0 || m.DSCP != all[i-1].DSCP {
			out = append(out, plan.Changed("dscp."+strconv.Itoa(m.DSCP), have.priorities(m.DSCP), d.priorities(m.DSCP), plan.ImpactTraffic)...)
		}
	}
	return out
}

// Steps: DSCPs that are not mapped yet come first: mlx5 trusts
// DSCP while there is any entry, so that it need not stop in between.
func (d *DSCP) Steps(have *DSCP) []remote.Step {
	d, have = host.Some(d).towards(have), host.Some(have).towards(d)
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
	stale = slice.Filter(have.Map, func(m Marking) bool { return !slices.Contains(d.Map, m) })
	return slices.Concat(app("add", name, fresh), app("del", name, stale), app("add", name, moved))
}

// app are commands about entries of the APP table, one for each: dcb stops at
// the first that is refused, and an undo must go as far as it can.
func app(verb, name string, list []Marking) []remote.Step {
	return slice.Map(list, func(m Marking) remote.Step { return host.Run("dcb", "app", verb, "dev", name, "dscp-prio", m.String()) })
}

func (d *DSCP) About() string { return d.PCI }

// Boot: an entry that is there already cannot be added.
func (d *DSCP) Boot() []string {
	var lines []string
	for _, line := range dcbLines(d.PCI, d.Steps(&DSCP{Interface: anyNIC})) {
		gone := strings.Replace(strings.TrimPrefix(line, "do_ "), "app add", "app del", 1)
		lines = append(lines, gone+" 2>/dev/null", line)
	}
	return lines
}

// Self: all entries of the code points that are declared.
func (d *DSCP) Self(s remote.Seen) []host.Object {
	have, err := d.Parse(s)
	if err != nil {
		return nil
	}
	return have.objects()
}

func (d *DSCP) All(s remote.Seen) []host.Object {
	every := &DSCP{PCI: d.PCI}
	for dscp := range 64 {
		every.Map = append(every.Map, Marking{DSCP: dscp})
	}
	have, err := every.Parse(s)
	if err != nil {
		return nil
	}
	return have.objects()
}

func (d *DSCP) objects() (list []host.Object) {
	return slice.Map(d.Map, func(m Marking) host.Object { return host.Object{Kind: "dscp", Name: d.Interface + " " + m.String()} })
}

func dscpPort(r *inventory.RNIC) *DSCP {
	if !classful(r) {
		return nil
	}
	if d := newDSCP(r.Place(), r.Fabric.Classes); len(d.Map) > 0 {
		return d
	}
	return nil
}
