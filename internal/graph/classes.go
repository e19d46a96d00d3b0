package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
)

// A Carry is the class that the packets of a transport have.
type Carry struct {
	Transport string `json:"transport"`       // rdma or tcp
	Class     string `json:"class,omitempty"` // "": the fabric has none for it
	Priority  int    `json:"priority"`
	DSCP      []int  `json:"dscp,omitempty"`
	PFC       bool   `json:"pfc,omitempty"`
	// Fallback says that the transport only stands in for the first one of the target, whose
	// class it carries.
	Fallback bool `json:"fallback,omitempty"`
}

func carry(transport string, c *inventory.TrafficClass) Carry {
	if c == nil {
		return Carry{Transport: transport}
	}
	return Carry{Transport: transport, Class: c.Name, Priority: c.Priority, DSCP: c.DSCP, PFC: c.PFC}
}

// ofFabric are the classes of the transports of a fabric; nil: it has no classes.
func ofFabric(f *inventory.Fabric) (list []Carry) {
	if f == nil || len(f.Classes) == 0 {
		return nil
	}
	if f.Transport != inventory.TCP {
		list = append(list, carry(inventory.RDMA, f.ClassOf(inventory.RDMA)))
	}
	return append(list, carry(inventory.TCP, f.ClassOf(inventory.TCP)))
}

// ofTarget are the classes of what a target is reached with over a fabric, in the order of
// its preference.
func ofTarget(t *inventory.Target, f *inventory.Fabric) (list []Carry) {
	if f == nil || len(f.Classes) == 0 {
		return nil
	}
	for _, transport := range t.Transport {
		if transport == inventory.RDMA && f.Transport == inventory.TCP {
			continue
		}
		first := transport
		if len(list) > 0 {
			first = list[0].Transport
		}
		c := carry(transport, f.ClassOf(first))
		c.Fallback = len(list) > 0
		list = append(list, c)
	}
	return list
}

// label is a carry in few words.
func (c Carry) label() string {
	to := c.Transport
	if c.Fallback {
		to += " as fallback"
	}
	if c.Class == "" {
		return to + " without a class"
	}
	return to + " in class " + clean(c.Class)
}

// about is a carry with what marks its class.
func (c Carry) about() string {
	var marks []string
	if len(c.DSCP) > 0 {
		marks = append(marks, "DSCP "+strings.Join(slice.Map(c.DSCP, strconv.Itoa), ", "))
	}
	if c.PFC {
		marks = append(marks, "PFC")
	}
	if c.Class == "" {
		return c.label()
	}
	return fmt.Sprintf("%s (%s)", c.label(), strings.Join(append([]string{fmt.Sprintf("priority %d", c.Priority)}, marks...), ", "))
}

// carried are the classes of a pair, each label once.
func (p *pair) carried() (labels []string) {
	for _, path := range p.paths {
		for _, c := range path.Carries {
			if l := c.label(); !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	return labels
}
