package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/inventory"
	"weft/inventory/language"
)

// sameFabric fails unless the files of two directories describe the same devices, by
// what these answer to: serials, PCI addresses, ports and NQNs. Labels may differ.
// Links stand in the first only where --no-links is given.
func sameFabric(ts *testscript.TestScript, neg bool, args []string) {
	links := true
	if len(args) > 0 && args[0] == "--no-links" {
		links, args = false, args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: same-fabric [--no-links] DIR DIR [VARFILE of the first]")
	}
	load := func(dir string, varFiles []string) []string {
		o := language.Options{LookupEnv: os.LookupEnv}
		for _, name := range varFiles {
			o.VarFiles = append(o.VarFiles, language.VarFile{Name: name, Content: []byte(ts.ReadFile(dir + "/" + name))})
		}
		m, diags := readFiles(os.DirFS(ts.MkAbs(dir)), o)
		ts.Check(errorOf(diags.HasErrors(), diags))
		return essence(m, links)
	}
	was, is := load(args[0], args[2:]), load(args[1], nil)
	if len(was) == 0 {
		ts.Fatalf("%s describes nothing", args[0])
	}
	for _, line := range was {
		if !slices.Contains(is, line) {
			ts.Logf("- %s", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			ts.Logf("+ %s", line)
		}
	}
	if !slices.Equal(was, is) {
		ts.Fatalf("%s and %s describe different fabrics", args[0], args[1])
	}
}

func errorOf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

// essence is what a model says of devices, without its labels.
func essence(m *inventory.Model, links bool) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	plane := func(f *inventory.Fabric, name string) string {
		if f == nil {
			return "none"
		}
		return f.Transport + " " + f.Mode + " " + f.Plane(name).Subnet.String()
	}
	for _, f := range m.Fabrics {
		say("fabric %s %s mtu %d host_mtu %d", f.Transport, f.Mode, f.MTU, f.HostMTU)
		for _, c := range f.Classes {
			ecn := ""
			if c.ECN != nil {
				ecn = fmt.Sprint(*c.ECN)
			}
			say("class dscp %v priority %d bandwidth %d strict %v pfc %v ecn %s", slices.Sorted(slices.Values(c.DSCP)), c.Priority, c.Bandwidth, c.Strict, c.PFC, ecn)
		}
	}
	end := func(e inventory.LinkEnd) string {
		if e.RNIC != nil {
			return e.RNIC.Server.Host + " " + e.RNIC.PCI
		}
		if e.Switch.Unmanaged {
			return "unmanaged in " + plane(e.Switch.Fabric, e.Switch.Plane) + " " + e.Port
		}
		return e.Switch.Serial + " " + e.Port
	}
	for _, s := range m.Switches {
		if s.Unmanaged && links {
			say("switch unmanaged in %s", plane(s.Fabric, s.Plane))
		}
		if !s.Unmanaged {
			say("switch %s %s %s in %s", s.OS, s.Host, s.Serial, plane(s.Fabric, s.Plane))
		}
	}
	for _, s := range m.Servers {
		say("server %s %s", s.OS, s.Host)
		for _, r := range s.RNICs {
			in := "none"
			if r.Fabric != nil {
				in = plane(r.Fabric, r.Plane.Name)
			}
			say("rnic %s %s %s in %s vlan %d software %v", s.Host, r.PCI, r.Address, in, r.VLAN, r.Software)
		}
		list = append(list, essenceOfServer(s)...)
	}
	for _, l := range m.Links {
		if ends := []string{end(l.From), end(l.To)}; links {
			slices.Sort(ends)
			say("link %s speed %d", strings.Join(ends, " to "), l.Speed)
		}
	}
	list = append(list, slices.Concat(essenceOfStorage(m), essenceOfVCenters(m))...)
	slices.Sort(list)
	return slices.Compact(list) // a server may have two initiators
}

// essenceOfServer are the everyday blocks of a server.
func essenceOfServer(s *inventory.Server) (list []string) {
	say := func(format string, args ...any) {
		list = append(list, s.Host+" "+fmt.Sprintf(format, args...))
	}
	for _, r := range s.RNICs {
		if v := r.VMK; v != nil {
			on := v.VSwitch
			if v.PortGroup != nil {
				on = v.PortGroup.Name + " of " + v.PortGroup.Switch.Path
			}
			say("%s is %s on %s of stack %q for %q", r.PCI, v.ID, on, v.Netstack, slices.Sorted(slices.Values(v.Services)))
		}
	}
	if s.SMB != nil {
		say("smb on port %d", s.SMB.DirectPort)
	}
	for _, b := range s.FileBlocks {
		say("file %s %q %04o", b.Path, b.Content, b.Mode)
	}
	for _, b := range s.Settings {
		say("%s %s %v", b.Type, b.Label, b.Values)
	}
	for _, b := range s.KernelModules {
		say("kernel_module %s %v", b.Name, b.Options)
	}
	for _, b := range s.Packages {
		say("package %s %q absent %v", b.Name, b.Version, b.Absent)
	}
	for _, b := range s.Services {
		say("service %s enabled %v running %v", b.Name, b.Enabled, b.Running)
	}
	for _, b := range s.Commands {
		say("command %s %q creates %q unless %q undo %q", b.Name, b.Run, b.Creates, b.Unless, b.Undo)
	}
	return list
}

// essenceOfVCenters are vCenters with what is declared in them.
func essenceOfVCenters(m *inventory.Model) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, v := range m.VCenters {
		say("vcenter %s:%d", v.Host, v.Port)
		for _, c := range v.Clusters {
			say("cluster %s of %s, vsan_rdma %v", c.Path, v.Host, c.VSANRDMA)
		}
	}
	for _, s := range m.DVSwitches {
		say("dvswitch %s of %s, mtu %d", s.Path, s.VCenter.Host, s.MTU())
		for _, r := range s.Uplinks {
			say("uplink of %s: %s %s", s.Path, r.Server.Host, r.PCI)
		}
		for _, g := range s.PortGroups {
			say("portgroup %s of %s, vlan %d", g.Name, s.Path, g.VLAN)
		}
	}
	for _, v := range m.VMs {
		for _, a := range v.Adapters {
			say("adapter %s of %s on %s of %s: %s, degraded %v", a.Name, v.Path, a.PortGroup.Name, a.PortGroup.Switch.Path, a.Protocol, a.AllowDegraded)
		}
	}
	return list
}

func essenceOfStorage(m *inventory.Model) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, p := range m.Pools {
		say("pool on %s of %q", p.Server.Host, p.Drives)
	}
	for _, v := range m.Volumes {
		say("volume %s of %q %d", v.Pool.Server.Host, v.Pool.Drives, v.Size)
		for _, p := range v.Mirror {
			say("and on %s of %q", p.Server.Host, p.Drives)
		}
	}
	for _, t := range m.Targets {
		say("asks ctrl key %v hash %q group %q demand %v tls %v", t.CtrlKey != nil, t.Hash, t.DHGroup, t.DemandAuth, t.TLS)
		for _, p := range t.Portals {
			say("portal %s %s", t.Transport, p.Address)
		}
		for _, s := range t.Subsystems {
			say("subsystem %s %s %s for %q", t.Engine, s.NQN, s.Serial, slices.Sorted(slices.Values(s.AllowHosts)))
			for _, n := range s.Namespaces {
				limits := inventory.Limits{}
				if n.Limits != nil {
					limits = *n.Limits
				}
				say("namespace %s %d %s of %d bytes, limits %v", s.NQN, n.ID, n.UUID, n.From.Size, limits)
			}
		}
	}
	for _, i := range m.Initiators {
		say("initiator %s engine %s key %v tls key %v", i.Server.Host, i.Engine, i.Key != nil, i.TLSKey != nil)
		for _, c := range i.Connects {
			for _, t := range c.To {
				for _, s := range t.Subsystems {
					say("connection %s %s to %s %s queues %d loss %d fail %d reconnect %s alive %s", i.Server.Host, i.HostNQN, s.NQN, c.IOPolicy, c.IOQueues, c.CtrlLossTMO, c.FastIOFailTMO, c.ReconnectDelay, c.KeepAliveTMO)
				}
			}
		}
	}
	return list
}
