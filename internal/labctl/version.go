package labctl

import (
	"strings"

	"weft/internal/agent"
	"weft/inventory"
)

// Version is the version of this program, weft or weft-lab, with its build. The two work
// together only when it is the same.
func Version() string { return inventory.Version + " (" + strings.Trim(agent.Version(), "()") + ")" }
