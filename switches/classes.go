package switches

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/owned"
	"weft/internal/traffic"
)

const (
	// AllOther is the class of all other traffic.
	AllOther = "default"

	anonymous = "priority-"     // what classes are called on an OS that keeps no names
	maxName   = owned.MaxObject // of objects on a switch
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
		if k.Priority < 0 || k.Priority >= traffic.Priorities {
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
		if k.Name == AllOther && (k.Priority != 0 || len(k.DSCP) > 0 || k.PFC) {
			fail("class default: other traffic stays in queue 0 of the switch, lossy and whatever its dscp")
		}
		if k.Name != AllOther && (k.Priority == 0 || len(k.DSCP) == 0) {
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

// Unnamed is what a class is called on a system that keeps no names.
func Unnamed(priority int) string { return anonymous + strconv.Itoa(priority) }

// ByPriority compares classes, for sorting.
func ByPriority(a, b Class) int { return cmp.Compare(a.Priority, b.Priority) }

// Number reads a number that may be followed by more; what is none is -1.
func Number(s string) int {
	s, _, _ = strings.Cut(strings.TrimSpace(s), " ")
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
