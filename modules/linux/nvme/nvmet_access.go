package nvme

import (
	"slices"
	"strconv"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/storage"
	"weft/plan"
)

// NVMeTAccess ends what a subsystem of the kernel's target gives hosts beyond what is
// declared: host names that it admits, and weft's own ports that export it. nvmet_subsystem
// and nvmet_port only add, so that hosts have their new connections before this ends the
// old ones.
type NVMeTAccess struct {
	NQN        string
	Hosts      []string // declared
	Ports      []uint16 `json:",omitempty"` // declared ports that are not to export it
	ExtraHosts []string `json:",omitempty"` // admitted, and not declared
	ExtraPorts []uint16 `json:",omitempty"` // of Ports: those that export it
}

// NVMeTAccessKind is the kind nvmet_access.
func NVMeTAccessKind() *host.Kind[NVMeTAccess] {
	return &host.Kind[NVMeTAccess]{
		Name: "nvmet_access", Lasting: true, Fleeting: true,
		Looks: (*NVMeTAccess).Looks, Parse: (*NVMeTAccess).Parse, Diff: (*NVMeTAccess).Diff, Steps: (*NVMeTAccess).Steps,
		Check: (*NVMeTAccess).unwritable,
	}
}

func (n *NVMeTAccess) unwritable() error {
	return put.CheckNQNs(append([]string{n.NQN}, n.Hosts...)...)
}

func (n *NVMeTAccess) Looks() []remote.Look { return []remote.Look{nvmetLook()} }

func (n *NVMeTAccess) Parse(s remote.Seen) (*NVMeTAccess, error) {
	t, err := parseNVMeT(s)
	if err != nil {
		return nil, err
	}
	have := &NVMeTAccess{NQN: n.NQN, Hosts: n.Hosts, Ports: n.Ports}
	at := "subsystems/" + n.NQN
	if t[at+"/attr_model"] != nvmetMark {
		return have, nil // it comes, or it is refused
	}
	for _, h := range t.in(at + "/allowed_hosts") {
		if !slices.Contains(n.Hosts, h) {
			have.ExtraHosts = append(have.ExtraHosts, h)
		}
	}
	for _, p := range n.Ports {
		if t["ports/"+strconv.Itoa(int(p))+"/subsystems/"+n.NQN] != "" {
			have.ExtraPorts = append(have.ExtraPorts, p)
		}
	}
	return have, nil
}

func (n *NVMeTAccess) Diff(have *NVMeTAccess) (out []plan.Change) {
	for _, h := range both(n.ExtraHosts, have.ExtraHosts) {
		out = append(out, plan.Changed("allow_hosts."+h, given(have.ExtraHosts, h, "admitted"), given(n.ExtraHosts, h, "admitted"), plan.ImpactNone)...)
	}
	for _, p := range both(n.ExtraPorts, have.ExtraPorts) {
		out = append(out, plan.Changed("ports."+strconv.Itoa(int(p)), given(have.ExtraPorts, p, "exported"), given(n.ExtraPorts, p, "exported"), plan.ImpactTraffic)...)
	}
	return out
}

// both are the elements of two lists, each once.
func both[E comparable](a, b []E) []E {
	out := slices.Clone(a)
	for _, e := range b {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// given is the word for what is in a list.
func given[E comparable](list []E, e E, word string) string {
	if slices.Contains(list, e) {
		return word
	}
	return ""
}

func (n *NVMeTAccess) Steps(have *NVMeTAccess) (steps []remote.Step) {
	sub := &NVMeTSubsystem{NQN: n.NQN}
	for _, h := range both(have.ExtraHosts, n.ExtraHosts) {
		switch was, is := slices.Contains(have.ExtraHosts, h), slices.Contains(n.ExtraHosts, h); {
		case was && !is:
			steps = append(steps, host.Run("rm", sub.allows(h)))
		case is && !was:
			steps = append(steps, host.Run("ln", "-s", (&NVMeTHost{NQN: h}).dir(), sub.allows(h)))
		}
	}
	for _, p := range both(have.ExtraPorts, n.ExtraPorts) {
		link := storage.NVMeT + "/ports/" + strconv.Itoa(int(p)) + "/subsystems/" + n.NQN
		switch was, is := slices.Contains(have.ExtraPorts, p), slices.Contains(n.ExtraPorts, p); {
		case was && !is:
			steps = append(steps, host.Run("rm", link))
		case is && !was:
			steps = append(steps, host.Run("ln", "-s", sub.dir(), link))
		}
	}
	return steps
}
