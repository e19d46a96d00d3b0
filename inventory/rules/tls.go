package rules

import (
	"slices"

	"weft/inventory"
	"weft/inventory/problem"
)

// encryption checks that who speaks TLS has keys for it, and that weft can set it up.
// Whether keys are any is seen when they are read.
func (c *checker) encryption() {
	connect := map[*inventory.Target][]*inventory.Initiator{}
	for _, i := range c.Initiators {
		c.encrypts(i)
		for _, t := range i.Reaches() {
			connect[t] = append(connect[t], i)
		}
	}
	for _, t := range c.Targets {
		if t.TLS && !t.Incomplete {
			c.encrypted(t, connect[t])
		}
	}
}

// encrypted checks one target that speaks TLS, to which these connect.
func (c *checker) encrypted(t *inventory.Target, connect []*inventory.Initiator) {
	switch {
	case t.Engine == "nvmet":
		c.refuse(problem.TLS, &t.Block, "tls", "TLS that weft does not set up",
			`The kernel's target needs tlshd and a keyring, which weft does not keep: write engine = "weft".`)
	case slices.Contains(t.Transport, "rdma"):
		c.refuse(problem.TLS, &t.Block, "transport", "TLS over RDMA", `NVMe has TLS over TCP only: write transport = ["tcp"].`)
	case t.Engine == "weft" && c.byName(t, connect) != "":
		c.refuse(problem.TLS, &t.Block, "tls", "a host without a key",
			"%s may connect, and no initiator of that name connects here, whose tls_key would be its key.", c.byName(t, connect))
	}
}

// encrypts checks one initiator.
func (c *checker) encrypts(i *inventory.Initiator) {
	var with, clear *inventory.Target
	for connect, t := range i.Reaches() {
		if !t.TLS {
			clear = t
			continue
		}
		with = t
		if i.Engine == "kernel" {
			c.refuse(problem.TLS, &connect.Block, "to", "TLS that weft does not set up",
				`%s speaks TLS, and this initiator is the kernel's, which needs tlshd and a key in a keyring: weft keeps neither. Write engine = "none" for weft's own host, or take tls away.`, whereBlock(&t.Block))
		} else if i.TLSKey == nil {
			c.refuse(problem.TLS, &connect.Block, "to", "a host without a key", "%s speaks TLS and takes nobody without: give the initiator a tls_key.", whereBlock(&t.Block))
		}
	}
	switch {
	case i.TLSKey == nil || i.Incomplete || clear == nil && with == nil:
	case with == nil:
		c.refuse(problem.TLS, &i.Block, "tls_key", "a key that encrypts nothing", "%s has no tls = true: all is said in clear.", whereBlock(&clear.Block))
	case clear != nil:
		c.warn(problem.TLS, &i.Block, "tls_key", "a host that encrypts a part", "It speaks TLS with %s, and in clear with %s, which has no tls = true.", with.Addr, whereBlock(&clear.Block))
	}
}
