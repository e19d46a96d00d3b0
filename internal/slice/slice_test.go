package slice

import (
	"slices"
	"strconv"
	"testing"
)

func TestLists(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	list := []int{4, 1, 2, 3}
	if got := Map(list, strconv.Itoa); !slices.Equal(got, []string{"4", "1", "2", "3"}) {
		t.Errorf("Map: %q", got)
	}
	if got := Filter(list, odd); !slices.Equal(got, []int{1, 3}) || !slices.Equal(list, []int{4, 1, 2, 3}) {
		t.Errorf("Filter: %d, and the list is %d", got, list)
	}
	if got := First(list, odd); got != 1 {
		t.Errorf("First: %d", got)
	}
	text := ""
	for rest, group := range Group(list, func(n int) int { return n % 3 }) {
		text += strconv.Itoa(rest) + ":"
		for _, n := range group {
			text += strconv.Itoa(n)
		}
		text += " "
		if rest == 2 {
			break
		}
	}
	if text != "1:41 2:2 " {
		t.Errorf("Group: %q", text)
	}
	// As lists that nothing was appended to: JSON tells null from [].
	if Map(nil, strconv.Itoa) != nil || Filter(list[:1], odd) != nil || First(list[:1], odd) != 0 {
		t.Error("of nothing comes something")
	}
}
