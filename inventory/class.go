package inventory

import (
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/internal/traffic"
)

// A TrafficClass is one class of traffic; "default" is all other traffic.
type TrafficClass struct {
	Block
	Name      string
	Carries   []string // RDMA, TCP and OtherTraffic, as the files write it; empty: not written
	DSCP      []int
	Priority  int
	Bandwidth int // percent; 0 with Strict
	Strict    bool
	PFC       bool
	ECN       *ECN
	Headroom  *Headroom
}

// ECN is a marking curve.
type ECN struct {
	Min, Max    int64 // bytes
	Probability int   // percent at Max
}

// Headroom is buffer kept for what is in flight when a pause is sent, bytes.
type Headroom struct{ Xoff, Xon, Size int64 }

// Traffic that a class can carry. weft marks the packets of the first two.
const (
	RDMA         = "rdma"
	TCP          = "tcp"
	OtherTraffic = "other"
)

// DefaultClass is the name of the class of all packets that no other class names.
const DefaultClass = "default"

// CNP reports whether the class is that of congestion notifications.
func (c *TrafficClass) CNP() bool { return strings.EqualFold(c.Name, "cnp") }

// ToS is the type of service of the packets of a class; -1: the class has no DSCP, so
// that packets stay as the system marks them.
func (c *TrafficClass) ToS() int {
	if c == nil || len(c.DSCP) == 0 {
		return -1
	}
	return traffic.ToS(c.DSCP[0])
}

// Assigns reports whether a class of the fabric says what it carries.
func (f *Fabric) Assigns() bool {
	return slices.ContainsFunc(f.Classes, func(c *TrafficClass) bool { return len(c.Carries) > 0 })
}

// ClassOf returns the class of the packets of a transport (RDMA or TCP). nil: the fabric
// has none, or several candidates, which the rules refuse.
func (f *Fabric) ClassOf(transport string) *TrafficClass {
	if f == nil {
		return nil
	}
	if list := f.Candidates(transport); len(list) == 1 {
		return list[0]
	}
	return nil
}

// Candidates returns the classes that a transport may belong to: those whose carries
// names it. Without one, TCP belongs to the class default, and RDMA to the class with
// PFC; in a lossy fabric to the class with ECN, else to the one with a share of the
// bandwidth. A class that carries something else is no candidate.
func (f *Fabric) Candidates(transport string) []*TrafficClass {
	named := slice.Filter(f.Classes, func(c *TrafficClass) bool { return slices.Contains(c.Carries, transport) })
	switch {
	case len(named) > 0:
		return named
	case transport == TCP:
		return slice.Filter(f.Classes, func(c *TrafficClass) bool { return c.Name == DefaultClass })
	}
	free := slice.Filter(f.Classes, func(c *TrafficClass) bool { return len(c.DSCP) > 0 && len(c.Carries) == 0 && !c.CNP() })
	if f.Lossless() {
		return slice.Filter(free, func(c *TrafficClass) bool { return c.PFC })
	}
	if marked := slice.Filter(free, func(c *TrafficClass) bool { return c.ECN != nil }); len(marked) > 0 {
		return marked
	}
	return slice.Filter(free, func(c *TrafficClass) bool { return !c.Strict })
}
