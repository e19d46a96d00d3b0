package traffic

import (
	"slices"
	"strconv"
	"strings"
)

// Ranges writes numbers as a list of ranges: 24-31,48.
func Ranges(ns []int) string {
	ns = slices.Sorted(slices.Values(ns))
	var words []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		word := strconv.Itoa(ns[i])
		if j > i {
			word += "-" + strconv.Itoa(ns[j])
		}
		words = append(words, word)
		i = j + 1
	}
	return strings.Join(words, ",")
}

// ParseRanges reads what Ranges writes, and single numbers apart; number
// reads one of them. What it cannot read is left out.
func ParseRanges(s string, number func(string) (int, bool)) (out []int) {
	for word := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(word), "-")
		a, ok := number(lo)
		b := a
		if isRange && ok {
			b, ok = number(hi)
		}
		for n := a; ok && n <= b && n <= MaxDSCP; n++ {
			out = append(out, n)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}
