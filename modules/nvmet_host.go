package modules

import (
	"context"
	"strings"

	"weft/internal/remote"
	"weft/plan"
)

// NVMeTHost keeps the name of a host known to the kernel's target, so that
// subsystems can allow it. Several subsystems may.
type NVMeTHost struct {
	NQN string
}

func (n *NVMeTHost) dir() string { return nvmetDir + "/hosts/" + n.NQN }

func (n *NVMeTHost) unwritable() error { return checkNQNs(n.NQN) }

// Looks implements kind.
func (n *NVMeTHost) Looks() []remote.Look { return []remote.Look{nvmetLook()} }

// Parse implements kind.
func (n *NVMeTHost) Parse(s remote.Seen) (*NVMeTHost, error) {
	t, err := parseNVMeT(s)
	if err != nil || t["hosts/"+n.NQN] == "" {
		return nil, err
	}
	return &NVMeTHost{NQN: n.NQN}, nil
}

// Diff implements kind.
func (n *NVMeTHost) Diff(have *NVMeTHost) []plan.Change {
	return change("known", have != nil, n != nil, plan.ImpactNone)
}

// Steps implements kind.
func (n *NVMeTHost) Steps(have *NVMeTHost) []remote.Step {
	switch {
	case n != nil && have == nil:
		return []remote.Step{run("modprobe", "nvmet"), makeWith(n.dir())}
	case n == nil && have != nil:
		return []remote.Step{run("rmdir", have.dir())}
	}
	return nil
}

// Boot implements volatile.
func (n *NVMeTHost) Boot() []string { return []string{"do_ modprobe nvmet", bootDir(n.dir())} }

// Advice implements adviser.
func (n *NVMeTHost) Advice(reply string) string {
	if strings.Contains(reply, "busy") {
		return "a subsystem that is not weft's allows this host: find it with ls " + nvmetDir + "/subsystems/*/allowed_hosts"
	}
	return ""
}

// Verify implements kind: the directory that was read back is its proof.
func (n *NVMeTHost) Verify(context.Context, remote.Host) error { return nil }
