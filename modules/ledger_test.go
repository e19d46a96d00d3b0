package modules

import (
	"fmt"
	"slices"
	"testing"

	"weft/plan"
)

func TestMissing(t *testing.T) {
	of := func(names ...string) (list []plan.Member) {
		for _, n := range names {
			list = append(list, plan.Member{Device: n, Kind: "server"})
		}
		return list
	}
	moved := of("a")
	moved[0].Host = "elsewhere"
	for _, tt := range []struct {
		list, other []plan.Member
		want        string
	}{
		{nil, nil, ""},
		{of("a", "b", "c"), of("a", "b", "c"), ""},
		{of("a", "b", "c"), of("c", "b", "a"), ""},
		{of("a", "b", "c"), of("a", "c"), "b"},
		{of("a", "b"), nil, "a, b"},
		{nil, of("a"), ""},
		{moved, of("a"), "a"},
		{of("a", "b", "c", "d"), of("x"), "a, b, c, d"},
		{of("a", "b", "c", "d", "e"), of("x"), "a, b, c and 2 more"},
	} {
		was := slices.Clone(tt.list)
		if got := missing(tt.list, tt.other); got != tt.want {
			t.Errorf("of %v not in %v: %q, want %q", tt.list, tt.other, got, tt.want)
		}
		if !slices.Equal(was, tt.list) {
			t.Errorf("%v was changed", was)
		}
	}
}

// To compare rosters takes as long as they are.
func BenchmarkMissing(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n, " devices"), func(b *testing.B) {
			var roster []plan.Member
			for i := range n {
				roster = append(roster, plan.Member{Device: fmt.Sprint("server.", i), Kind: "server", Host: fmt.Sprint(i)})
			}
			without := slices.Delete(slices.Clone(roster), n/2, n/2+1)
			for b.Loop() {
				if got := missing(roster, without); got != fmt.Sprint("server.", n/2) {
					b.Fatal(got)
				}
			}
		})
	}
}
