package rules

import (
	"cmp"
	"slices"
	"strings"

	"weft/inventory"
	"weft/inventory/problem"
)

// authentication checks that what hosts and targets prove to each other goes
// together. Whether keys are any is seen when they are read.
func (c *checker) authentication() {
	with, without := map[*inventory.Target][]*inventory.Initiator{}, map[*inventory.Target][]*inventory.Initiator{}
	for _, i := range c.Initiators {
		for _, t := range i.Reaches() {
			if i.Key != nil {
				with[t] = append(with[t], i)
			} else {
				without[t] = append(without[t], i)
			}
		}
	}
	kernels := map[*inventory.Server]*inventory.Target{}
	for _, t := range c.Targets {
		if t.Incomplete {
			continue
		}
		c.asked(t, with[t], without[t])
		if t.Engine != "nvmet" {
			continue
		}
		if first := kernels[t.Server]; first == nil {
			kernels[t.Server] = t
		} else {
			c.oneKernel(first, t)
		}
	}
}

// asked checks what one target asks of hosts.
func (c *checker) asked(t *inventory.Target, with, without []*inventory.Initiator) {
	attr := ""
	switch {
	case t.Hash != "":
		attr = "dhchap_hash"
	case t.DHGroup != "":
		attr = "dhchap_dhgroup"
	case t.DemandAuth:
		attr = "demand_auth"
	}
	switch {
	case t.Engine == "external" && attr != "":
		c.refuse(problem.CHAP, &t.Block, attr, "authentication of an external target", `weft does not configure an external target: set %s on the array.`, attr)
	case t.DemandAuth && t.DHGroup == "null":
		c.refuse(problem.CHAP, &t.Block, "dhchap_dhgroup", "authentication without a key exchange", `demand_auth requires a group other than "null": remove dhchap_dhgroup, or set a group.`)
	case t.DemandAuth && c.byName(t, with) != "":
		c.refuse(problem.CHAP, &t.Block, "demand_auth", "host without a key",
			"%s may connect, but no initiator of that name that connects here has dhchap_key: any host with this name could connect without a key.", c.byName(t, with))
	case t.CtrlKey != nil && len(without) > 0:
		c.refuse(problem.CHAP, &t.Block, "dhchap_ctrl_key", "target key without host keys",
			"%s connects without dhchap_key: a host authenticates a target only if it has a key itself.", whereBlock(&without[0].Block))
	case attr != "" && len(with) == 0 && len(without) > 0:
		c.refuse(problem.CHAP, &t.Block, attr, "authentication without keys", "No initiator that connects has dhchap_key, so none authenticates.")
	case len(with) > 0 && len(without) > 0:
		c.warn(problem.CHAP, &without[0].Block, "", "host without a key", "It connects to %s by name only, but %s has a key: any host with this name can connect without one.",
			whereBlock(&t.Block), whereBlock(&with[0].Block))
	}
}

// byName is a host that a target lets in by its name only, "" if there is none.
func (c *checker) byName(t *inventory.Target, with []*inventory.Initiator) string {
	for _, sub := range t.Subsystems {
		for _, nqn := range sub.AllowHosts {
			if !slices.ContainsFunc(with, func(i *inventory.Initiator) bool { return nqn == i.HostNQN || nqn == i.ProbeNQN }) {
				return nqn
			}
		}
	}
	return ""
}

// oneKernel checks two targets of one kernel, which knows a host once.
func (c *checker) oneKernel(first, t *inventory.Target) {
	var differ []string
	if from(first.CtrlKey) != from(t.CtrlKey) {
		differ = append(differ, "dhchap_ctrl_key")
	}
	if first.Hash != t.Hash {
		differ = append(differ, "dhchap_hash")
	}
	if first.DHGroup != t.DHGroup {
		differ = append(differ, "dhchap_dhgroup")
	}
	if len(differ) > 0 {
		c.refuse(problem.CHAP, &t.Block, cmp.Or(differ...), "conflicting authentication on one server",
			`%s on the same server has another %s: the kernel target has only one of each per host.`, whereBlock(&first.Block), strings.Join(differ, " and "))
	}
}

// from is where a secret comes from; "": there is none.
func from(s *inventory.Secret) string {
	if s == nil {
		return ""
	}
	return s.From
}
