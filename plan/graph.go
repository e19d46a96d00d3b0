package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A graph is a list of items with what each of them needs. Items are named by
// their positions from here on. Everything on it takes time and memory linear
// in items and needs; contract says where it may take more.
type graph struct {
	needs [][]int // per item, the items that come before it
	order []int   // a topological order
}

// newGraph resolves and orders the items. Every duplicate ID and every need
// that names nothing is reported at once; then a cycle, as its path.
func newGraph(items []Item) (*graph, error) {
	needs, err := resolve(items)
	if err != nil {
		return nil, err
	}
	order, cycle := sortNeeds(needs)
	if cycle != nil {
		return nil, cycleError(items, cycle)
	}
	return &graph{needs, order}, nil
}

// resolve turns the IDs of the needs into positions.
func resolve(items []Item) ([][]int, error) {
	var errs []error
	at := make(map[ID]int, len(items))
	total := 0
	for i, item := range items {
		total += len(item.Needs)
		if first, dup := at[item.ID]; dup {
			errs = append(errs, fmt.Errorf("%s is declared twice: at %s and at %s",
				item.ID, place(items[first].Range), place(item.Range)))
			continue
		}
		at[item.ID] = i
	}
	needs := make([][]int, len(items))
	all := make([]int, 0, total) // one allocation for every list of needs
	for i, item := range items {
		from := len(all)
		for _, id := range item.Needs {
			n, ok := at[id]
			if !ok {
				errs = append(errs, fmt.Errorf("%s (%s) needs %s, which is not declared",
					item.ID, place(item.Range), id))
				continue
			}
			all = append(all, n)
		}
		needs[i] = all[from:len(all):len(all)]
	}
	return needs, errors.Join(errs...)
}

// sortNeeds returns the positions so that each stands after all it needs.
// Beyond that they keep the order of the input: what is needed is pulled to
// the front of the first that needs it. If that is impossible it returns one
// cycle, each of whose members needs the next and the last needs the first.
func sortNeeds(needs [][]int) (order, cycle []int) {
	const (
		fresh = iota
		open  // on the path that is being walked
		done
	)
	type visit struct{ item, next int }
	state := make([]uint8, len(needs))
	order = make([]int, 0, len(needs))
	var path []visit // the walk is a loop: a chain of needs may be very long
	for root := range needs {
		if state[root] != fresh {
			continue
		}
		state[root] = open
		path = append(path[:0], visit{item: root})
		for len(path) > 0 {
			top := &path[len(path)-1]
			if top.next == len(needs[top.item]) {
				state[top.item] = done
				order = append(order, top.item)
				path = path[:len(path)-1]
				continue
			}
			need := needs[top.item][top.next]
			top.next++
			switch state[need] {
			case fresh:
				state[need] = open
				path = append(path, visit{item: need})
			case open:
				start := slices.IndexFunc(path, func(v visit) bool { return v.item == need })
				for _, v := range path[start:] {
					cycle = append(cycle, v.item)
				}
				return nil, cycle
			}
		}
	}
	return order, nil
}

// cycleError tells the cycle as a path that ends where it began.
func cycleError(items []Item, cycle []int) error {
	var b strings.Builder
	for _, i := range cycle {
		fmt.Fprintf(&b, "%s (%s) → ", items[i].ID, place(items[i].Range))
	}
	first := items[cycle[0]].ID
	return fmt.Errorf("%s needs itself: %s%s", first, b.String(), first)
}

// contract leaves only the kept items: each gets the kept items that it needs
// directly or through items that are not kept. Lists are shared where they are
// equal. Only where many kept items meet in one that is not kept, and many
// more need that one, does the result outgrow the graph.
func (g *graph) contract(kept func(int) bool) [][]int {
	out := make([][]int, len(g.needs))
	seen := make([]int, len(g.needs)) // last item, plus one, that listed this one
	for _, i := range g.order {
		needs := g.needs[i]
		if len(needs) == 1 && !kept(needs[0]) {
			out[i] = out[needs[0]]
			continue
		}
		var list []int
		add := func(n int) {
			if seen[n] != i+1 {
				seen[n] = i + 1
				list = append(list, n)
			}
		}
		for _, n := range needs {
			if kept(n) {
				add(n)
				continue
			}
			for _, m := range out[n] {
				add(m)
			}
		}
		out[i] = list
	}
	return out
}
