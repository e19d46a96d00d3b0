package modules

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/agent"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/modules/linux/storage"
	"weft/plan"
)

// targets expands every server that exports something with weft's own target:
// one weft-target with all of its portals and subsystems.
func (x *expansion) targets() {
	own := slice.Filter(x.model.Targets, func(t *inventory.Target) bool { return t.Engine == "weft" })
	for s, targets := range slice.Group(own, func(t *inventory.Target) *inventory.Server { return t.Server }) {
		if d, ok := x.machine(s); ok {
			x.target(d, s, targets)
		}
	}
}

func (x *expansion) target(d *host.Machine, s *inventory.Server, targets []*inventory.Target) {
	cfg := &agent.Target{Owner: x.model.Name}
	var needs []plan.ID
	for _, t := range targets {
		var at []string
		for _, p := range t.Portals {
			cfg.Portals = append(cfg.Portals, portals(t, p)...)
			needs = append(needs, x.nics[p.RNIC]...)
			at = append(at, p.Address.String())
		}
		for _, sub := range t.Subsystems {
			one := x.subsystem(sub, s)
			if len(targets) > 1 {
				one.Portals = at // not those of the other targets
			}
			auth, keys := x.auth(d, t, sub)
			one.Auth, one.DemandAuth = auth, t.DemandAuth
			tls, tlsKeys := x.tls(d, t, sub)
			one.TLS = tls
			cfg.Subsystems = append(cfg.Subsystems, one)
			needs = slices.Concat(needs, keys, tlsKeys)
			for _, ns := range sub.Namespaces {
				needs = append(needs, x.rests(ns.From, s)...)
			}
		}
	}
	text, err := cfg.Marshal()
	if err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		x.diags = append(x.diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Subject: targets[0].Range.Ptr(),
			Summary: string(problem.Agent) + ": not a configuration weft-target takes", Extra: problem.Agent, Detail: err.Error(),
		})
		return
	}
	want := &nvme.Agent{Unassigned: unassigned(targets), Name: "weft-target", Bundle: x.env.Bundle, Config: string(text), Unit: agent.UnitText(cfg.Owner), Yields: x.yields(s)}
	id := x.thing(plan.ID{Device: s.Addr, Kind: "agent", Name: "weft-target"}, nvme.AgentKind().Want(d, want), targets[0].Range, needs...)
	x.access.agents = append(x.access.agents, served{id, d, targets, want})
	for _, t := range targets {
		x.stand(&t.Block, id)
		for _, p := range t.Portals {
			for _, transport := range offers(t, p) {
				x.exports[export{t, transport, p.Address}] = id
			}
		}
	}
}

// portals are those that weft-target opens at one address. RDMA of iWARP is TCP
// and takes its port, so that TCP is there only instead of it.
func portals(t *inventory.Target, p inventory.Portal) []agent.Portal {
	iwarp := p.RNIC != nil && p.RNIC.Fabric != nil && p.RNIC.Fabric.Transport == "iwarp"
	var list []agent.Portal
	for i, transport := range offers(t, p) {
		if iwarp && i > 0 && transport == "rdma" {
			continue
		}
		one := agent.Portal{Transport: transport, Address: p.Address.String(), Instead: iwarp && i > 0, TLS: t.TLS}
		if transport == "tcp" {
			one.ToS = uint8(max(0, standsIn(t, p).ToS()))
		}
		list = append(list, one)
	}
	return list
}

// unassigned are the portals of TCP whose class no carries of their fabric names.
func unassigned(targets []*inventory.Target) (addresses []string) {
	for _, t := range targets {
		for _, p := range t.Portals {
			list := offers(t, p)
			if len(list) > 0 && list[0] == inventory.TCP && p.RNIC != nil && p.RNIC.Fabric != nil && !p.RNIC.Fabric.Assigns() {
				addresses = append(addresses, p.Address.String())
			}
		}
	}
	return addresses
}

// standsIn is the class of what a target speaks at a portal: that of the transport which
// comes first, for TCP in its place carries the same storage.
func standsIn(t *inventory.Target, p inventory.Portal) *inventory.TrafficClass {
	list := offers(t, p)
	if p.RNIC == nil || len(list) == 0 {
		return nil
	}
	return p.RNIC.Fabric.ClassOf(list[0])
}

func (x *expansion) subsystem(sub *inventory.Subsystem, s *inventory.Server) agent.Subsystem {
	out := agent.Subsystem{NQN: sub.NQN, Serial: sub.Serial, AllowHosts: sub.AllowHosts}
	for _, ns := range sub.Namespaces {
		one := agent.Namespace{ID: ns.ID, UUID: ns.UUID, BlockSize: blockSize, Size: storage.Extents(ns.From.Size), Backend: "device"}
		if len(ns.From.Mirror) > 0 && !ns.From.Across() {
			one.Backend = "mirror"
			one.Mirror = slice.Map(halves(x.model.Name, ns.From), func(half half) string { return half.volume.Path() })
		} else {
			one.Path = VolumePath(x.model.Name, ns.From, s)
		}
		if ns.Limits != nil {
			one.IOPS, one.Bandwidth = uint64(ns.Limits.IOPS), uint64(ns.Limits.Bandwidth)
		}
		out.Namespaces = append(out.Namespaces, one)
	}
	return out
}

const blockSize = 512 // of the namespaces of weft-target, bytes
