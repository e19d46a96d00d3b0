package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"
)

// platforms compares what is asked of switches with what the catalogue knows
// of their operating systems. Only what has a source is refused.
func (c *checker) platforms(load func() (*catalogue.Catalogue, error)) {
	if len(c.Switches) == 0 {
		return
	}
	known, err := load()
	if err != nil {
		c.diags = append(c.diags, problem.New(problem.File, c.Switches[0].Range, "no catalogue", "%v.", err))
		return
	}
	type served struct {
		f  *inventory.Fabric
		os string
	}
	seen := map[served]bool{}
	for _, s := range c.Switches {
		if s.Incomplete || s.Unmanaged || s.Fabric == nil || s.Fabric.Incomplete || seen[served{s.Fabric, s.OS}] {
			continue
		}
		seen[served{s.Fabric, s.OS}] = true
		if row := known.SwitchOS(s.OS); row != nil {
			c.largestMTU(s, row)
			c.reserved(s, row)
		}
		c.noDrop(s, known)
	}
	c.portNames(known)
}

// judge refuses what a fact with a source speaks against, and warns of what
// any other does.
func (c *checker) judge(proven bool, code problem.Code, b *inventory.Block, attr, summary, format string, args ...any) {
	c.refuse(code, b, attr, summary, format, args...)
	if !proven {
		c.diags[len(c.diags)-1].Severity = hcl.DiagWarning
	}
}

// sourceOf names where a fact was read.
func sourceOf[T any](f catalogue.Fact[T]) string {
	if f.Source == "" {
		return "no source"
	}
	return f.Source
}

func (c *checker) largestMTU(s *inventory.Switch, row *catalogue.SwitchOS) {
	if f := s.Fabric; row.MaxMTU.Known && f.MTU > row.MaxMTU.Value {
		c.judge(row.MaxMTU.Proven(), problem.MTU, &f.Block, "mtu", "MTU too large for a switch", "Ports of %s support at most %d bytes, not %d (%s).",
			whereBlock(&s.Block), row.MaxMTU.Value, f.MTU, sourceOf(row.MaxMTU))
	}
}

// reserved checks which priorities are lossless. Priority 0 is that of all
// unmarked traffic; of others the vendor only advises.
func (c *checker) reserved(s *inventory.Switch, row *catalogue.SwitchOS) {
	for _, t := range s.Fabric.Classes {
		if !t.PFC || t.Incomplete {
			continue
		}
		switch {
		case row.PFCPriorities.Known && !slices.Contains(row.PFCPriorities.Value, t.Priority):
			c.judge(row.PFCPriorities.Proven(), problem.Reserved, &t.Block, "priority", fmt.Sprintf("priority %d cannot be lossless", t.Priority), "%s supports lossless classes only for the priorities %s (%s).",
				whereBlock(&s.Block), numbers(row.PFCPriorities.Value), sourceOf(row.PFCPriorities))
		case !slices.Contains(row.AvoidPFC.Value, t.Priority):
		case t.Priority == 0:
			c.judge(row.AvoidPFC.Proven(), problem.Reserved, &t.Block, "priority", "priority 0 should not be lossless", "Unmarked traffic has priority 0, and the vendor of %s advises against PFC on it (%s).",
				whereBlock(&s.Block), sourceOf(row.AvoidPFC))
		default:
			c.warn(problem.Reserved, &t.Block, "priority", "reserved priority", "Priority %d carries protocol traffic of %s itself: the vendor advises against PFC on %s (%s).",
				t.Priority, whereBlock(&s.Block), numbers(row.AvoidPFC.Value), sourceOf(row.AvoidPFC))
		}
	}
}

// noDrop compares the number of lossless classes with the most that any model
// of the operating system has. Which model it is only the switch can tell.
func (c *checker) noDrop(s *inventory.Switch, known *catalogue.Catalogue) {
	count, last := 0, (*inventory.TrafficClass)(nil)
	for _, t := range s.Fabric.Classes {
		if t.PFC && !t.Incomplete {
			count, last = count+1, t
		}
	}
	var most catalogue.Fact[int]
	for _, row := range known.Switches {
		if n := row.NoDropClasses; row.OS == s.OS && n.Known && (!most.Known || n.Value > most.Value) {
			most = n
		}
	}
	switch {
	case count < 2:
	case !most.Known:
		c.warn(problem.NoDrop, &last.Block, "pfc", "possibly too many lossless classes", "%s has %d lossless classes, and the catalogue has no limit for %s: the switch may refuse them.",
			s.Fabric.Addr, count, whereBlock(&s.Block))
	case count > most.Value:
		c.judge(most.Proven(), problem.NoDrop, &last.Block, "pfc", "too many lossless classes", "%s has %d lossless classes, but no model of the %s of %s supports more than %d (%s).",
			s.Fabric.Addr, count, s.OS, whereBlock(&s.Block), most.Value, sourceOf(most))
	}
}

// portNames warns of names that a running configuration would not show. The
// device itself has the last word.
func (c *checker) portNames(known *catalogue.Catalogue) {
	for _, l := range c.Links {
		for _, e := range endsOf(l) {
			if l.Incomplete || e.Switch == nil || e.Switch.Incomplete {
				continue
			}
			row := known.SwitchOS(e.Switch.OS)
			if e.Switch.OS == "" {
				continue
			}
			if row == nil || !row.PortNames.Known {
				c.warn(problem.PortName, &l.Block, e.attr, "unknown port name", "The catalogue has no port names of %s: weft compares %s as written.", e.Switch.OS, e.name())
				continue
			}
			if ok, _ := known.PortName(e.Switch.OS, e.Port); !ok {
				c.warn(problem.PortName, &l.Block, e.attr, "unusual port name", "%s is not a port name of %s (%s); weft compares complete names, such as %s.",
					e.name(), e.Switch.OS, sourceOf(row.PortNames), strconv.Quote(row.PortExample.Value))
			}
		}
	}
}

// numbers writes a list as in "0, 6 and 7".
func numbers(list []int) string {
	var b strings.Builder
	for i, n := range list {
		switch {
		case i > 0 && i == len(list)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// switchOS is what the catalogue knows of a switch system; of one without a row
// nothing.
func switchOS(name string) *catalogue.SwitchOS {
	if known, err := catalogue.Load(); err == nil {
		if row := known.SwitchOS(name); row != nil {
			return row
		}
	}
	return &catalogue.SwitchOS{ID: name}
}
