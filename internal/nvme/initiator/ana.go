package initiator

import (
	"fmt"

	"weft/internal/nvme/wire"
)

// cmicANA is the bit of CMIC that says that there is asymmetric access.
const cmicANA = 1 << 3

// ANAState is how well a namespace can be reached over this controller now;
// always optimized where the controller knows no difference.
func (c *Controller) ANAState(ns Namespace) (wire.ANAState, error) {
	if c.identity.CMIC&cmicANA == 0 || ns.ANAGroup == 0 {
		return wire.ANAOptimized, nil
	}
	// LSP 1 leaves out the lists of namespaces: the log has one known length.
	raw := make([]byte, wire.ANAHeaderSize+32*int(min(c.identity.NANAGRPID, 1<<10)))
	for at := 0; at < len(raw); at += logChunk {
		part := raw[at:min(at+logChunk, len(raw))]
		cmd := wire.GetLogPageCommand{LID: wire.LogANA, LSP: 1, Length: uint64(len(part)), Offset: uint64(at)}.Command()
		if _, err := c.admin.do(cmd, part); err != nil {
			return 0, fmt.Errorf("%s: read the log of asymmetric access: %w", c.opts.Addr, err)
		}
	}
	var log wire.ANALog
	if err := log.UnmarshalBinary(raw); err != nil {
		return 0, fmt.Errorf("%s: log of asymmetric access: %w", c.opts.Addr, err)
	}
	for _, g := range log.Groups {
		if g.ID == ns.ANAGroup {
			return g.State, nil
		}
	}
	return 0, fmt.Errorf("%s: namespace %d is in group %d of asymmetric access, which the log does not have", c.opts.Addr, ns.ID, ns.ANAGroup)
}

// usable orders the states: lower is better, and 0 is not at all.
func usable(s wire.ANAState) int {
	switch s {
	case wire.ANAOptimized:
		return 1
	case wire.ANANonOptimized:
		return 2
	}
	return 0
}
