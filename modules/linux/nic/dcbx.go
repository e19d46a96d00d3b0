package nic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// DCBX keeps who decides on the data center bridging of a NIC port: the host,
// with what weft sets, or the firmware with what a switch tells it.
type DCBX struct {
	PCI       string   // address of the NIC port: 0000:41:00.0
	Interface string   `json:"-"` // observed: the name it has today
	Modes     []string // host, ieee, cee, lld_managed, static; sorted

	Later bool `json:",omitempty"` // a daemon that owns it is stopped before
}

// DCBXKind is the kind dcbx.
func DCBXKind() *host.Kind[DCBX] {
	return &host.Kind[DCBX]{
		Name: "dcbx", Lasting: true, Risky: true, Port: dcbxPort,
		Looks: (*DCBX).Looks, Parse: (*DCBX).Parse, Diff: (*DCBX).Diff, Steps: (*DCBX).Steps,
		About: (*DCBX).About, Boot: (*DCBX).Boot,
	}
}

func newDCBX(pci string) *DCBX { return &DCBX{PCI: pci, Modes: []string{"host", "ieee"}} }

func (d *DCBX) looks() (mode, lldpad remote.Look) {
	return remote.Look{PCI: d.PCI, Args: []string{"dcb", "-j", "dcbx", "show", "dev", "{if}"}},
		remote.Look{Args: []string{"systemctl", "is-active", "lldpad.service"}}
}

func (d *DCBX) Looks() []remote.Look {
	mode, lldpad := d.looks()
	return []remote.Look{mode, lldpad}
}

// Parse: a driver that has no say in DCBX leaves it to nobody.
func (d *DCBX) Parse(s remote.Seen) (*DCBX, error) {
	name, err := see.Netdev(s, d.PCI)
	if err != nil {
		return nil, err
	}
	mode, lldpad := d.looks()
	if s.Of(lldpad).Code == 0 && !d.Later {
		return nil, hint.Wrap(fmt.Errorf("lldpad runs and would overwrite what is set on %s", name),
			`stop it with: service "lldpad" { enabled = false  running = false }`)
	}
	got := s.Of(mode)
	if got.Err != nil && strings.Contains(string(got.Stderr)+string(got.Content), "Operation not supported") {
		return &DCBX{PCI: d.PCI, Interface: name, Modes: d.Modes}, nil
	}
	if got.Err != nil {
		return nil, got.Err
	}
	var set map[string]bool
	if err := see.JSON(got.Content, &set); err != nil {
		return nil, fmt.Errorf("dcb -j dcbx show dev %s answers %q", name, got.Content)
	}
	maps.DeleteFunc(set, func(_ string, on bool) bool { return !on })
	return &DCBX{PCI: d.PCI, Interface: name, Modes: slices.Sorted(maps.Keys(set))}, nil
}

// Diff: the firmware lets go, or takes over, at once.
func (d *DCBX) Diff(have *DCBX) []plan.Change {
	return plan.Changed("owner", strings.Join(have.Modes, " "), strings.Join(d.Modes, " "), plan.ImpactTraffic)
}

// Steps: dcb cannot set nothing: what was in nobody's hands
// before cannot be given back.
func (d *DCBX) Steps(have *DCBX) []remote.Step {
	if len(d.Modes) == 0 || slices.Equal(d.Modes, have.Modes) {
		return nil
	}
	name := cmp.Or(d.Interface, have.Interface)
	args := []string{"dcb", "dcbx", "set", "dev", name}
	for _, m := range d.Modes {
		args = append(args, strings.ReplaceAll(m, "_", "-"))
	}
	return []remote.Step{host.Run(args...)}
}

func (d *DCBX) Boot() []string { return dcbLines(d.PCI, d.Steps(&DCBX{Interface: anyNIC})) }

func (d *DCBX) About() string { return d.PCI }

func dcbxPort(r *inventory.RNIC) *DCBX {
	if !classful(r) || len(r.Fabric.Classes) == 0 {
		return nil
	}
	d := newDCBX(r.Place())
	d.Later = stopsLLDPAD(r.Server)
	return d
}

// stopsLLDPAD reports whether the server's own blocks stop the daemon that
// would overwrite what is set on NICs.
func stopsLLDPAD(s *inventory.Server) bool {
	return slices.ContainsFunc(s.Services, func(u *inventory.Service) bool {
		return strings.TrimSuffix(u.Name, ".service") == "lldpad" && !u.Running
	})
}
