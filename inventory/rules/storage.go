package rules

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"weft/internal/nvme/names"
	"weft/inventory"
	"weft/inventory/problem"

	"github.com/google/uuid"
)

// pools checks that drives have stable names and belong to one pool.
func (c *checker) pools() {
	unstable := regexp.MustCompile(`^(/dev/)?(nvme[0-9]+n[0-9]+|sd[a-z]+|vd[a-z]+)$`)
	type drive struct {
		s    *inventory.Server
		name string
	}
	drives := registry[drive]{}
	for _, p := range c.Pools {
		if p.Incomplete {
			continue
		}
		if len(p.Drives) == 0 {
			c.refuse(problem.Drive, &p.Block, "drives", "no drives", "A pool needs at least one drive.")
		}
		for _, name := range p.Drives {
			switch {
			case unstable.MatchString(name):
				c.refuse(problem.Drive, &p.Block, "drives", "unstable drive name", "%q may be another drive after a reboot: use its name below /dev/disk/by-id.", name)
			case name == "" || name == "." || name == ".." || strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == ' ' || !unicode.IsPrint(r) }):
				c.refuse(problem.Drive, &p.Block, "drives", "invalid drive name", "%q is not a name below /dev/disk/by-id.", name)
			}
			if other := drives.first(drive{p.Server, name}, &p.Block); other != nil {
				c.refuse(problem.DriveTwice, &p.Block, "drives", "drive used twice", "%s is already a drive of %s.", name, whereBlock(other))
			}
		}
	}
}

func (c *checker) volumes() {
	type place struct {
		pool *inventory.Pool
		name string
	}
	names := registry[place]{}
	for _, v := range c.Volumes {
		if v.Incomplete {
			continue
		}
		if other := names.first(place{v.Pool, v.Name}, &v.Block); other != nil {
			c.refuse(problem.VolumeName, &v.Block, "pool", "duplicate volume name", "%s also gets the name %q in %s.", whereBlock(other), v.Name, v.Pool.Addr)
		}
		c.mirror(v)
		if v.Size <= 0 {
			c.refuse(problem.Value, &v.Block, "size", "empty volume", "The size must be more than 0.")
		}
	}
}

// mirror checks that a copy does not share the fate of what it copies.
func (c *checker) mirror(v *inventory.Volume) {
	if len(v.Mirror) > 1 {
		c.refuse(problem.Mirror, &v.Block, "mirror", "more than two halves", "A mirror has two halves: the volume in its pool, and one in another pool (%d are named).", len(v.Mirror))
		return
	}
	for _, p := range v.Mirror {
		switch {
		case v.Pool == nil || p.Incomplete || v.Pool.Incomplete:
		case p == v.Pool:
			c.refuse(problem.Mirror, &v.Block, "mirror", "mirror in the same pool", "%s already holds the volume: both copies would be lost together.", whereBlock(&p.Block))
		case p.Server != nil && p.Server == v.Pool.Server:
			c.warn(problem.Mirror, &v.Block, "mirror", "mirror on the same server", "%s is on %s, like %s: the mirror survives the loss of a drive, but not of the server.", whereBlock(&p.Block), p.Server.Addr, v.Pool.Addr)
		}
	}
}

// targets checks that the attributes of a target go with its engine.
func (c *checker) targets() {
	portals := registry[netip.AddrPort]{}
	for _, t := range c.Targets {
		if t.Incomplete {
			continue
		}
		external := t.Engine == "external"
		switch {
		case external && t.Server != nil:
			c.refuse(problem.Target, &t.Block, "server", "external target with a server", `A target with engine = "external" is not configured by weft and has no server.`)
		case !external && t.Server == nil:
			c.refuse(problem.Target, &t.Block, "", "target without a server", `server is required unless engine = "external".`)
		}
		if len(t.Portals) == 0 {
			c.refuse(problem.Portal, &t.Block, "portals", "no portals", "Without a portal, no initiator can connect.")
		}
		for _, p := range t.Portals {
			if !external && p.Address.IsValid() {
				if other := portals.first(p.Address, &t.Block); other != nil {
					c.refuse(problem.Portal, &t.Block, "portals", "portal used twice", "%s is also a portal of %s: use another port for one of them.", p.Address, whereBlock(other))
				}
			}
			switch {
			case external && p.RNIC != nil:
				c.refuse(problem.Portal, &t.Block, "portals", "NIC as an external portal", "Write the address of %s as a string.", p.RNIC.Addr)
			case !external && p.RNIC == nil:
				c.refuse(problem.Portal, &t.Block, "portals", "literal portal", "%s must be a reference to a NIC of the server.", p.Address)
			case p.RNIC != nil && p.RNIC.Server != t.Server:
				c.refuse(problem.Portal, &t.Block, "portals", "portal on another server", "%s is not a NIC of %s.", whereBlock(&p.RNIC.Block), nameOf(t.Server))
			case p.RNIC != nil && !p.RNIC.Address.IsValid() && !p.RNIC.Incomplete:
				c.refuse(problem.Portal, &t.Block, "portals", "portal without an address", "%s has no address.", whereBlock(&p.RNIC.Block))
			}
		}
	}
}

// nameOf is the server's address; there may be no server.
func nameOf(s *inventory.Server) string {
	if s == nil {
		return "the target's server"
	}
	return s.Addr
}

// subsystems checks names, namespaces and what is used twice.
func (c *checker) subsystems() {
	nqns, serials, uuids := registry[string]{}, registry[string]{}, registry[string]{}
	type export struct {
		volume *inventory.Volume
		pool   *inventory.Pool
	}
	volumes := registry[export]{}
	for _, t := range c.Targets {
		for _, s := range t.Subsystems {
			c.subsystem(t, s, nqns, serials)
			ids := registry[uint32]{}
			for _, n := range s.Namespaces {
				c.namespace(t, n)
				if other := ids.first(n.ID, &n.Block); other != nil && n.ID != 0 {
					c.refuse(problem.NSID, &n.Block, "", "duplicate namespace ID", "%s also has the ID %d.", whereBlock(other), n.ID)
				}
				if n.Incomplete {
					continue
				}
				if other := uuids.first(strings.ToLower(n.UUID), &n.Block); other != nil {
					c.refuse(problem.UUID, &n.Block, "uuid", "UUID used twice", "%s also has %s.", whereBlock(other), n.UUID)
				}
				if n.From != nil {
					if other := volumes.first(export{n.From, n.From.On(t.Server)}, &n.Block); other != nil {
						c.refuse(problem.VolumeTwice, &n.Block, "from", "volume exported twice", "%s also exports %s: their hosts would overwrite each other's data.", whereBlock(other), n.From.Addr)
					}
				}
			}
		}
	}
}

func (c *checker) subsystem(t *inventory.Target, s *inventory.Subsystem, nqns, serials registry[string]) {
	if s.Incomplete {
		return
	}
	c.nqn(&s.Block, "nqn", s.NQN)
	if other := nqns.first(s.NQN, &s.Block); other != nil {
		c.refuse(problem.NQNTwice, &s.Block, "nqn", "NQN used twice", "%s also has %s.", whereBlock(other), s.NQN)
	}
	if given := s.Writes("allow_hosts"); given {
		hosts := map[string]bool{}
		for _, host := range s.AllowHosts {
			c.nqn(&s.Block, "allow_hosts", host)
			if hosts[host] {
				c.refuse(problem.NQNTwice, &s.Block, "allow_hosts", "NQN used twice", "%s is in the list twice.", host)
			}
			hosts[host] = true
		}
	}
	if t.Engine == "external" {
		if len(s.Namespaces) > 0 {
			c.refuse(problem.Target, &s.Namespaces[0].Block, "", "namespace of an external target", "weft does not configure external targets.")
		}
		return
	}
	switch {
	case len(s.Serial) > names.MaxSerial || !serial.MatchString(s.Serial):
		c.refuse(problem.Serial, &s.Block, "serial", "invalid serial number", "%q is not 1 to 20 printable ASCII characters without leading or trailing spaces.", s.Serial)
	default:
		if other := serials.first(s.Serial, &s.Block); other != nil {
			c.refuse(problem.Serial, &s.Block, "serial", "serial number used twice", "%s also has %s.", whereBlock(other), s.Serial)
		}
	}
}

func (c *checker) namespace(t *inventory.Target, n *inventory.Namespace) {
	if n.ID == 0 || n.ID > names.MaxNSID {
		c.refuse(problem.NSID, &n.Block, "", "invalid namespace ID", "The label must be a number from 1 to %d.", uint32(names.MaxNSID))
	}
	if n.Incomplete {
		return
	}
	if id, err := uuid.Parse(n.UUID); err != nil || id == uuid.Nil || len(n.UUID) != 36 {
		c.refuse(problem.UUID, &n.Block, "uuid", "invalid UUID", "%q is not a UUID such as 123e4567-e89b-42d3-a456-426614174000.", n.UUID)
	}
	if n.From != nil && n.From.Pool != nil && t.Server != nil && n.From.Pool.Server != nil && n.From.On(t.Server) == nil {
		c.refuse(problem.Elsewhere, &n.Block, "from", "volume on another server", "%s is on %s, but the target runs on %s.",
			whereBlock(&n.From.Block), nameOf(n.From.Pool.Server), t.Server.Addr)
	}
	switch {
	case n.Limits == nil:
	case t.Engine == "nvmet":
		c.refuse(problem.Limits, &n.Block, "limits", "limits are not supported", `The kernel target has no limits: use engine = "weft" (%s has engine = "nvmet", %s).`, t.Addr, problem.Where(t.At("engine")))
	case t.Engine == "external":
		c.refuse(problem.Limits, &n.Block, "limits", "limits are not supported", `weft does not configure an external target: set its limits on the array (%s has engine = "external", %s).`, t.Addr, problem.Where(t.At("engine")))
	}
}
