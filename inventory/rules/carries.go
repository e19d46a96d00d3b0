package rules

import (
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
)

// carries checks which class each transport belongs to.
func (c *checker) carries(f *inventory.Fabric) {
	if f.Incomplete || slices.ContainsFunc(f.Classes, func(t *inventory.TrafficClass) bool { return t.Incomplete }) {
		return
	}
	for _, transport := range []string{inventory.RDMA, inventory.TCP} {
		c.oneClass(f, transport)
	}
	rdma := f.Transport == "rocev2" || f.Transport == "iwarp"
	for _, t := range f.Classes {
		switch {
		case len(t.Carries) > 0 || t.CNP() || t.Name == inventory.DefaultClass:
		case rdma && slices.Contains(f.Candidates(inventory.RDMA), t):
		default:
			c.warn(problem.Carries, &t.Block, "", "class without traffic",
				`Neither RDMA nor TCP uses it, so weft marks no packets with its DSCP. Set carries = ["tcp"] or ["rdma"], or carries = ["other"] if other programs mark their packets.`)
		}
	}
}

// oneClass refuses a transport that could belong to several classes.
func (c *checker) oneClass(f *inventory.Fabric, transport string) {
	list := f.Candidates(transport)
	if len(list) < 2 {
		return
	}
	last, name := list[len(list)-1], strings.ToUpper(transport)
	others := strings.Join(slice.Map(list[:len(list)-1], func(t *inventory.TrafficClass) string { return whereBlock(&t.Block) }), " and ")
	switch {
	case len(last.Carries) > 0:
		c.refuse(problem.Carries, &last.Block, "carries", "transport in two classes", "%s is already carried by %s: set it in only one class of %s.", name, others, f.Addr)
	case f.Transport == "rocev2" || f.Transport == "iwarp":
		c.refuse(problem.Carries, &last.Block, "", "two classes for RDMA", `RDMA could use it or %s: set carries = ["rdma"] in one of them.`, others)
	}
}
