package nvme

import (
	"weft/internal/agent"
	"weft/internal/remote"
)

// Permits are the looks of this package that a reader does for others than root. Keys are
// not among them.
func Permits() []remote.Permit {
	target := (&Agent{Name: "weft-target", Unit: agent.Unit}).looks()
	return []remote.Permit{
		{What: "the kernel's target", Look: nvmetLook()},
		{What: "listeners of the RDMA connection manager", Look: listenersLook()},
		{What: "connections of the kernel", Look: nvmeLook()},
		{What: "the configuration of weft-target", Look: target.config},
		{What: "weft-target, as it runs", Look: target.status},
	}
}
