package prove

import "weft/inventory"

import "weft/internal/slice"

// A Round is what is measured at the same time.
type Round []string

// Schedule says in which rounds everything would be measured, without asking
// anybody.
func Schedule(m *inventory.Model, names []string) ([]Round, error) {
	validations, err := chosen(m, names)
	if err != nil {
		return nil, err
	}
	all, _ := thin(flows(m, validations, len(names) > 0), validations)
	var out []Round
	for _, round := range rounds(all) {
		var r Round
		for _, i := range round {
			r = append(r, all[i].String())
		}
		out = append(out, r)
	}
	list, _ := loadings(m, validations, nil)
	ends := slice.Map(list, func(l loading) flow { return l.flow })
	for _, round := range rounds(ends) {
		var r Round
		for _, i := range round {
			r = append(r, list[i].Pair()+" ("+list[i].v.Name+")")
		}
		out = append(out, r)
	}
	return out, nil
}

// rounds divides flows so that within a round no server, and so no NIC, carries
// more than one. Each flow comes in the first round in which both of its ends
// are free: with every initiator reading from every target there are at most
// twice as many rounds as the busiest server has flows.
func rounds(all []flow) [][]int {
	var out [][]int
	var busy []map[any]bool // by end: a server, or the port of an external target
	free := func(round int, f flow) bool { return !busy[round][f.from] && !busy[round][f.far()] }
	first := map[any]int{} // round before which an end is never free
	for i, f := range all {
		n := max(first[f.from], first[f.far()])
		for n < len(out) && !free(n, f) {
			n++
		}
		if n == len(out) {
			out, busy = append(out, nil), append(busy, map[any]bool{})
		}
		out[n] = append(out[n], i)
		for _, s := range []any{f.from, f.far()} {
			busy[n][s] = true
			for first[s] < len(out) && busy[first[s]][s] {
				first[s]++
			}
		}
	}
	return out
}

// String names a flow for people.
func (f flow) String() string {
	row := &Row{Initiator: f.from.Addr, Target: f.target.Addr}
	if f.local {
		row.Transport = localTransport
	}
	row.Plane, row.At = f.plane()
	row.Remote = f.portal.Address.String()
	if f.wire != "" {
		return row.Pair() + " (" + f.wire + ")"
	}
	return row.Pair()
}
