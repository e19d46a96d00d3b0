package rules

import (
	"weft/inventory"
	"weft/inventory/problem"
)

// devices refuses one machine under two names, and warns where nothing says
// how to log in.
func (c *checker) devices() {
	hosts, serials, machines := registry[place]{}, registry[string]{}, registry[string]{}
	for _, s := range c.Switches {
		if s.Incomplete || s.Unmanaged {
			continue
		}
		conn := c.connectionOf(s.Connection)
		if other := c.atHost(hosts, s.Host, conn, &s.Block); other != nil {
			c.refuse(problem.DeviceTwice, &s.Block, "host", "duplicate management address", "%s also uses %s.", whereBlock(other), s.Host)
		}
		if s.Serial != "" {
			if other := serials.first(s.Serial, &s.Block); other != nil {
				c.refuse(problem.DeviceTwice, &s.Block, "serial", "duplicate serial number", "%s also has the serial number %s.", whereBlock(other), s.Serial)
			}
		}
		if s.Credential == nil && conn.User == "" && !conn.Incomplete {
			c.warn(problem.Login, &s.Block, "", "no login", `Neither a credential nor a connection sets a user, so the login depends on ~/.ssh/config.`)
		}
	}
	for _, s := range c.Servers {
		if s.Incomplete {
			continue
		}
		if other := c.atHost(hosts, s.Host, c.connectionOf(s.Connection), &s.Block); other != nil {
			c.refuse(problem.DeviceTwice, &s.Block, "host", "duplicate management address", "%s also uses %s.", whereBlock(other), s.Host)
		}
		if s.MachineID != "" {
			if other := machines.first(s.MachineID, &s.Block); other != nil {
				c.refuse(problem.DeviceTwice, &s.Block, "machine_id", "duplicate machine ID", "%s also has the machine ID %s; create a new one on cloned systems.", whereBlock(other), s.MachineID)
			}
		}
	}
}

// A place is a management address.
type place struct {
	host string
	port int
}

// atHost returns the device that has used the management address before; nil: none, or the
// port of the connection is not known.
func (c *checker) atHost(known registry[place], host string, conn *inventory.Connection, b *inventory.Block) *inventory.Block {
	if conn.Incomplete {
		return nil
	}
	return known.first(place{host, conn.Port}, b)
}

// connectionOf is the connection of a device: its own or the default one.
func (c *checker) connectionOf(own *inventory.Connection) *inventory.Connection {
	if own != nil {
		return own
	}
	if c.fallback == nil {
		c.fallback = c.DefaultConnection()
	}
	return c.fallback
}
