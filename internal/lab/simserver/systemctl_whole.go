//go:build unix

package simserver

import (
	"fmt"
	"maps"
	"slices"
)

// whole answers verbs about the server as a whole. Whoever is logged in has
// started after all that starts at boot.
func (c *systemctlCall) whole() int {
	switch {
	case len(c.units) > 0:
		return c.notSimulated(1)
	case c.verb == "is-system-running":
		c.server.mu.Lock()
		units := slices.Collect(maps.Values(c.server.units))
		c.server.mu.Unlock()
		for _, u := range units {
			if c.server.active(u) == "failed" {
				fmt.Fprintln(c.stdout, "degraded")
				return 1
			}
		}
		fmt.Fprintln(c.stdout, "running")
		return 0
	case !c.user.root:
		return c.fail(4, "Failed to reboot: Interactive authentication required.")
	case c.server.spec.Restart == nil:
		return c.notSimulated(1)
	}
	c.server.spec.Restart()
	return 0
}
