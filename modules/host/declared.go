package host

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"weft/internal/hint"
	"weft/plan"
)

// Declared is what the ledger of a machine says of it, as files declare that: Port and
// Connect of an OS the other way round. What kinds write by themselves (Kind.Writes) is
// not in it.
type Declared struct {
	Ports  []DeclaredPort
	Paths  []DeclaredPath
	Blocks []DeclaredBlock // in the server
	Loose  []LooseBlock
}

// A DeclaredPort is an rnic. One that is in no fabric has an address only.
type DeclaredPort struct {
	Name, PCI string
	Fabric    bool         // it has been set for one
	RoCE      bool         // and for RDMA over Ethernet
	Address   netip.Prefix // that it was given; invalid: none
	VLAN      int
	Software  bool           // RDMA is done in software
	VMK       *DeclaredBlock // what has the address, where that is not the NIC itself
}

// A DeclaredPath is a connection to a subsystem, by systems that decide themselves how
// they do it.
type DeclaredPath struct {
	Name           string // TARGET.SUBSYSTEM@ADDRESS
	NQN, Transport string
	Address        netip.AddrPort
	HostNQN        string
}

// A DeclaredBlock is a block with what is set in it, where that is not what is usual.
type DeclaredBlock struct {
	Kind, Label string // "": it has no label
	Set         []Setting
}

// A LooseBlock is one in the rnic of a NIC that the ledger does not tell: who made what it is
// about knows it. Makes are those of Blocks that are not written beside it.
type LooseBlock struct {
	DeclaredBlock
	Makes []DeclaredBlock
}

// Applied are the entries of a kind in a ledger, as weft applied them, with their names.
func Applied[T any](entries []plan.Entry, kind string) (list []T, names []string, err error) {
	for _, e := range entries {
		if e.Kind != kind {
			continue
		}
		applied, _, err := states[T](plan.Entry{Applied: e.Applied})
		if err != nil || applied == nil {
			return nil, nil, unreadable(e)
		}
		list, names = append(list, *applied), append(names, e.Name)
	}
	return list, names, nil
}

func unreadable(e plan.Entry) error {
	return hint.Wrap(fmt.Errorf("the ledger's entry %s cannot be read", e.Key()), "apply again with the files that made it")
}

// Port is the port at a PCI address, which is added where it is not there.
func (d *Declared) Port(pci string) *DeclaredPort {
	for i := range d.Ports {
		if d.Ports[i].PCI == pci {
			return &d.Ports[i]
		}
	}
	d.Ports = append(d.Ports, DeclaredPort{PCI: pci})
	return &d.Ports[len(d.Ports)-1]
}

// Has reports whether a ledger has an entry of a kind.
func Has(entries []plan.Entry, kind string) bool {
	return slices.ContainsFunc(entries, func(e plan.Entry) bool { return e.Kind == kind && len(e.Applied) > 0 && json.Valid(e.Applied) })
}
