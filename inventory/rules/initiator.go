package rules

import (
	"regexp"
	"strings"

	"weft/internal/nvme/names"
	"weft/inventory"
	"weft/inventory/problem"
)

func (c *checker) nqn(b *inventory.Block, attr, nqn string) {
	if why := names.Unfit(nqn); why != "" {
		c.refuse(problem.NQN, b, attr, "invalid NQN", "%q is not a valid NQN: %s.", nqn, why)
	}
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// initiators checks the names of hosts.
func (c *checker) initiators() {
	type owner struct {
		server    *inventory.Server
		initiator *inventory.Initiator
	}
	hosts := map[string]owner{}
	for _, i := range c.Initiators {
		if i.Incomplete {
			continue
		}
		c.nqn(&i.Block, "hostnqn", i.HostNQN)
		if i.HostID != "" && !uuidForm.MatchString(i.HostID) {
			c.refuse(problem.NQN, &i.Block, "hostid", "invalid host identifier", "%q is not a UUID such as 6ba7b810-9dad-51d1-80b4-00c04fd430c8.", i.HostID)
		}
		if len(i.HostNQN) <= names.MaxNQN && len(i.ProbeNQN) > names.MaxNQN {
			c.refuse(problem.NQN, &i.Block, "hostnqn", "host NQN too long for the probe", `weft's probe appends ":probe", which would exceed %d bytes.`, names.MaxNQN)
		}
		for _, nqn := range []string{i.HostNQN, i.ProbeNQN} {
			other, used := hosts[nqn]
			if used && other.server != i.Server {
				c.refuse(problem.HostNQNTwice, &i.Block, "hostnqn", "NQN used twice", "%s is also the host NQN of %s.", nqn, whereBlock(&other.initiator.Block))
			}
			if !used {
				hosts[nqn] = owner{i.Server, i}
			}
		}
	}
}

// reach checks that every initiator meets its targets on every plane. Each
// missing end is reported once, however many pairs it breaks.
func (c *checker) reach() {
	judged := map[*inventory.Target]bool{}
	for _, i := range c.Initiators {
		if i.Incomplete || i.Server == nil || i.Server.Incomplete {
			continue
		}
		planes := map[*inventory.Plane]bool{}
		fabrics := map[*inventory.Fabric]bool{}
		whole := true
		for _, r := range i.Server.RNICs {
			whole = whole && !r.Incomplete && (r.Fabric == nil || r.Plane != nil)
			planes[r.Plane] = true
			fabrics[r.Fabric] = true
		}
		if !whole {
			continue
		}
		for _, connect := range i.Connects {
			said := map[*inventory.Fabric]bool{}
			for _, t := range connect.To {
				f := c.fabricOf(t)
				if f == nil {
					continue // an external target outside of all planes, or already reported
				}
				if !judged[t] {
					judged[t] = true
					c.everyPlane(t, f)
				}
				if said[f] {
					continue
				}
				said[f] = true
				var missing []string
				for _, p := range f.Planes {
					if !planes[p] {
						missing = append(missing, `"`+p.Name+`"`)
					}
				}
				switch {
				case !fabrics[f]:
					c.refuse(problem.Unreachable, &connect.Block, "to", "no path to a target", "%s has no NIC in %s, where %s is.", whereBlock(&i.Server.Block), f.Addr, whereBlock(&t.Block))
				case len(missing) > 0:
					c.refuse(problem.Unreachable, &connect.Block, "to", "target not reachable on every plane", "%s has no NIC in plane %s of %s, where %s is.",
						whereBlock(&i.Server.Block), strings.Join(missing, " and "), f.Addr, whereBlock(&t.Block))
				}
			}
		}
	}
}

// fabricOf is the fabric of a target's portals; nil where that is not known.
func (c *checker) fabricOf(t *inventory.Target) *inventory.Fabric {
	if t.Incomplete {
		return nil
	}
	for _, p := range t.Portals {
		if p.Plane == nil || p.RNIC != nil && p.RNIC.Incomplete {
			return nil
		}
	}
	for _, p := range t.Portals {
		for _, f := range c.Fabrics {
			if f.Plane(p.Plane.Name) == p.Plane {
				return f
			}
		}
	}
	return nil
}

// everyPlane checks that a target has a portal in each plane of its fabric.
func (c *checker) everyPlane(t *inventory.Target, f *inventory.Fabric) {
	for _, plane := range f.Planes {
		found := false
		for _, p := range t.Portals {
			found = found || p.Plane == plane
		}
		if !found {
			c.refuse(problem.Unreachable, &t.Block, "portals", "target not reachable on every plane",
				"The target has no portal in plane %q of %s, so initiators cannot reach it there.", plane.Name, whereBlock(&f.Block))
		}
	}
}
