package initiator

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"weft/internal/nvme/wire"
)

// A Namespace is a block device of a subsystem.
type Namespace struct {
	ID        uint32
	BlockSize int    // bytes
	Blocks    uint64 // how many
	NGUID     [16]byte
	EUI64     [8]byte
	UUID      [16]byte // zero if it has none
	ANAGroup  uint32   // of asymmetric access; 0 if the controller has none
}

// Size is the capacity in bytes.
func (n Namespace) Size() uint64 { return n.Blocks * uint64(n.BlockSize) }

// differs says in what a namespace is another than the one that was here before.
// The group of asymmetric access may change; a namespace that says who it is may
// have grown.
func (n Namespace) differs(was Namespace) (all []string) {
	note := func(what string, now, was any) {
		if now != was {
			all = append(all, fmt.Sprintf("%s %v, was %v", what, now, was))
		}
	}
	note("number", n.ID, was.ID)
	note("UUID", hex.EncodeToString(n.UUID[:]), hex.EncodeToString(was.UUID[:]))
	note("NGUID", hex.EncodeToString(n.NGUID[:]), hex.EncodeToString(was.NGUID[:]))
	note("EUI64", hex.EncodeToString(n.EUI64[:]), hex.EncodeToString(was.EUI64[:]))
	note("block size", n.BlockSize, was.BlockSize)
	known := n.UUID != [16]byte{} || n.NGUID != [16]byte{} || n.EUI64 != [8]byte{}
	if n.Blocks < was.Blocks || !known {
		note("blocks", n.Blocks, was.Blocks)
	}
	return all
}

// Namespaces are those that were active when the controller was connected.
func (c *Controller) Namespaces() []Namespace { return slices.Clone(c.namespaces) }

// scan reads the active namespaces.
func (c *Controller) scan() ([]Namespace, error) {
	var all []Namespace
	raw := make([]byte, wire.IdentifySize)
	for after := uint32(0); ; {
		cmd := wire.IdentifyCommand{CNS: wire.CNSActiveNS, NSID: after}.Command()
		if _, err := c.admin.do(cmd, raw); err != nil {
			return nil, fmt.Errorf("list namespaces: %w", err)
		}
		var ids wire.NSList
		if err := ids.UnmarshalBinary(raw); err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id <= after {
				return nil, fmt.Errorf("list of namespaces is not ascending: %d after %d", id, after)
			}
			after = id
			ns, err := c.namespace(id, raw)
			if err != nil {
				return nil, fmt.Errorf("namespace %d: %w", id, err)
			}
			all = append(all, ns)
		}
		if len(ids) < wire.MaxNSList {
			return all, nil
		}
	}
}

// namespace reads one; raw is scratch memory.
func (c *Controller) namespace(id uint32, raw []byte) (ns Namespace, err error) {
	if _, err := c.admin.do(wire.IdentifyCommand{CNS: wire.CNSNamespace, NSID: id}.Command(), raw); err != nil {
		return ns, fmt.Errorf("identify: %w", err)
	}
	var idns wire.IdentifyNamespace
	if err := idns.UnmarshalBinary(raw); err != nil {
		return ns, err
	}
	if err := idns.Validate(); err != nil {
		return ns, err
	}
	ns = Namespace{ID: id, BlockSize: idns.BlockSize(), Blocks: idns.NSZE, NGUID: idns.NGUID, EUI64: idns.EUI64, ANAGroup: idns.ANAGRPID}

	_, err = c.admin.do(wire.IdentifyCommand{CNS: wire.CNSNSDescriptors, NSID: id}.Command(), raw)
	if errors.As(err, new(wire.Status)) {
		return ns, nil // old controllers have no descriptors
	}
	if err != nil {
		return ns, fmt.Errorf("identify descriptors: %w", err)
	}
	var d wire.NSDescriptors
	if err := d.UnmarshalBinary(raw); err != nil {
		return ns, err
	}
	ns.UUID = d.UUID
	return ns, nil
}
