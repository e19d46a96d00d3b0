package nic

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// Pause keeps global pause of one NIC port, which stops all traffic at once and
// excludes pause by priority.
type Pause struct {
	PCI       string // address of the NIC port: 0000:41:00.0
	Interface string `json:"-"` // observed: the name it has today
	RX, TX    bool
	Autoneg   bool // what the peer wants may turn it on again
}

// PauseKind is the kind pause.
func PauseKind() *host.Kind[Pause] {
	return &host.Kind[Pause]{
		Name: "pause", Lasting: true, Risky: true, Port: pausePort,
		Looks: (*Pause).Looks, Parse: (*Pause).Parse, Diff: (*Pause).Diff, Steps: (*Pause).Steps,
		About: (*Pause).About, Boot: (*Pause).Boot,
	}
}

func (p *Pause) look() remote.Look {
	return remote.Look{PCI: p.PCI, Args: []string{"ethtool", "-a", "{if}"}}
}

func (p *Pause) Looks() []remote.Look { return []remote.Look{p.look()} }

// Parse: a driver that knows no pause has none.
func (p *Pause) Parse(s remote.Seen) (*Pause, error) {
	name, err := see.Netdev(s, p.PCI)
	if err != nil {
		return nil, err
	}
	have := &Pause{PCI: p.PCI, Interface: name}
	got := s.Of(p.look())
	switch said := string(got.Stderr) + string(got.Content); {
	case got.Code == 127:
		return nil, hint.Wrap(fmt.Errorf("the server has no ethtool to see whether %s sends global pause", name),
			`install it with: package "ethtool" {}`)
	case got.Err != nil && strings.Contains(said, "Operation not supported"):
		return have, nil
	case got.Err != nil:
		return nil, got.Err
	}
	seen := 0
	for line := range bytes.Lines(got.Content) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		on := strings.TrimSpace(value) == "on"
		switch key {
		case "Autonegotiate":
			have.Autoneg = on
		case "RX":
			have.RX = on
		case "TX":
			have.TX = on
		default:
			continue
		}
		seen++
	}
	if seen < 2 {
		return nil, fmt.Errorf("ethtool -a %s answers %q", name, got.Content)
	}
	return have, nil
}

func (p *Pause) Diff(have *Pause) []plan.Change {
	return append(append(plan.Changed("rx", have.RX, p.RX, plan.ImpactLinkFlap),
		plan.Changed("tx", have.TX, p.TX, plan.ImpactLinkFlap)...),
		plan.Changed("autoneg", have.Autoneg, p.Autoneg, plan.ImpactLinkFlap)...)
}

// Steps: only what differs is named: some drivers refuse the
// rest.
func (p *Pause) Steps(have *Pause) []remote.Step {
	name := cmp.Or(p.Interface, have.Interface)
	args := []string{"ethtool", "-A", name}
	for _, a := range []struct {
		word      string
		was, want bool
	}{{"autoneg", have.Autoneg, p.Autoneg}, {"rx", have.RX, p.RX}, {"tx", have.TX, p.TX}} {
		if a.was != a.want {
			args = append(args, a.word, map[bool]string{true: "on", false: "off"}[a.want])
		}
	}
	if len(args) == 3 {
		return nil
	}
	return []remote.Step{host.Run(args...)}
}

// Boot: it says only what is not so already, which ethtool
// would take for an error.
func (p *Pause) Boot() []string {
	on := &Pause{Interface: anyNIC, RX: !p.RX, TX: !p.TX, Autoneg: !p.Autoneg}
	var lines []string
	for _, line := range dcbLines(p.PCI, p.Steps(on)) {
		words := strings.Fields(strings.TrimPrefix(line, "do_ "))
		for i := 4; i+1 < len(words); i += 2 { // after ethtool -A "$(nic ADDRESS)", which is two words
			lines = append(lines, strings.Join(append(words[:4:4], words[i:i+2]...), " ")+" 2>/dev/null")
		}
	}
	return lines
}

func (p *Pause) About() string { return p.PCI }

// pausePort: the pause of a whole link is in the way of that of priorities.
func pausePort(r *inventory.RNIC) *Pause {
	if !classful(r) || r.Fabric.Mode == "lossy" {
		return nil
	}
	return &Pause{PCI: r.Place()}
}

// classful reports whether a NIC port tells traffic classes apart.
func classful(r *inventory.RNIC) bool { return r.Fabric != nil && r.Fabric.Transport == "rocev2" }
