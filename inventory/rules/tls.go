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
		c.refuse(problem.TLS, &t.Block, "tls", "TLS not managed by weft",
			`The kernel target needs tlshd and a keyring, which weft does not manage: set engine = "weft".`)
	case slices.Contains(t.Transport, "rdma"):
		c.refuse(problem.TLS, &t.Block, "transport", "TLS over RDMA", `NVMe supports TLS only over TCP: set transport = ["tcp"].`)
	case t.Engine == "weft" && c.byName(t, connect) != "":
		c.refuse(problem.TLS, &t.Block, "tls", "host without a key",
			"%s may connect, but no initiator of that name connects here, so it has no tls_key.", c.byName(t, connect))
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
			c.refuse(problem.TLS, &connect.Block, "to", "TLS not managed by weft",
				`%s requires TLS, and the kernel initiator needs tlshd and a key in a keyring, which weft does not manage: set engine = "none" for weft's own host, or remove tls.`, whereBlock(&t.Block))
		} else if i.TLSKey == nil {
			c.refuse(problem.TLS, &connect.Block, "to", "host without a key", "%s requires TLS: set tls_key in the initiator.", whereBlock(&t.Block))
		}
	}
	switch {
	case i.TLSKey == nil || i.Incomplete || clear == nil && with == nil:
	case with == nil:
		c.refuse(problem.TLS, &i.Block, "tls_key", "unused TLS key", "%s has no tls = true, so the connection is not encrypted.", whereBlock(&clear.Block))
	case clear != nil:
		c.warn(problem.TLS, &i.Block, "tls_key", "partly encrypted host", "It uses TLS with %s, but not with %s, which has no tls = true.", with.Addr, whereBlock(&clear.Block))
	}
}
