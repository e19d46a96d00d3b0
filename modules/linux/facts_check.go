package linux

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/host"
)

// recovery is how the PCI ids of NVIDIA's cards begin whose firmware does not
// start: pci.ids 2026.08.22 calls them flash recovery.
const recovery = "15b3:02"

// A checker compares one NIC with what is declared and known of it.
type checker struct {
	want   *inventory.RNIC
	link   *inventory.Link
	have   host.NICFacts
	server *catalogue.Server // its row; nil: none
	row    *catalogue.NIC    // nil: none
	out    []host.Finding

	slow bool // the card is none for the cable, which has been said
}

// checkNIC compares a declared NIC with the facts. Only a fact of the catalogue
// that has a source refuses; what a machine reports warns: it may be mended
// without a change of the files.
func checkNIC(e host.Expectation, s *host.ServerFacts, have host.NICFacts) []host.Finding {
	known := e.Hardware
	c := &checker{want: e.RNIC, link: e.Link, have: have, server: known.Server(s.Vendor, s.Model), row: known.NIC(have.ID)}
	switch {
	case have.Absent:
		if have.PCI == "" {
			c.warn(c.want.At("match"), "no port of the server has the MAC address %s", c.want.MAC)
		} else {
			c.warn(c.want.At("match"), "the server has no PCI device %s", have.PCI)
		}
		return c.out
	case unmanaged(have) != nil:
		err := unmanaged(have)
		c.add(true, c.want.At("match"), hint.Of(err), "%v", err)
		return c.out
	case strings.HasPrefix(have.ID, recovery):
		c.add(true, c.want.At("match"), "write its firmware again, with the vendor's tool",
			"the firmware of the card is broken: it has started as %s, which is for recovery only (pci.ids)", have.ID)
		return c.out
	}
	if f := c.want.Fabric; f != nil && f.Transport != "tcp" && have.OmniPath() {
		c.add(true, c.want.At("fabric"), "take the rnic out of "+f.Addr+"; the fabric manager of Omni-Path is opafm",
			"%s is a port of Omni-Path (driver %s), a transport that weft does not manage, and %s is %s", have.Interface, have.Driver, f.Addr, f.Transport)
		return c.out
	}
	if c.row != nil {
		c.catalogued()
	}
	c.pcie()
	c.cable()
	c.infiniband()
	return c.out
}

// add notes a finding. Only where a fabric rests on the NIC is there anything to
// refuse.
func (c *checker) add(refuses bool, at hcl.Range, advice, format string, args ...any) {
	c.out = append(c.out, host.Finding{RNIC: c.want.Name, Place: fmt.Sprintf("%s:%d", at.Filename, at.Start.Line), Text: fmt.Sprintf(format, args...),
		Hint: advice, Refuses: refuses && c.want.Fabric != nil, PCI: c.want.Place()})
}

func (c *checker) warn(at hcl.Range, format string, args ...any) {
	c.add(false, at, "", format, args...)
}

// card names what was found.
func (c *checker) card() string { return c.have.Model + " (" + c.have.ID + ")" }

// catalogued compares what is declared with what the catalogue knows.
func (c *checker) catalogued() {
	row, f := c.row, c.want.Fabric
	if f != nil && f.Transport != "tcp" && !c.want.Software && row.Transports.Known && !slices.Contains(row.Transports.Value, f.Transport) {
		c.add(row.Transports.Proven(), c.want.At("fabric"), fmt.Sprintf(`use another card, or a fabric with transport = %q`, append(slices.Clone(row.Transports.Value), "tcp")[0]),
			"%s is %s, and the card, %s, speaks %s (%s)", f.Addr, f.Transport, c.card(), strings.Join(row.Transports.Value, " and "), row.Transports.From())
	}
	if f != nil && row.MaxMTU.Known && f.HostMTU > row.MaxMTU.Value {
		c.add(row.MaxMTU.Proven(), f.At("host_mtu"), fmt.Sprintf("set host_mtu = %d in %s", row.MaxMTU.Value, f.Addr),
			"host_mtu of %s is %d bytes, and the card, %s, takes at most %d (%s)", f.Addr, f.HostMTU, c.card(), row.MaxMTU.Value, row.MaxMTU.From())
	}
	if l := c.link; l != nil && row.Speed.Known && l.Speed > int64(row.Speed.Value)*1e9 {
		c.slow = true
		c.add(row.Speed.Proven(), l.At("speed"), "", "its cable is declared with %s, and no port of the card, %s, has more than %dG (%s)",
			gigabit(l.Speed), c.card(), row.Speed.Value, row.Speed.From())
	}
	if row.Driver.Known && c.have.Driver != row.Driver.Value {
		driver := "no driver has the card"
		if c.have.Driver != "" {
			driver = "the driver " + c.have.Driver + " has the card"
		}
		c.warn(c.want.Range, "%s; that of %s is %s (%s)", driver, c.card(), row.Driver.Value, row.Driver.From())
	}
}

// pcie warns of a card that has less of a slot than it could use.
func (c *checker) pcie() {
	now, most := c.have.PCIe, c.have.PCIeMax
	if now.Generation() < 1 || now.Width == 0 || now.Width >= most.Width && now.Speed >= most.Speed {
		return
	}
	need := float64(c.have.Speed)
	if c.link != nil {
		need = max(need, float64(c.link.Speed))
	}
	why := ""
	if s := c.server; s != nil && s.PCIeGeneration.Known && most.Generation() > s.PCIeGeneration.Value {
		if now.Generation() == s.PCIeGeneration.Value && now.Width >= most.Width && need > 0 && now.Bandwidth() >= need {
			return // the best that the machine has, and enough
		}
		why = fmt.Sprintf("; no slot of a %s %s offers more than PCIe %d (%s)", s.Vendor, s.Model, s.PCIeGeneration.Value, s.PCIeGeneration.From())
	}
	text := fmt.Sprintf("PCIe runs at %s and could at %s", now, most)
	if need > 0 {
		text += fmt.Sprintf(": at most %.0f Gbit/s for a port of %s", math.Floor(now.Bandwidth()/1e9), gigabit(int64(need)))
	}
	c.warn(c.want.Range, "%s", text+why)
}

// cable compares the link of the interface with the one declared.
func (c *checker) cable() {
	switch l := c.link; {
	case l == nil:
	case c.unswept(): // rdma_link says so
	case c.have.Carrier != nil && !*c.have.Carrier:
		c.warn(l.Range, "%s has no carrier: is the cable of %s in, and its other end on?", c.have.Interface, l.Addr)
	case !c.slow && l.Speed > 0 && c.have.Speed > 0 && l.Speed != c.have.Speed:
		c.warn(l.At("speed"), "%s runs at %s, declared are %s", c.have.Interface, gigabit(c.have.Speed), gigabit(l.Speed))
	}
}

// gigabit writes a speed as the files do: 100G.
func gigabit(bits int64) string {
	if bits%1e9 != 0 {
		return fmt.Sprintf("%dM", bits/1e6)
	}
	return fmt.Sprintf("%dG", bits/1e9)
}
