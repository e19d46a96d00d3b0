package target

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"weft/internal/nvme/wire"
)

// adminEntries is the size of admin queues that discovery recommends, the
// least that the specification allows.
const adminEntries = 32

// Discovery is open to everybody, so its controllers get less: more than any host
// needs for a log that is read in pieces.
const (
	discoveryDepth    = 128      // entries of their queue; hosts ask for adminEntries
	discoveryTransfer = 16 << 10 // bytes of one command
)

// maxDepth is how many entries a queue may have.
func (c *controller) maxDepth() int { return maxDepth(c.sub == nil) }

func maxDepth(discovery bool) int {
	if discovery {
		return discoveryDepth
	}
	return MaxDepth
}

// maxTransfer is how many bytes one command may move.
func (c *controller) maxTransfer() int {
	if c.sub == nil {
		return discoveryTransfer
	}
	return MaxTransfer
}

// discoveryLog is the whole log page for a host that came to a portal: this
// discovery service, then the portals of each subsystem that the host may
// connect to. Nothing of the others shows.
func (t *Target) discoveryLog(host string, here Portal) ([]byte, error) {
	t.mu.Lock()
	conf, generation := t.conf, t.generation
	t.mu.Unlock()
	self, err := conf.entry(here, wire.DiscoveryNQN)
	if err != nil {
		return nil, err
	}
	self.SubType = wire.SubsystemDiscovery
	self.EFlags = wire.DiscoveryPersistent
	entries := []wire.DiscoveryEntry{self}
	for _, s := range conf.Subsystems {
		if !slices.Contains(s.AllowHosts, host) {
			continue
		}
		for _, p := range conf.Portals {
			if !s.servedAt(p.Address) {
				continue
			}
			e, err := conf.entry(p, s.NQN)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	head := wire.DiscoveryHeader{GenCtr: generation, NumRec: uint64(len(entries))}
	page, err := head.AppendBinary(nil)
	for i := range entries {
		if err == nil {
			page, err = entries[i].AppendBinary(page)
		}
	}
	return page, err
}

// here is the portal that a controller's host has come to.
func (c *controller) here() Portal {
	return Portal{Transport: c.transport, Address: c.portal.address, TLS: c.tls}
}

// entry is the record of a subsystem at a portal.
func (c *Config) entry(p Portal, nqn string) (wire.DiscoveryEntry, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return wire.DiscoveryEntry{}, fmt.Errorf("portal %q: %w", p.Address, err)
	}
	e := wire.DiscoveryEntry{
		TrType:  wire.TransportTCP,
		AdrFam:  wire.FamilyIPv4,
		SubType: wire.SubsystemNVM,
		Treq:    wire.TreqNoFlow,
		CntlID:  wire.DynamicController,
		ASQSize: adminEntries,
		SvcID:   strconv.Itoa(int(addr.Port())),
		SubNQN:  nqn,
		Address: addr.Addr().String(),
	}
	if addr.Addr().Is6() {
		e.AdrFam = wire.FamilyIPv6
	}
	if p.Transport == "rdma" {
		e.TrType = wire.TransportRDMA
		e.TSAS = wire.TSASOverRDMA()
	}
	if p.TLS {
		e.Treq |= wire.TreqSecure
		e.TSAS = wire.TSASOverTLS()
	}
	for i, q := range c.Portals {
		if q == p {
			e.PortID = uint16(i + 1)
		}
	}
	return e, nil
}
