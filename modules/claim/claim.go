// Package claim says who holds a device: what servers, switches and vCenters, and those who
// show it to people, have in common.
package claim

import (
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/plan"
)

// A Holder says who holds a lease on a device. Alive reports whether the weft
// that a lease names still runs; nil: only the lease's end tells.
type Holder struct {
	Who     string            `json:"who"`     // user@host, for people
	Machine string            `json:"machine"` // machine id of where weft runs
	PID     int               `json:"pid"`
	Started string            `json:"started"` // of the process, as its system tells it
	Alive   func(Holder) bool `json:"-"`
}

// Outlived reports whether another holder is known to be gone: it ran on this
// machine.
func (h Holder) Outlived(other Holder) bool {
	return h.Alive != nil && other.Machine != "" && other.Machine == h.Machine && !h.Alive(other)
}

// A Token is greater than those of all holders before: a device that has seen one
// refuses whoever comes with a lesser one, or with none. The zero Token is none.
type Token struct {
	Epoch    uint64 // of the store that gave it
	Revision uint64
}

// None reports whether it is no token.
func (t Token) None() bool { return t == Token{} }

func (t Token) String() string { return fmt.Sprintf("%d.%d", t.Epoch, t.Revision) }

// Refused is the error about a device that another holds, and may hold for
// another while.
func Refused(device, holder string, left time.Duration) error {
	return hint.Wrap(&plan.HeldError{Device: device, Holder: holder, Left: left},
		"wait until it is done; if that weft is gone, the lease ends by itself, or: weft unlock '%s'", device)
}
