package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/prove"
	"weft/internal/tally"
)

// A Growth is a counter before the first measurement of a report and after its last.
type Growth struct {
	Device, Port string
	Priority     string // "": of all
	Name         string
	Before       uint64
	After        uint64
	Cleared      bool // it went back: it was cleared, or the device restarted
}

// By is how much it has grown; what went back has no growth that is known.
func (g Growth) By() string {
	if g.Cleared {
		return "went back"
	}
	return "+" + strconv.FormatUint(g.After-g.Before, 10)
}

// mostGrown is how many counters the page shows; the JSON has all that was read.
const mostGrown = 400

// Counters are what devices had counted before and after.
type Counters struct {
	Grown   []Growth // faults first, then by device
	More    int      // that have grown, too
	Still   int      // that have not
	Missing []string // what was not told, by whom
}

// counts are the first and the last sample of each counter of a report's measurements.
type counts struct {
	order       []prove.Counter
	first, last map[prove.Counter]prove.Sample
	back        map[prove.Counter]bool // it was less at a later time
	missing     []prove.Missing        // of the last reading
	readings    int
}

func (r *Report) counts() counts {
	c := counts{first: map[prove.Counter]prove.Sample{}, last: map[prove.Counter]prove.Sample{}, back: map[prove.Counter]bool{}}
	for _, m := range r.Measured {
		for _, reading := range []*prove.Snapshot{m.Result.Before, m.Result.After} {
			if reading == nil {
				continue
			}
			c.readings++
			c.missing = reading.Missing
			for _, s := range reading.Samples {
				if s.Off != "" {
					continue
				}
				was, seen := c.last[s.Counter]
				if !seen {
					c.first[s.Counter] = s
					c.order = append(c.order, s.Counter)
				}
				c.back[s.Counter] = c.back[s.Counter] || seen && s.Value < was.Value
				c.last[s.Counter] = s
			}
		}
	}
	return c
}

// Counted tells the counters before and after; nil: they were not read twice.
func (r *Report) Counted() *Counters {
	all := r.counts()
	if all.readings < 2 {
		return nil
	}
	c := new(Counters)
	for _, k := range all.order {
		first, last := all.first[k], all.last[k]
		g := Growth{Device: k.Device, Port: k.Port, Name: k.Name, Before: first.Value, After: last.Value, Cleared: all.back[k]}
		if k.Priority != tally.AllPriorities {
			g.Priority = strconv.Itoa(k.Priority)
		}
		if g.Before == g.After && !g.Cleared {
			c.Still++
			continue
		}
		c.Grown = append(c.Grown, g)
	}
	slices.SortStableFunc(c.Grown, func(a, b Growth) int {
		return cmp.Or(traffic(a.Name)-traffic(b.Name), cmp.Compare(a.Device, b.Device))
	})
	n := min(len(c.Grown), mostGrown)
	c.Grown, c.More = c.Grown[:n], len(c.Grown)-n
	for _, m := range all.missing {
		c.Missing = append(c.Missing, strings.Join(strings.Fields(m.Device+" "+m.Port+" "+m.Name), " ")+": "+m.Why)
	}
	return c
}

// traffic is 1 for what grows wherever something is moved, and 0 for what does not where
// all is well.
func traffic(name string) int {
	if slices.Contains([]string{tally.RxBytes, tally.TxBytes, tally.TxPackets}, name) {
		return 1
	}
	return 0
}
