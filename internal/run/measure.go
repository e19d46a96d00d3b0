package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weft/internal/prove"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/tally"
	"weft/inventory"
	"weft/modules"
	"weft/modules/host"
	"weft/modules/vcenter"
	"weft/switches"
)

// Measure runs validations; without names all of them. It fills in how the devices
// of the site are asked.
func (s *Site) Measure(ctx context.Context, in prove.Input) (*prove.Result, error) {
	hosts := s.Logins()
	defer hosts.End()
	in.Model, in.Emit, in.Host, in.Attached, in.Switch, in.NICs, in.Witness = s.Model, s.Input.Emit, hosts.Host, s.Attached, s.counted, s.countNICs, s.witness
	in.Agent, in.Uses, in.Others = s.agent, s.uses, s.clusters
	in.KernelPorts = s.kernelPorts
	in.System, in.Configured, in.Settings = systemTitle, s.configured, s.settings
	if s.access.Simulated {
		in.Window = simulatedWindow
	}
	if s.access.Hollow != nil {
		in.Hollow = s.access.Hollow()
	}
	in.Volume = func(v *inventory.Volume, on *inventory.Server) string { return modules.VolumePath(s.Model.Name, v, on) }
	return prove.Run(ctx, in)
}

// systemTitle is what people call a host system.
func systemTitle(os string) string {
	if known := modules.HostOS(os); known != nil {
		return known.Title
	}
	return os
}

// simulatedWindow is enough to count for where counters are not those of traffic.
const simulatedWindow = 200 * time.Millisecond

// witness is how a server is asked on which weft's probes do not run; nil: they do.
func (s *Site) witness(server *inventory.Server) prove.Witness {
	os, err := s.Fleet.Device(server.Addr).HostOS()
	if err != nil || os.Witness == nil {
		return nil
	}
	return func(ctx context.Context, h remote.Host, ways []prove.Way) ([]prove.Testimony, error) {
		of := slice.Map(ways, func(w prove.Way) host.Way { return host.Way{NIC: w.NIC, Portal: w.Portal, NQNs: w.Subsystems} })
		says, err := os.Witness(ctx, h, of)
		out := make([]prove.Testimony, len(says))
		for i, t := range says {
			out[i] = prove.Testimony{Way: t.Way, OfNIC: t.OfNIC, Metric: t.Metric, Verdict: held(t.Holds), Why: t.Why, Note: t.Note}
		}
		return out, err
	}
}

// held is the verdict of what a machine reports of itself.
func held(h host.Holding) prove.Verdict {
	switch h {
	case host.Holds:
		return prove.Pass
	case host.Broken:
		return prove.Fail
	case host.Unmeasured:
		return prove.NotMeasured
	case host.Unknown:
		return prove.Inconclusive
	}
	return prove.Inconclusive
}

// agent is how weft-initiator is run on a server whose system has a kind of its own for it;
// nil: it is run as on Linux, or not at all.
func (s *Site) agent(server *inventory.Server) func(remote.Host) remote.Host {
	os, err := s.Fleet.Device(server.Addr).HostOS()
	if err != nil || os.Agent == nil {
		return nil
	}
	return func(h remote.Host) remote.Host { return os.Open(h) }
}

// clusters asks vCenters what the hosts of clusters speak to each other.
func (s *Site) clusters(ctx context.Context, underWay bool) (out []prove.Judgement) {
	for _, v := range s.Model.VCenters {
		d := s.Fleet.Device(v.Addr)
		_, err := d.VCenter()
		var told []vcenter.VSANState
		if err == nil && len(v.Clusters) > 0 {
			told, err = d.VSAN(ctx)
		}
		if err != nil {
			out = append(out, prove.Judgement{Metric: vsanMetric, Pair: v.Addr, Verdict: prove.Inconclusive, Why: err.Error()})
		}
		for _, t := range told {
			j := prove.Judgement{Metric: vsanMetric, Pair: t.Cluster, Verdict: prove.Pass, Why: t.Why, Note: fmt.Sprintf("all %d hosts speak RoCE", t.Hosts)}
			switch {
			case !t.On && underWay:
				continue // its turn comes
			case !t.Told:
				j.Verdict = prove.Inconclusive
			case t.Why != "":
				j.Verdict, j.Value = prove.Fail, 1
			}
			out = append(out, j)
		}
	}
	if !underWay {
		out = append(append(out, s.unasked()...), s.machines()...)
	}
	return out
}

// unasked are the networks of vSAN of which no vCenter reports what goes over them: no cluster
// with vsan_rdma is declared.
func (s *Site) unasked() (out []prove.Judgement) {
	for _, v := range s.Model.VCenters {
		if slices.ContainsFunc(v.Clusters, func(c *inventory.Cluster) bool { return c.VSANRDMA }) {
			return nil
		}
	}
	for _, server := range s.Model.Servers {
		for _, r := range server.RNICs {
			if r.VMK != nil && slices.Contains(r.VMK.Services, "vsan") {
				out = append(out, prove.Unmeasured("", vsanMetric, server.Addr+" "+r.VMK.ID,
					"whether vSAN uses RDMA there only a vCenter reports: declare its cluster with vsan_rdma = true", server.Addr, server.OS))
			}
		}
	}
	return out
}

// machines says of adapters for PVRDMA that nobody has measured what carries them, where they
// have somebody to talk to. Nothing in a guest tells; counters of both hosts would, and no
// document or recording shows how ESXi prints those.
func (s *Site) machines() (out []prove.Judgement) {
	on := map[*inventory.DVPortGroup]int{}
	for _, v := range s.Model.VMs {
		for _, a := range v.Adapters {
			on[a.PortGroup]++
		}
	}
	for _, v := range s.Model.VMs {
		for _, a := range v.Adapters {
			if on[a.PortGroup] > 1 {
				out = append(out, prove.Unmeasured("", pvrdmaMetric, v.Addr+" "+a.Name,
					"whether it goes over RDMA or TCP show counters of both hosts, and how esxcli rdma device stats get prints them is not documented", v.Addr))
			}
		}
	}
	return out
}

// pvrdmaMetric is what is judged of an adapter for PVRDMA.
const pvrdmaMetric = "pvrdma_path"

// vsanMetric is what is judged of the vSAN of a cluster.
const vsanMetric = "vsan_rdma"

// counted asks a switch what it has counted on ports.
func (s *Site) counted(ctx context.Context, sw *inventory.Switch, ports []string) (*tally.Ports, error) {
	return s.Fleet.Device(sw.Addr).Counters(ctx, ports)
}

// configured reads what a switch is set to.
func (s *Site) configured(ctx context.Context, sw *inventory.Switch) (*switches.Reading, error) {
	return s.Fleet.Device(sw.Addr).Reading(ctx)
}

// settings is how a server is asked what its NICs are set to.
func (s *Site) settings(server *inventory.Server) (prove.Settings, error) {
	os, err := s.Fleet.Device(server.Addr).HostOS()
	if err != nil {
		return nil, err
	}
	reader, err := os.Settings()
	if err != nil {
		return nil, err
	}
	nics := slice.Map(server.RNICs, func(n *inventory.RNIC) host.NIC { return host.NIC{Name: n.Name, PCI: n.Place()} })
	return func(ctx context.Context, h remote.Host) (*host.Reading, error) {
		seen, err := os.Open(h).Read(ctx, reader.Looks(nics))
		if err != nil {
			return nil, err
		}
		return reader.Parse(seen, nics)
	}, nil
}

// system is the host system of a server, if it has what is asked for.
func (s *Site) system(server *inventory.Server, f host.Feature) (*host.OS, error) {
	os, err := s.Fleet.Device(server.Addr).HostOS()
	if err != nil {
		return nil, err
	}
	return os, os.Lacks(f)
}

// countNICs is how a server is asked what its NICs have counted.
func (s *Site) countNICs(server *inventory.Server) (prove.CountNICs, error) {
	os, err := s.system(server, host.Counting)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, h remote.Host, nics []*inventory.RNIC) (*tally.Ports, error) {
		of := slice.Map(nics, func(n *inventory.RNIC) host.NIC { return host.NIC{Name: n.Name, PCI: n.Place()} })
		return os.Counters(ctx, h, of)
	}, nil
}

// Attached asks a server what its kernel has of an initiator.
func (s *Site) Attached(ctx context.Context, h remote.Host, i *inventory.Initiator) (*prove.Attached, error) {
	os, err := s.system(i.Server, host.Probing)
	if err != nil {
		return nil, err
	}
	p, err := os.Probe.Attached(ctx, h, i)
	if err != nil {
		return nil, err
	}
	idle := slice.Map(p.Idle, func(i host.IdlePath) prove.Idle { return prove.Idle(i) })
	return &prove.Attached{LivePaths: p.Fewest(), Live: p.Live, Idle: idle, Devices: p.Devices}, nil
}

// kernelPorts asks a server for the ports of its kernel's target.
func (s *Site) kernelPorts(ctx context.Context, server *inventory.Server, h remote.Host) ([]prove.KernelPort, error) {
	os, err := s.system(server, host.Probing)
	if err != nil {
		return nil, err
	}
	if os.Probe.Ports == nil {
		return nil, fmt.Errorf("%s has no target in its kernel that weft reads", os.Title)
	}
	list, err := os.Probe.Ports(ctx, h)
	return slice.Map(list, func(p host.TargetPort) prove.KernelPort { return prove.KernelPort(p) }), err
}

// uses asks a server what it does with the namespace of a UUID.
func (s *Site) uses(ctx context.Context, server *inventory.Server, h remote.Host, uuid string) ([]string, error) {
	os, err := s.system(server, host.Probing)
	if err != nil {
		return nil, err
	}
	if os.Probe.Uses == nil {
		return nil, fmt.Errorf("weft does not know how to ask %s", os.Name)
	}
	return os.Probe.Uses(ctx, h, uuid)
}

// Cutter is how links of a server are cut.
func (s *Site) Cutter(server *inventory.Server) (*host.Cutter, error) {
	os, err := s.system(server, host.Cutting)
	if err != nil {
		return nil, err
	}
	return os.Cut, nil
}
