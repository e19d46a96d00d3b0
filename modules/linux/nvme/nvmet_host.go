package nvme

import (
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/storage"
	"weft/plan"
)

// NVMeTHost keeps the name of a host known to the kernel's target, so that
// subsystems can allow it. Several subsystems may.
type NVMeTHost struct {
	NQN string
}

// NVMeTHostKind is the kind nvmet_host.
func NVMeTHostKind() *host.Kind[NVMeTHost] {
	return &host.Kind[NVMeTHost]{
		Name:  "nvmet_host",
		Looks: (*NVMeTHost).Looks, Parse: (*NVMeTHost).Parse, Diff: (*NVMeTHost).Diff, Steps: (*NVMeTHost).Steps,
		Check: (*NVMeTHost).unwritable, Boot: (*NVMeTHost).Boot, Advice: (*NVMeTHost).Advice, Self: (*NVMeTHost).Self,
		All: (*NVMeTHost).All,
	}
}

func (n *NVMeTHost) dir() string { return storage.NVMeT + "/hosts/" + n.NQN }

func (n *NVMeTHost) unwritable() error { return put.CheckNQNs(n.NQN) }

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
		return []remote.Step{host.Run("modprobe", "nvmet"), makeWith(n.dir())}
	case n == nil && have != nil:
		return []remote.Step{host.Run("rmdir", have.dir())}
	}
	return nil
}

func (n *NVMeTHost) Boot() []string { return []string{"do_ modprobe nvmet", bootDir(n.dir())} }

func (n *NVMeTHost) Advice(reply string) string {
	if strings.Contains(reply, "busy") {
		return "a subsystem that is not weft's allows this host: find it with ls " + storage.NVMeT + "/subsystems/*/allowed_hosts"
	}
	return ""
}

func (n *NVMeTHost) Self(remote.Seen) []host.Object {
	return []host.Object{{Kind: "nvmet_host", Name: n.NQN}}
}

func (n *NVMeTHost) All(s remote.Seen) []host.Object { return nvmetObjects(s) }
