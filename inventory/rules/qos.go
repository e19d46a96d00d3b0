package rules

import (
	"fmt"
	"regexp"
	"strings"

	"weft/internal/owned"
	"weft/inventory"
	"weft/inventory/problem"
)

// classes checks the traffic classes of a fabric.
func (c *checker) classes(f *inventory.Fabric) {
	dscps, priorities := registry[int]{}, registry[int]{}
	whole, pfc := !f.Incomplete, false
	for _, t := range f.Classes {
		if t.Incomplete {
			whole = false
			continue
		}
		pfc = pfc || t.PFC
		c.class(t)
		for _, dscp := range t.DSCP {
			if other := dscps.first(dscp, &t.Block); other != nil {
				c.refuse(problem.DSCP, &t.Block, "dscp", "DSCP used twice", "DSCP %d is already used by %s.", dscp, whereBlock(other))
			}
		}
		if other := priorities.first(t.Priority, &t.Block); other != nil {
			c.refuse(problem.Priority, &t.Block, "priority", "priority used twice", "Priority %d is already used by %s.", t.Priority, whereBlock(other))
		}
		if t.PFC && f.Mode == "lossy" {
			c.refuse(problem.Lossless, &t.Block, "pfc", "PFC in a lossy fabric", `pfc = true requires mode = "lossless" in %s, which has "lossy" (%s).`, f.Addr, problem.Where(f.At("mode")))
		}
	}
	if !whole {
		return
	}
	c.shares(f)
	c.partition(f)
	if f.Transport == "infiniband" {
		c.infiniBand(f)
	}
	if f.Mode == "lossless" && f.Transport == "rocev2" && !pfc && !f.Incomplete {
		c.refuse(problem.Lossless, &f.Block, "mode", "lossless without PFC", "No traffic class has pfc = true.")
	}
}

// class checks one class by itself.
func (c *checker) class(t *inventory.TrafficClass) {
	hasPriority := t.Writes("priority")
	switch {
	case t.Name == inventory.DefaultClass && len(t.DSCP) > 0:
		c.refuse(problem.Class, &t.Block, "dscp", "DSCP of the default class", "The class default receives all other traffic and takes no dscp.")
	case t.Name != inventory.DefaultClass && len(t.DSCP) == 0:
		c.refuse(problem.Class, &t.Block, "dscp", "no DSCP", "Every class except default requires dscp.")
	}
	if t.Name != inventory.DefaultClass && !hasPriority {
		c.refuse(problem.Class, &t.Block, "", "no priority", "Every class except default requires priority.")
	}
	switch {
	case t.Strict && t.Bandwidth > 0:
		c.refuse(problem.Share, &t.Block, "bandwidth", "bandwidth and strict", "A strict class has no bandwidth share: remove one of the two.")
	case !t.Strict && t.Bandwidth == 0:
		c.refuse(problem.Share, &t.Block, "", "neither bandwidth nor strict", "Set bandwidth in percent, or strict = true.")
	}
	c.headroom(t)
	if t.ECN != nil && t.ECN.Min >= t.ECN.Max {
		c.refuse(problem.ECN, &t.Block, "ecn.min", "ECN thresholds out of order", "min (%d bytes) must be below max (%d bytes, %s).", t.ECN.Min, t.ECN.Max, problem.Where(t.At("ecn.max")))
	}
}

// headroom checks the order of thresholds: a pause ends where it starts or
// below, within the buffer, and ECN marks before it.
func (c *checker) headroom(t *inventory.TrafficClass) {
	h := t.Headroom
	switch {
	case h == nil:
		return
	case !t.PFC:
		c.refuse(problem.Headroom, &t.Block, "headroom", "headroom without PFC", "Headroom requires pfc = true.")
	case h.Xon > h.Xoff:
		c.refuse(problem.Headroom, &t.Block, "headroom.xon", "xon above xoff", "xon (%d bytes) must not exceed xoff (%d bytes, %s).", h.Xon, h.Xoff, problem.Where(t.At("headroom.xoff")))
	case h.Xoff > h.Size:
		c.refuse(problem.Headroom, &t.Block, "headroom.xoff", "xoff above size", "xoff (%d bytes) must not exceed size (%d bytes, %s).", h.Xoff, h.Size, problem.Where(t.At("headroom.size")))
	case t.ECN != nil && t.ECN.Max >= h.Xoff:
		c.warn(problem.PauseFirst, &t.Block, "ecn.max", "PFC pauses before ECN marks all packets", "ECN marks all packets from %d bytes on, but PFC pauses at %d (xoff, %s), so senders are paused before they slow down (H3C RDMA Technical Reference: the upper ECN limit is below the PFC trigger).",
			t.ECN.Max, h.Xoff, problem.Where(t.At("headroom.xoff")))
	}
}

// partition refuses a partition where there are none.
func (c *checker) partition(f *inventory.Fabric) {
	if f.Partition != 0 && f.Transport != "infiniband" {
		c.refuse(problem.InfiniBand, &f.Block, "partition", "partition without InfiniBand", `%s has transport = "%s" (%s); only InfiniBand has partition keys.`, f.Addr, f.Transport, problem.Where(f.At("transport")))
	}
}

// infiniBand refuses what only Ethernet has.
func (c *checker) infiniBand(f *inventory.Fabric) {
	if len(f.Classes) > 0 {
		c.refuse(problem.InfiniBand, &f.Classes[0].Block, "", "traffic classes on InfiniBand", "%s has no Ethernet priorities: its subnet manager assigns service levels.", f.Addr)
	}
	for _, s := range c.Switches {
		if s.Fabric == f && !s.Unmanaged && !s.Incomplete {
			c.refuse(problem.InfiniBand, &s.Block, "fabric", "Ethernet switch on InfiniBand", "%s is an InfiniBand fabric (%s), which %s does not support.", f.Addr, problem.Where(f.At("transport")), s.OS)
		}
	}
}

// shares checks that bandwidths sum to 100; strict classes are apart.
func (c *checker) shares(f *inventory.Fabric) {
	sum := 0
	var terms []string
	var last *inventory.TrafficClass
	for _, t := range f.Classes {
		if t.Bandwidth > 0 && !t.Strict {
			sum += t.Bandwidth
			terms = append(terms, fmt.Sprintf("%s %d", t.Name, t.Bandwidth))
			last = t
		}
	}
	if last != nil && sum != 100 {
		c.refuse(problem.ETS, &last.Block, "bandwidth", "bandwidths do not sum to 100", "%s = %d percent.", strings.Join(terms, " + "), sum)
	}
}

// objectNames checks the names that classes get on switches.
func (c *checker) objectNames(f *inventory.Fabric) {
	usable := regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	if !usable.MatchString(f.Name) {
		c.refuse(problem.ObjectName, &f.Block, "", "invalid name on switches", "%q contains characters other than A-Z, a-z, 0-9, - and _.", f.Name)
		return
	}
	// Policies end in -in, -nq or -out.
	if name := owned.Object(c.Name, f.Name, "out"); len(name) > owned.MaxObject {
		c.refuse(problem.ObjectName, &f.Block, "", "name too long on switches", "%s has %d characters, but switches accept %d: shorten the name of the owner or the fabric.",
			name, len(name), owned.MaxObject)
		return
	}
	for _, t := range f.Classes {
		name := owned.Object(c.Name, f.Name, t.Name)
		switch {
		case !usable.MatchString(t.Name):
			c.refuse(problem.ObjectName, &t.Block, "", "invalid name on switches", "%q contains characters other than A-Z, a-z, 0-9, - and _.", t.Name)
		case len(name) > owned.MaxObject:
			c.refuse(problem.ObjectName, &t.Block, "", "name too long on switches", "%s has %d characters, but switches accept %d: shorten the name of the owner, the fabric or the class.",
				name, len(name), owned.MaxObject)
		}
	}
}
