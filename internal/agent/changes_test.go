package agent

import (
	"slices"
	"testing"
)

func TestReloadsAndKeeps(t *testing.T) {
	for name, c := range map[string]struct {
		change         func(*Target)
		reloads, keeps bool
	}{
		"nothing":         {func(*Target) {}, true, true},
		"a key":           {func(c *Target) { c.Subsystems[0].Auth = []Auth{{Host: c.Subsystems[0].AllowHosts[0], KeyFile: "/k"}} }, true, true},
		"one more host":   {func(c *Target) { c.Subsystems[0].AllowHosts = append(c.Subsystems[0].AllowHosts, "nqn.x") }, true, true},
		"one host less":   {func(c *Target) { c.Subsystems[0].AllowHosts = c.Subsystems[0].AllowHosts[:1] }, true, false},
		"a limit":         {func(c *Target) { c.Subsystems[0].Namespaces[0].IOPS = 7 }, true, true},
		"no subsystem":    {func(c *Target) { c.Subsystems = c.Subsystems[1:] }, true, false},
		"no namespace":    {func(c *Target) { c.Subsystems[0].Namespaces = c.Subsystems[0].Namespaces[1:] }, true, false},
		"one portal less": {func(c *Target) { c.Portals = c.Portals[:1] }, true, false},
		"portals of one":  {func(c *Target) { c.Subsystems[0].Portals = []string{c.Portals[0].Address} }, true, len(portalsOf(good())) == 1},
		"all, by name":    {func(c *Target) { c.Subsystems[0].Portals = portalsOf(c) }, true, true},
		"TLS":             {func(c *Target) { c.Portals[0].TLS = true }, false, false},
		"marks":           {func(c *Target) { c.Portals[0].ToS = 104 }, true, true},
		"metrics":         {func(c *Target) { c.Metrics = "127.0.0.1:9420" }, false, true},
		"a file grows":    {func(c *Target) { c.Subsystems[0].Namespaces[0].Size *= 2 }, false, false},
		"memory shrinks":  {func(c *Target) { c.Subsystems[0].Namespaces[1].Size /= 2 }, false, false},
		"half a mirror": {func(c *Target) {
			n := &c.Subsystems[0].Namespaces[0]
			n.Backend, n.Mirror, n.Path = "mirror", []string{n.Path, "/other"}, ""
		}, false, false},
	} {
		to := good()
		c.change(to)
		if r, k := good().Reloads(to), good().Keeps(to); r != c.reloads || k != c.keeps {
			t.Errorf("%s: reloads %v, keeps %v", name, r, k)
		}
	}
}

func portalsOf(t *Target) (addresses []string) {
	for _, p := range t.Portals {
		if !slices.Contains(addresses, p.Address) {
			addresses = append(addresses, p.Address)
		}
	}
	return addresses
}
