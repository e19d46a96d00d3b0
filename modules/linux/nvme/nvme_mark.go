package nvme

import (
	"fmt"

	"weft/internal/traffic"
	"weft/plan"
)

// The kernel does not show the type of service of a connection. A ledger says what weft
// made it with; a connection made otherwise has a mark that is not known.

// remember notes the ToS that the ledger has of the connection: made with, and found
// where it is still to be made again.
func (n *NVMeConnection) remember(made, found NVMeConnection) {
	tos := made.ToS
	n.unsure = false
	if found.NQN != "" && found.ToS != tos {
		tos, n.unsure = found.ToS, true
	}
	n.made = &tos
	if !n.Unassigned {
		return
	}
	if n.declared == nil {
		own := n.ToS
		n.declared = &own
	}
	n.ToS = tos
}

// Unmarked is how a script connects that does not know which mark the connection keeps.
func (n *NVMeConnection) Unmarked() (options string, ok bool) {
	return n.options(n.Transport), n.Unassigned && n.ToS < 0
}

// marked completes what was observed with the ToS that is known of it.
func (n *NVMeConnection) marked(have *NVMeConnection) {
	if n.made == nil {
		return
	}
	have.ToS, have.unsure, have.Class = *n.made, n.unsure, n.Class
	if n.declared != nil && *n.declared != n.ToS {
		have.declared = n.declared
	}
}

// marksAnew reports whether the ToS of the connection differs from the declared one. What is
// not known to have been made again is no state to go back to.
func (n *NVMeConnection) marksAnew(have *NVMeConnection) bool {
	if have.unsure {
		return n.Device == ""
	}
	return n.ToS != have.ToS
}

// remarked is what Diff says of it.
func (n *NVMeConnection) remarked(have *NVMeConnection) []plan.Change {
	if !n.marksAnew(have) {
		return nil
	}
	before, after := tosText(have.ToS), tosText(n.ToS)
	if have.unsure {
		before = plan.Unknown
	}
	if n.Class != "" {
		after += ", " + n.Class
	}
	return plan.Changed("tos", before, after, plan.ImpactTraffic)
}

// keptMark says that a connection keeps a mark that is not that of its class; "": it has the
// right one.
func (n *NVMeConnection) keptMark() string {
	if n.declared == nil {
		return ""
	}
	return fmt.Sprintf("warning: it keeps ToS %s, but TCP belongs to %s by default (ToS %s): write carries = [\"tcp\"] in the traffic_class that TCP shall have, and the plan shows the change",
		tosText(n.ToS), n.Class, tosText(*n.declared))
}

// tosText names a ToS with the DSCP that it stands for.
func tosText(tos int) string {
	if tos < 0 {
		return "none"
	}
	return fmt.Sprintf("%d (DSCP %d)", tos, traffic.DSCP(tos))
}
