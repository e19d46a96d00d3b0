package modules

import (
	"strings"

	"weft/internal/remote"
	"weft/plan"
)

// NVMeTHost keeps the name of a host known to the kernel's target, so that
// subsystems can allow it. Several subsystems may.
type NVMeTHost struct {
	NQN string
}

// NVMeTHostKind is the kind nvmet_host.
func NVMeTHostKind() *Kind[NVMeTHost] {
	return &Kind[NVMeTHost]{
		Name:  "nvmet_host",
		Looks: (*NVMeTHost).Looks, Parse: (*NVMeTHost).Parse, Diff: (*NVMeTHost).Diff, Steps: (*NVMeTHost).Steps,
		Check: (*NVMeTHost).unwritable, Boot: (*NVMeTHost).Boot, Advice: (*NVMeTHost).Advice, Self: (*NVMeTHost).Self,
		Beside: (*NVMeTHost).Beside,
	}
}

func (n *NVMeTHost) dir() string { return nvmetDir + "/hosts/" + n.NQN }

func (n *NVMeTHost) unwritable() error { return checkNQNs(n.NQN) }

func (n *NVMeTHost) Looks() []remote.Look { return []remote.Look{nvmetLook()} }

func (n *NVMeTHost) Parse(s remote.Seen) (*NVMeTHost, error) {
	t, err := parseNVMeT(s)
	if err != nil || t["hosts/"+n.NQN] == "" {
		return nil, err
	}
	return &NVMeTHost{NQN: n.NQN}, nil
}

func (n *NVMeTHost) Diff(have *NVMeTHost) []plan.Change {
	return plan.Changed("known", have != nil, n != nil, plan.ImpactNone)
}

func (n *NVMeTHost) Steps(have *NVMeTHost) []remote.Step {
	switch {
	case n != nil && have == nil:
		return []remote.Step{run("modprobe", "nvmet"), makeWith(n.dir())}
	case n == nil && have != nil:
		return []remote.Step{run("rmdir", have.dir())}
	}
	return nil
}

func (n *NVMeTHost) Boot() []string { return []string{"do_ modprobe nvmet", bootDir(n.dir())} }

func (n *NVMeTHost) Advice(reply string) string {
	if strings.Contains(reply, "busy") {
		return "a subsystem that is not weft's allows this host: find it with ls " + nvmetDir + "/subsystems/*/allowed_hosts"
	}
	return ""
}

func (n *NVMeTHost) Self(remote.Seen) []object { return []object{{"nvmet_host", n.NQN}} }

func (n *NVMeTHost) Beside(s remote.Seen) []object { return nvmetObjects(s) }
