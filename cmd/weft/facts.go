package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/selector"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/modules"
	"weft/modules/host"
	"weft/modules/vcenter"
	"weft/plan"
	"weft/switches"
)

// A factsCommand is weft facts.
type factsCommand struct {
	opts    *options
	out     *printer
	project *project
	fabric  *fabric
	results *results
}

func (c *factsCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "facts [SELECTOR...]", Short: "Read the hardware of devices, and compare it with the files",
		Long: `facts reads the model, serial number and software of switches and servers, and the LLDP
neighbours of switches. Of servers it reads all NICs: card, PCIe lanes, NUMA node, driver,
firmware, link and RDMA device. --json adds their addresses. A vCenter reports its
hosts, their NICs and their uplinks. facts changes nothing on devices, and stores the
result for weft report.

NICs without an rnic block have no name. The neighbour of a switch port is shown with the
interface name of its server, if that server was queried.

Contradictions to the files are listed at the end, as in weft plan. Facts that the
catalogue proves impossible are refused there (✗); all others are warnings (!), such as
a card that uses half of its PCIe lanes.

` + selector.Help,
		RunE: c.out.does(c.facts),
	}
	c.project.completeArgs(cmd)
	return cmd
}

// told is what one device said of itself.
type told struct {
	device string
	facts  *modules.Facts
	err    error
}

func (c *factsCommand) facts(ctx context.Context, selectors []string) error {
	p, err := c.fabric.visit()
	if err != nil {
		return err
	}
	defer p.Close()
	devices, err := chooseOf(p, selectors, true)
	if err != nil {
		return err
	}
	list := make([]told, len(devices))
	p.Each(remote.Reading(ctx), devices, "reading", func(ctx context.Context, i int, device string) {
		facts, err := p.Fleet.Device(device).Facts(ctx)
		list[i] = told{device, facts, err}
		switch {
		case err != nil && c.opts.json:
			c.out.lost(device, err)
		case err == nil && !c.opts.json:
			c.out.emit(plan.Event{Type: plan.EventRead, Device: device, Message: device + " was asked what it is", Data: map[string]any{"facts": facts}})
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while reading devices: %w", context.Cause(ctx))
	}
	answered := slice.Filter(list, func(t told) bool { return t.err == nil })
	modules.NameNeighbours(slice.Map(answered, func(t told) *modules.Facts { return t.facts }))
	if err := c.results.keepFacts(list); err != nil {
		c.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "nothing is kept for weft report: " + err.Error()})
	}
	if !c.opts.json {
		c.showFacts(p.Model.Name, list)
	}
	for _, t := range list {
		if c.opts.json && t.err == nil {
			c.out.emit(plan.Event{Type: plan.EventRead, Device: t.device, Message: t.device + " was asked what it is", Data: map[string]any{"facts": t.facts}})
		}
	}
	for _, t := range list {
		if t.err != nil {
			return &quietError{exitUnreachable}
		}
	}
	return nil
}

// portHeard is how the port of a neighbour is shown: by its name, then by its id.
func portHeard(n switches.Neighbour) string {
	name := cmp.Or(n.Interface, n.Describes)
	if name == "" || name == n.PortID {
		return n.PortID
	}
	return name + " " + n.PortID
}

func (c *factsCommand) showFacts(owner string, list []told) {
	tables, remarks, lost := factTables(list)
	s := c.out.style(c.out.stdout)
	view.Heading(c.out.stdout, s, "facts", owner, c.opts.lab)
	view.Facts(c.out.stdout, tables, remarks, lost, s)
}

// factTables are the tables of what devices have told, the same and in the same order
// whatever they are; what speaks against the files; and who did not answer.
func factTables(list []told) (tables []view.Table, remarks []view.Remark, lost []view.Lost) {
	leaves := view.Table{Head: []string{"SWITCH", "OS", "VERSION", "MODEL", "SERIAL", "NAME"}}
	servers := view.Table{Head: []string{"SERVER", "MODEL", "SERIAL", "SYSTEM", "KERNEL", "CPUS", "NODES", "MEMORY", "CPU", "HOST NQN"}}
	nics := view.Table{Head: []string{"NIC", "CARD", "PCI", "PCIE", "NODE", "DRIVER", "FIRMWARE", "INTERFACE", "LINK", "MTU", "RDMA"}}
	adapters := view.Table{Head: []string{"NVME ADAPTER", "TRANSPORT", "DRIVER", "ON"}}
	centers := view.Table{Head: []string{"VCENTER", "SYSTEM", "SERIAL", "HOSTS"}}
	hosts := view.Table{Head: []string{"HOST OF VCENTER", "ESXI", "NIC", "PCI", "RDMA", "UPLINK OF", "PORTS"}}
	cables := view.Table{Head: []string{"PORT", "HEARS", "ITS PORT", "CHASSIS"}}
	for _, t := range list {
		if t.err != nil {
			lost = append(lost, view.Lost{Device: t.device, Text: t.err.Error(), Hint: hint.Of(t.err)})
			continue
		}
		if f := t.facts.Switch; f != nil {
			leaves.Rows = append(leaves.Rows, []string{t.device, f.OS, f.Version, f.Model, f.Serial, f.Hostname})
			for _, text := range f.Without {
				remarks = append(remarks, view.Remark{Device: t.device, Text: text})
			}
			for _, n := range f.Neighbours {
				cables.Rows = append(cables.Rows, []string{t.device + " " + n.Port, n.System, portHeard(n), n.Chassis})
			}
		}
		if f := t.facts.Server; f != nil {
			servers.Rows = append(servers.Rows, []string{t.device, strings.TrimSpace(f.Vendor + " " + f.Model), f.Serial, f.System, f.Kernel,
				number(f.CPUs), number(f.Nodes), gibibytes(f.Memory), f.CPU, f.HostNQN})
			if f.Unlisted != "" {
				remarks = append(remarks, view.Remark{Device: t.device, Text: f.Unlisted})
			}
			if f.Deaf != "" {
				remarks = append(remarks, view.Remark{Device: t.device, Text: f.Deaf})
			}
			for _, text := range f.Taken {
				remarks = append(remarks, view.Remark{Device: t.device, Text: text})
			}
			for _, n := range f.NICs {
				nics.Rows = append(nics.Rows, nicRow(t.device, n))
			}
			for _, n := range f.Adapters {
				adapters.Rows = append(adapters.Rows, []string{t.device + " " + n.Name, n.Transport, n.Driver, strings.Join(n.Devices, ", ")})
			}
		}
		if f := t.facts.VCenter; f != nil {
			centers.Rows = append(centers.Rows, []string{t.device, f.System, f.Serial, number(len(f.Hosts))})
			hosts.Rows = append(hosts.Rows, hostRows(f)...)
			for _, text := range f.Warnings {
				remarks = append(remarks, view.Remark{Device: t.device, Text: text})
			}
		}
		for _, f := range t.facts.Findings {
			remarks = append(remarks, view.Remark{Device: t.device, Text: f.String(), Hint: f.Hint, Refuses: f.Refuses})
		}
	}
	return []view.Table{leaves, cables, servers, nics, adapters, centers, hosts}, remarks, lost
}

// hostRows show the NICs of the hosts of a vCenter.
func hostRows(f *vcenter.Facts) (rows [][]string) {
	for _, h := range f.Hosts {
		ports := slice.Map(h.Ports, func(p vcenter.PortFacts) string { return strings.TrimSpace(p.Name + " " + p.Address) })
		for i, n := range h.NICs {
			rdma, all := "no", ""
			if n.RDMA {
				rdma = "yes"
			}
			if i == 0 {
				all = strings.Join(ports, ", ")
			}
			rows = append(rows, []string{h.Name, h.Release, n.Name, n.PCI, rdma, n.Uplink, all})
		}
	}
	return rows
}

// nicRow shows a port of a NIC; what is not known is empty.
func nicRow(device string, n host.NICFacts) []string {
	card := strings.TrimSpace(n.Model + " " + n.ID)
	if n.Absent {
		card = "not there"
	}
	lanes := ""
	if n.PCIe.Width > 0 {
		lanes = n.PCIe.String()
		if n.PCIe != n.PCIeMax {
			lanes += " of " + n.PCIeMax.String()
		}
	}
	node := ""
	if n.Node >= 0 {
		node = strconv.Itoa(n.Node)
	}
	link := n.State
	if n.Speed > 0 {
		link += fmt.Sprintf(" %gG", float64(n.Speed)/1e9)
	}
	if n.Carrier != nil && !*n.Carrier {
		link += " no carrier"
	}
	if n.IPoIB != nil {
		link += " " + n.IPoIB.String()
	}
	var rdma []string
	for _, p := range n.RDMA {
		rdma = append(rdma, strings.TrimSpace(fmt.Sprintf("%s/%d %s %s", p.Device, p.Port, p.State, inSubnet(p))))
	}
	return []string{device + " " + cmp.Or(n.Name, "–"), card, n.PCI, lanes, node, n.Driver, n.Firmware, n.Interface, strings.TrimSpace(link), number(n.MTU), strings.Join(rdma, ", ")}
}

// inSubnet shows what an InfiniBand port was told by its subnet manager.
func inSubnet(p host.RDMAPort) string {
	s := p.Subnet
	if s == nil {
		return ""
	}
	words := []string{s.Physical}
	if s.Manager == 0 {
		words = append(words, "no subnet manager")
	} else {
		words = append(words, fmt.Sprintf("lid %d sm %d", s.LID, s.Manager))
	}
	if s.GID != "" {
		words = append(words, "gid "+s.GID)
	}
	for i, k := range s.PKeys {
		if i == 0 {
			words = append(words, "pkey")
		}
		words = append(words, k.String())
	}
	return strings.Join(words, " ")
}

// number shows what is not known as nothing.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func gibibytes(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f GiB", float64(bytes)/(1<<30))
}
