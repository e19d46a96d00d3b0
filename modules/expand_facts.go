package modules

import (
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/host"
)

// expect tells a server which NICs its facts are to be compared with.
func (x *expansion) expect(d *host.Machine, s *inventory.Server) {
	if x.cables == nil {
		x.cables = map[*inventory.RNIC]*inventory.Link{}
		for _, l := range x.model.Links {
			for _, end := range []inventory.LinkEnd{l.From, l.To} {
				if end.RNIC != nil {
					x.cables[end.RNIC] = l
				}
			}
		}
	}
	for _, r := range s.RNICs {
		if r.PCI != "" {
			d.Expect(host.Expectation{RNIC: r, Link: x.cables[r], Hardware: x.hardware()})
		}
	}
}

// hardware is the catalogue.
func (x *expansion) hardware() *catalogue.Catalogue {
	if x.known == nil {
		known, err := catalogue.Load()
		if err != nil {
			panic(err) // it is part of weft; a test loads it
		}
		x.known = known
	}
	return x.known
}
