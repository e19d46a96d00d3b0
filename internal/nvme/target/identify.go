package target

import (
	"encoding"
	"encoding/binary"
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
	l := c.sub.now.Load()
	switch id.CNS {
	case wire.CNSActiveNS, wire.CNSActiveNSIO:
		switch {
		case id.NSID >= wire.NSIDAll-1:
			return nil, wire.InvalidNamespace.WithDNR()
		case id.CNS == wire.CNSActiveNSIO && id.CSI != 0:
			return nil, wire.InvalidField.WithDNR()
		}
		return l.active(id.NSID), wire.Success
	case wire.CNSCtrlIO:
		if id.CSI != 0 {
			return nil, wire.InvalidField.WithDNR()
		}
		return commandLimits{}, wire.Success
	case wire.CNSNamespace, wire.CNSNSDescriptors, wire.CNSIOCommandSet, wire.CNSNSIndependent:
		return l.namespaceIdentity(id)
	}
	return nil, wire.InvalidField.WithDNR()
}

// self is the Identify Controller data.
func (c *controller) self() *wire.IdentifyController {
	id := &wire.IdentifyController{
		// IEEE stays zero: weft has no OUI.
		MN:        model,
		FR:        c.t.firmware(),
		MDTS:      uint8(bits.Len(uint(c.maxTransfer()/4096)) - 1),
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
		MAXCMD:    uint16(c.maxDepth()),
		SGLS:      1 | 1<<20, // any alignment; offsets, for data in capsules
		SubNQN:    wire.DiscoveryNQN,
		IOCCSZ:    (wire.CommandSize + InCapsule) / 16,
		IORCSZ:    wire.CompletionSize / 16,
		MSDBD:     1,
	}
	if c.transport == "rdma" {
		id.SGLS |= 1 << 2 // keyed
	}
	if c.sub == nil {
		id.SN = model
		id.CntrlType = wire.ControllerDiscovery
		id.LPA = 1 << 2 // log pages with offsets
		id.OAES = wire.NoticeDiscovery
		return id
	}
	l := c.sub.now.Load()
	id.SN = l.Serial
	id.SubNQN = l.NQN
	id.CMIC = 1<<0 | 1<<1 | 1<<3 // many ports, many controllers, asymmetric access
	id.LPA = 1<<0 | 1<<1 | 1<<2  // health of namespaces, effects, offsets
	id.OAES = wire.NoticeNamespaces | wire.NoticeANA
	id.ANATT = anaTransition
	id.ANACAP = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4 // every state
	id.ANAGRPMAX = MaxGroups
	id.NANAGRPID = MaxGroups
	id.NN = l.highest()
	id.MNAN = maxNamespaces
	id.ONCS = 1<<0 | 1<<2 | 1<<3 // Compare, Dataset Management, Write Zeroes
	id.FUSES = wire.FusesCompareWrite
	id.VWC = 1 | 3<<1 // a cache to flush; one namespace or all
	return id
}

// anaTransition is how many seconds hosts wait in the state of change.
const anaTransition = 10

// firmware is the revision that hosts see.
func (t *Target) firmware() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conf.Firmware
}

// active lists the ids of namespaces above one, as many as there is room for.
func (l *layout) active(above uint32) wire.NSList {
	var list wire.NSList
	for _, id := range l.ids {
		if id > above && len(list) < wire.MaxNSList {
			list = append(list, id)
		}
	}
	return list
}

// namespaceIdentity is what Identify says about one namespace. One that could
// exist but does not is blank where the specification has it so.
func (l *layout) namespaceIdentity(id wire.IdentifyCommand) (encoding.BinaryAppender, wire.Status) {
	ns := l.namespaces[id.NSID]
	if ns == nil {
		if id.CNS == wire.CNSNSDescriptors || id.NSID == 0 || id.NSID > l.highest() {
			return nil, wire.InvalidNamespace.WithDNR()
		}
		return blank{}, wire.Success
	}
	switch id.CNS {
	case wire.CNSNamespace:
		return ns.self(), wire.Success
	case wire.CNSNSDescriptors:
		return &wire.NSDescriptors{UUID: ns.UUID, NGUID: ns.NGUID}, wire.Success
	case wire.CNSNSIndependent:
		return independent{ns}, wire.Success
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

		DLFEAT:   deallocatedZero,
		NGUID:    n.NGUID,
		ANAGRPID: n.Group,
	}
	if n.ReadOnly {
		id.NSATTR = writeProtected
	}
	id.LBAF[0].LBADS = uint8(bits.TrailingZeros(uint(n.info.BlockSize)))
	return id
}

const (
	shared         = 1 // in NMIC: many controllers may have the namespace
	writeProtected = 1 // in NSATTR

	// In DLFEAT: deallocated blocks read as zeroes, and Write Zeroes may
	// deallocate.
	deallocatedZero = 1 | 1<<3
)

// Limits of one Dataset Management, which hosts are asked to keep to so that it is
// done long before they lose patience: ranges, blocks of one range, and blocks of
// all. More is done, too.
const (
	mostRanges      = wire.MaxDSMRanges - 1 // what fits the field
	mostRangeBlocks = 1 << 21               // of 512 bytes a gibibyte
	mostBlocks      = 1 << 23
)

// commandLimits are what one command may be besides MDTS: DMRL, DMRSL and DMSL.
// NVM section 4.1.5.4, I/O Command Set Specific Identify Controller.
type commandLimits struct{}

func (commandLimits) AppendBinary(b []byte) ([]byte, error) {
	page := make([]byte, wire.IdentifySize)
	page[3] = mostRanges
	binary.LittleEndian.PutUint32(page[4:], mostRangeBlocks)
	binary.LittleEndian.PutUint64(page[8:], mostBlocks)
	return append(b, page...), nil
}

// blank is an Identify page of zeroes.
type blank struct{}

func (blank) AppendBinary(b []byte) ([]byte, error) {
	return append(b, make([]byte, wire.IdentifySize)...), nil
}

// independent is what is common to namespaces of all command sets.
// Base section 5.17.2.8.
type independent struct{ *namespace }

func (n independent) AppendBinary(b []byte) ([]byte, error) {
	page := make([]byte, wire.IdentifySize)
	page[1] = shared // NMIC
	binary.LittleEndian.PutUint32(page[4:], n.Group)
	if n.ReadOnly {
		page[8] = writeProtected // NSATTR
	}
	page[14] = 1 // NSTAT: ready
	return append(b, page...), nil
}
