package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/view"
	"weft/modules"
	"weft/modules/host"
	"weft/plan"
)

func (a *app) factsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "facts [SELECTOR...]", Short: "Ask devices what they are, and compare that with the files",
		Long: `facts asks switches and servers for their model, serial and software, switches
for whom they hear with LLDP, and servers for their declared NICs: card, PCIe
lanes, NUMA node, driver, firmware, link and RDMA device. It changes nothing.

What speaks against the files stands below. plan says the same: what a source in
the catalogue proves to be impossible is refused there (✗), all else is a warning
(!), such as a card that runs with half of its lanes.

` + selectorHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.begin(cmd)
			return a.facts(cmd.Context(), args)
		},
	}
}

const selectorHelp = `A SELECTOR is the address of a device ('server.node["st1"]'), of a block with all
of its instances (server.node) or of a module, the host of a device, or NAME=VALUE,
a label of servers.`

// told is what one device said of itself.
type told struct {
	device string
	facts  *modules.Facts
	err    error
}

func (a *app) facts(ctx context.Context, selectors []string) error {
	p, err := a.visit()
	if err != nil {
		return err
	}
	defer p.Close()
	devices, err := choose(p, selectors)
	if err != nil {
		return err
	}
	list := make([]told, len(devices))
	p.Each(ctx, devices, "reading", func(ctx context.Context, i int, device string) {
		facts, err := modules.ReadFacts(ctx, p.Fleet.Devices, device)
		list[i] = told{device, facts, err}
		switch {
		case err != nil && a.json:
			a.lost(device, err)
		case err == nil:
			a.emit(plan.Event{Type: plan.EventRead, Device: device, Message: device + " was asked what it is", Data: map[string]any{"facts": facts}})
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while reading devices: %w", context.Cause(ctx))
	}
	if !a.json {
		a.showFacts(p.Model.Name, list)
	}
	for _, t := range list {
		if t.err != nil {
			return &quietError{exitUnreachable}
		}
	}
	return nil
}

func (a *app) showFacts(owner string, list []told) {
	switches := view.Table{Head: []string{"SWITCH", "OS", "VERSION", "MODEL", "SERIAL", "NAME"}}
	servers := view.Table{Head: []string{"SERVER", "MODEL", "SERIAL", "SYSTEM", "KERNEL", "CPUS", "NODES", "MEMORY", "CPU"}}
	nics := view.Table{Head: []string{"NIC", "CARD", "PCI", "PCIE", "NODE", "DRIVER", "FIRMWARE", "INTERFACE", "LINK", "MTU", "RDMA"}}
	cables := view.Table{Head: []string{"PORT", "HEARS", "ITS PORT", "CHASSIS"}}
	var remarks []view.Remark
	var lost []view.Lost
	for _, t := range list {
		if t.err != nil {
			lost = append(lost, view.Lost{Device: t.device, Text: t.err.Error(), Hint: hint.Of(t.err)})
			continue
		}
		if f := t.facts.Switch; f != nil {
			switches.Rows = append(switches.Rows, []string{t.device, f.OS, f.Version, f.Model, f.Serial, f.Hostname})
			for _, text := range f.Without {
				remarks = append(remarks, view.Remark{Device: t.device, Text: text})
			}
			for _, n := range f.Neighbours {
				cables.Rows = append(cables.Rows, []string{t.device + " " + n.Port, n.System, n.PortID, n.Chassis})
			}
		}
		if f := t.facts.Server; f != nil {
			servers.Rows = append(servers.Rows, []string{t.device, strings.TrimSpace(f.Vendor + " " + f.Model), f.Serial, f.System, f.Kernel,
				number(f.CPUs), number(f.Nodes), gibibytes(f.Memory), f.CPU})
			for _, n := range f.NICs {
				nics.Rows = append(nics.Rows, nicRow(t.device, n))
			}
		}
		for _, f := range t.facts.Findings {
			remarks = append(remarks, view.Remark{Device: t.device, Text: f.String(), Hint: f.Hint, Refuses: f.Refuses})
		}
	}
	s := a.style(a.stdout)
	view.Heading(a.stdout, s, "facts", owner, a.lab)
	view.Facts(a.stdout, []view.Table{switches, cables, servers, nics}, remarks, lost, s)
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
	return []string{device + " " + n.Name, card, n.PCI, lanes, node, n.Driver, n.Firmware, n.Interface, strings.TrimSpace(link), number(n.MTU), strings.Join(rdma, ", ")}
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
