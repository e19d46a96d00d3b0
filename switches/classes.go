package switches

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/owned"
	"weft/internal/traffic"
)

const (
	anonymous  = "priority-"     // what classes are called on an OS that keeps no names
	allOther   = "default"       // the class of all other traffic
	maxName    = owned.MaxObject // of objects on a switch
	priorities = traffic.Priorities
)

// checkClasses reports everything about wished classes that no switch can do.
func checkClasses(c Intent) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	prio, dscp, sum := map[int]string{}, map[int]string{}, 0
	for _, k := range c.Classes {
		if len(c.Name+"-"+k.Name) > maxName {
			fail("%s-%s is longer than %d characters", c.Name, k.Name, maxName)
		}
		if k.Priority < 0 || k.Priority >= priorities {
			fail("class %s: priority %d is not in 0 to 7", k.Name, k.Priority)
		}
		if other, ok := prio[k.Priority]; ok {
			fail("class %s: priority %d is that of class %s", k.Name, k.Priority, other)
		}
		prio[k.Priority] = k.Name
		for _, d := range k.DSCP {
			if other, ok := dscp[d]; ok || d < 0 || d > traffic.MaxDSCP {
				fail("class %s: dscp %d is out of range or already of class %s", k.Name, d, other)
			}
			dscp[d] = k.Name
		}
		if k.Name == allOther && (k.Priority != 0 || len(k.DSCP) > 0 || k.PFC) {
			fail("class default: other traffic stays in queue 0 of the switch, lossy and whatever its dscp")
		}
		if k.Name != allOther && (k.Priority == 0 || len(k.DSCP) == 0) {
			fail("class %s: needs a dscp and a priority from 1 to 7; queue 0 is that of all other traffic", k.Name)
		}
		if e := k.ECN; e != nil && (e.Min <= 0 || e.Max < e.Min || e.Probability < 1 || e.Probability > 100) {
			fail("class %s: ecn needs 0 < min <= max and a probability of 1 to 100 percent", k.Name)
		}
		if h := k.Headroom; h != nil && (!k.PFC || h.Xon <= 0 || h.Xoff < h.Xon || h.Size < h.Xoff) {
			fail("class %s: headroom needs pfc and 0 < xon <= xoff <= size", k.Name)
		}
		sum += k.Bandwidth
	}
	if len(c.Classes) > 0 && sum != 100 {
		fail("bandwidth of the classes adds up to %d percent, not 100", sum)
	}
	if len(c.Classes) > 0 && c.Name == "" {
		fail("classes need a name to be kept under")
	}
	return errors.Join(errs...)
}

// ranges writes numbers as a list of ranges: 24-31,48.
func ranges(ns []int) string {
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

// parseRanges reads what ranges writes, and single numbers apart; number
// reads one of them. What it cannot read is left out.
func parseRanges(s string, number func(string) (int, bool)) (out []int) {
	for word := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(word), "-")
		a, ok := number(lo)
		b := a
		if isRange && ok {
			b, ok = number(hi)
		}
		for n := a; ok && n <= b && n < 64; n++ {
			out = append(out, n)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

func byPriority(a, b Class) int { return cmp.Compare(a.Priority, b.Priority) }

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
func sortedPorts(r *reading) []string {
	names := make([]string, 0, len(r.port))
	for n := range r.port {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// atoi reads a number that may be followed by more; what is none is -1.
func atoi(s string) int {
	s, _, _ = strings.Cut(strings.TrimSpace(s), " ")
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// dscpNumber reads a DSCP by number or by its standard name.
func dscpNumber(s string) (int, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if n, err := strconv.Atoi(s); err == nil {
		return n, n >= 0 && n < 64
	}
	switch {
	case s == "default":
		return 0, true
	case s == "ef":
		return 46, true
	case len(s) == 3 && s[:2] == "cs" && s[2] >= '0' && s[2] <= '7':
		return int(s[2]-'0') * 8, true
	case len(s) == 4 && s[:2] == "af" && s[2] >= '1' && s[2] <= '4' && s[3] >= '1' && s[3] <= '3':
		return int(s[2]-'0')*8 + int(s[3]-'0')*2, true
	}
	return 0, false
}
