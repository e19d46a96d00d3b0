package nic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// PFC keeps priority flow control of one NIC port: on for the priorities
// given, off for all others.
type PFC struct {
	PCI        string // address of the NIC port: 0000:41:00.0
	Interface  string `json:"-"` // observed: the name it has today
	Priorities []int  // ascending
}

// PFCKind is the kind pfc.
func PFCKind() *host.Kind[PFC] {
	return &host.Kind[PFC]{
		Name: "pfc", Lasting: true, Risky: true, Port: pfcPort,
		Looks: (*PFC).Looks, Parse: (*PFC).Parse, Diff: (*PFC).Diff, Steps: (*PFC).Steps,
		About: (*PFC).About, Boot: (*PFC).Boot,
	}
}

func (p *PFC) look() remote.Look {
	return remote.Look{PCI: p.PCI, Args: []string{"dcb", "-j", "pfc", "show", "dev", "{if}"}}
}

func (p *PFC) Looks() []remote.Look { return []remote.Look{p.look()} }

func (p *PFC) Parse(s remote.Seen) (*PFC, error) {
	name, out, err := see.OutputOn(s, p.PCI, p.look())
	if err != nil {
		return nil, err
	}
	var got struct {
		Prio []bool `json:"prio_pfc"`
	}
	if err := see.JSON(out, &got); err != nil || len(got.Prio) != traffic.Priorities {
		return nil, fmt.Errorf("dcb -j pfc show dev %s answers %q", name, out)
	}
	have := &PFC{PCI: p.PCI, Interface: name}
	for prio, on := range got.Prio {
		if on {
			have.Priorities = append(have.Priorities, prio)
		}
	}
	return have, nil
}

// Diff: mlx5 takes the link down and up when the set of
// priorities changes (facts: hosts, 0.1).
func (p *PFC) Diff(have *PFC) []plan.Change {
	return plan.Changed("priorities", have.list(), p.list(), plan.ImpactLinkFlap)
}

func (p *PFC) list() string {
	words := slice.Map(p.Priorities, strconv.Itoa)
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}

func (p *PFC) Steps(have *PFC) []remote.Step {
	args := []string{"dcb", "pfc", "set", "dev", cmp.Or(p.Interface, have.Interface), "prio-pfc", "all:off"}
	for _, prio := range slices.Sorted(slices.Values(p.Priorities)) {
		args = append(args, strconv.Itoa(prio)+":on")
	}
	return []remote.Step{host.Run(args...)}
}

func (p *PFC) About() string { return p.PCI }

func (p *PFC) Boot() []string { return dcbLines(p.PCI, p.Steps(&PFC{Interface: anyNIC})) }

func pfcPort(r *inventory.RNIC) *PFC {
	if !classful(r) {
		return nil
	}
	p := &PFC{PCI: r.Place()}
	for _, c := range r.Fabric.Classes {
		if c.PFC && r.Fabric.Mode != "lossy" {
			p.Priorities = append(p.Priorities, c.Priority)
		}
	}
	slices.Sort(p.Priorities)
	return p
}
