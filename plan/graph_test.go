package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// itemsOf makes items from lines "name: need need".
func itemsOf(lines ...string) []Item {
	var items []Item
	id := func(name string) ID { return ID{"d", "k", name} }
	for i, line := range lines {
		name, needs, _ := strings.Cut(line, ":")
		item := Item{ID: id(name), Range: rangeAt("f", i+1)}
		for _, n := range strings.Fields(needs) {
			item.Needs = append(item.Needs, id(n))
		}
		items = append(items, item)
	}
	return items
}

func TestGraphOrder(t *testing.T) {
	tests := []struct {
		name, want string
		lines      []string
	}{
		{"nothing", "", nil},
		{"input order where nothing is needed", "c a b", []string{"c", "a", "b"}},
		{"needed first", "b c a d", []string{"a: b c", "b", "c", "d"}},
		{"already in order", "a b c", []string{"a", "b: a", "c: a b"}},
		{"a chain, upside down", "d c b a", []string{"a: b", "b: c", "c: d", "d"}},
		{"a diamond", "d b c a", []string{"a: b c", "b: d", "c: d", "d"}},
		{"the same need twice", "b a", []string{"a: b b", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items := itemsOf(tt.lines...)
			g, err := newGraph(items)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range g.order {
				got = append(got, items[i].ID.Name)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("order %q, want %q", s, tt.want)
			}
		})
	}
}

func TestGraphErrors(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"itself", []string{"a: a"}, []string{"d/k.a needs itself: d/k.a (f:1,1) → d/k.a"}},
		{"a cycle behind a path", []string{"x: a", "a: b", "b: c", "c: a"},
			[]string{"d/k.a needs itself: d/k.a (f:2,1) → d/k.b (f:3,1) → d/k.c (f:4,1) → d/k.a"}},
		{"all at once", []string{"a: nope", "a", "b: gone"}, []string{
			"d/k.a is declared twice: at f:1,1 and at f:2,1",
			"d/k.a (f:1,1) needs d/k.nope, which is not declared",
			"d/k.b (f:3,1) needs d/k.gone, which is not declared"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newGraph(itemsOf(tt.lines...))
			if err == nil {
				t.Fatal("no error")
			}
			if got, want := err.Error(), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Any graph without a cycle is ordered, and the order is the same each time;
// contracting it keeps exactly what is needed through items that are dropped.
func TestGraphProperties(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := rng.IntN(40)
		perm, items := rng.Perm(n), make([]Item, n)
		for rank, i := range perm {
			items[i].ID = ID{"d", "k", string(rune('A' + i))}
			for range rng.IntN(4) {
				if rank > 0 {
					need := perm[rng.IntN(rank)]
					items[i].Needs = append(items[i].Needs, ID{"d", "k", string(rune('A' + need))})
				}
			}
		}
		g, err := newGraph(items)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again, _ := newGraph(items)
		if !slices.Equal(g.order, again.order) || len(g.order) != n {
			t.Fatalf("seed %d: order %v, then %v", seed, g.order, again.order)
		}
		at := make([]int, n)
		for pos, i := range g.order {
			at[i] = pos
		}
		keep := make([]bool, n)
		for i := range keep {
			keep[i] = rng.IntN(2) == 0
		}
		out := g.contract(func(i int) bool { return keep[i] })
		for i := range n {
			for _, need := range g.needs[i] {
				if at[need] >= at[i] {
					t.Fatalf("seed %d: %d stands before %d, which it needs", seed, i, need)
				}
			}
			want := map[int]bool{}
			reach(g, keep, i, want)
			got := slices.Clone(out[i])
			slices.Sort(got)
			if len(slices.Compact(got)) != len(out[i]) || len(got) != len(want) {
				t.Fatalf("seed %d: item %d contracts to %v, want %v", seed, i, out[i], want)
			}
			for _, m := range got {
				if !want[m] {
					t.Fatalf("seed %d: item %d contracts to %v, want %v", seed, i, out[i], want)
				}
			}
		}
	}
}

// reach is contract, the slow and obvious way.
func reach(g *graph, keep []bool, i int, into map[int]bool) {
	for _, n := range g.needs[i] {
		if keep[n] {
			into[n] = true
		} else {
			reach(g, keep, n, into)
		}
	}
}

// A very long chain is no deep recursion.
func TestGraphLongChain(t *testing.T) {
	const n = 200_000
	needs := make([][]int, n)
	for i := range n - 1 {
		needs[i] = []int{i + 1}
	}
	order, cycle := sortNeeds(needs)
	if cycle != nil || order[0] != n-1 || order[n-1] != 0 {
		t.Errorf("order starts with %d and ends with %d", order[0], order[n-1])
	}
}
