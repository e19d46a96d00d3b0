package target

import (
	"encoding"
	"math/bits"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// identify performs Identify: 4096 bytes about the controller or a namespace.
func (c *controller) identify(x *fabric.Exchange) {
	answer, st := c.identity(x.Command.Identify())
	if st != wire.Success {
		x.Complete(0, st)
		return
	}
	page, err := answer.AppendBinary(make([]byte, 0, wire.IdentifySize))
	if err != nil {
		c.t.log.Error("identify", "error", err)
		x.Complete(0, wire.InternalError.WithDNR())
		return
	}
	reply(x, page)
}

func (c *controller) identity(id wire.IdentifyCommand) (encoding.BinaryAppender, wire.Status) {
	if id.CNS == wire.CNSController {
		return c.self(), wire.Success
	}
	if c.sub == nil {
		return nil, wire.InvalidField.WithDNR() // discovery has nothing else
	}
	switch id.CNS {
	case wire.CNSActiveNS:
		if id.NSID >= wire.NSIDAll-1 {
			return nil, wire.InvalidNamespace.WithDNR()
		}
		return c.sub.active(id.NSID), wire.Success
	case wire.CNSCtrlIO:
		if id.CSI != 0 {
			return nil, wire.InvalidField.WithDNR()
		}
		return blank{}, wire.Success // no limits besides MDTS
	case wire.CNSNamespace, wire.CNSNSDescriptors, wire.CNSIOCommandSet, wire.CNSNSIndependent:
		return c.sub.namespaceIdentity(id)
	}
	return nil, wire.InvalidField.WithDNR()
}

// self is the Identify Controller data.
func (c *controller) self() *wire.IdentifyController {
	id := &wire.IdentifyController{
		MN:        model,
		FR:        c.t.conf.Firmware,
		MDTS:      uint8(bits.Len(MaxTransfer/4096) - 1),
		CNTLID:    c.id,
		VER:       version,
		CTRATT:    1<<0 | 1<<6, // host ids of 128 bits; any command keeps alive
		CntrlType: wire.ControllerIO,
		ACL:       3,
		AERL:      maxAERs - 1,
		FRMW:      1<<1 | 1, // one slot, read only
		KAS:       10,       // kaUnit in 100 ms
		SQES:      0x66,
		CQES:      0x44,
		MAXCMD:    MaxDepth,
		SGLS:      1 | 1<<20, // any alignment; offsets, for data in capsules
		SubNQN:    wire.DiscoveryNQN,
		IOCCSZ:    (wire.CommandSize + InCapsule) / 16,
		IORCSZ:    wire.CompletionSize / 16,
		MSDBD:     1,
	}
	if c.sub == nil {
		id.SN = model
		id.CntrlType = wire.ControllerDiscovery
		id.LPA = 1 << 2 // log pages with offsets
		return id
	}
	id.SN = c.sub.Serial
	id.SubNQN = c.sub.NQN
	id.CMIC = 1<<0 | 1<<1 // many ports, many controllers
	id.NN = c.sub.lastNSID()
	id.VWC = 1 | 3<<1 // a cache to flush; one namespace or all
	return id
}

// active lists the ids of namespaces above one, as many as there is room for.
func (s *subsystem) active(above uint32) wire.NSList {
	var list wire.NSList
	for _, id := range s.ids {
		if id > above && len(list) < wire.MaxNSList {
			list = append(list, id)
		}
	}
	return list
}

// namespaceIdentity is what Identify says about one namespace. One that could
// exist but does not is blank where the specification has it so.
func (s *subsystem) namespaceIdentity(id wire.IdentifyCommand) (encoding.BinaryAppender, wire.Status) {
	ns := s.namespaces[id.NSID]
	if ns == nil {
		if id.CNS == wire.CNSNSDescriptors || id.NSID == 0 || id.NSID > s.lastNSID() {
			return nil, wire.InvalidNamespace.WithDNR()
		}
		return blank{}, wire.Success
	}
	switch id.CNS {
	case wire.CNSNamespace:
		return ns.self(), wire.Success
	case wire.CNSNSDescriptors:
		return &wire.NSDescriptors{UUID: ns.UUID}, wire.Success
	case wire.CNSNSIndependent:
		return independent{}, wire.Success
	}
	if id.CSI != 0 {
		return nil, wire.InvalidField.WithDNR()
	}
	return blank{}, wire.Success // no protection information
}

func (n *namespace) self() *wire.IdentifyNamespace {
	id := &wire.IdentifyNamespace{
		NSZE: n.blocks,
		NCAP: n.blocks,
		NUSE: n.blocks,
		NMIC: shared,
	}
	id.LBAF[0].LBADS = uint8(bits.TrailingZeros(uint(n.info.BlockSize)))
	return id
}

// shared in NMIC: many controllers may have the namespace.
const shared = 1

// blank is an Identify page of zeroes.
type blank struct{}

func (blank) AppendBinary(b []byte) ([]byte, error) {
	return append(b, make([]byte, wire.IdentifySize)...), nil
}

// independent is what is common to namespaces of all command sets: shared, and
// ready. Base section 5.17.2.8.
type independent struct{}

func (independent) AppendBinary(b []byte) ([]byte, error) {
	page := make([]byte, wire.IdentifySize)
	page[1] = shared // NMIC
	page[14] = 1     // NSTAT: ready
	return append(b, page...), nil
}
