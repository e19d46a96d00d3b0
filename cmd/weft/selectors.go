package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/selector"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
	"weft/plan"
)

// selectable are the devices of an owner, as selectors see them.
func selectable(m *inventory.Model, roster []plan.Member) []selector.Device {
	labels := map[string]map[string]string{}
	for _, s := range m.Servers {
		labels[s.Addr] = s.Labels
	}
	list := make([]selector.Device, len(roster))
	for i, d := range roster {
		list[i] = selector.Device{Address: d.Device, Kind: d.Kind, Host: d.Host, Labels: labels[d.Device]}
	}
	return list
}

// choose lists the managed devices that selectors select, without vCenters: most questions
// to devices they do not answer.
func choose(p *run.Site, selectors []string) ([]string, error) {
	return chooseOf(p, selectors, false)
}

// chooseOf is choose, with vCenters or without.
func chooseOf(p *run.Site, selectors []string, vcenters bool) ([]string, error) {
	devices := slices.DeleteFunc(selectable(p.Model, p.Fleet.Roster), func(d selector.Device) bool {
		return p.Fleet.Devices[d.Address] == nil || d.Kind == "vcenter" && !vcenters
	})
	chosen, unused, err := selector.Choose(selectors, devices)
	if err != nil {
		return nil, usage(err)
	}
	if len(unused) > 0 {
		return nil, usage(hint.Wrap(fmt.Errorf("%s: no device that weft can reach is called that", unused[0]),
			"a device is named by its address, such as server.node or 'server.node[\"st1\"]', by its host, or by a label, such as @role=storage"))
	}
	return chosen, nil
}

// addresses replaces the selectors of a flag by the addresses that plans are narrowed by.
func addresses(flag string, selectors []string, p *run.Site) ([]string, error) {
	if len(selectors) == 0 {
		return nil, nil
	}
	resources := make([]selector.Resource, len(p.Input.Items))
	for i, item := range p.Input.Items {
		resources[i] = selector.Resource{Device: item.ID.Device, Name: item.ID.Kind + "." + item.ID.Name}
	}
	list, err := selector.Expand(selectors, selectable(p.Model, p.Fleet.Roster), resources)
	if err != nil {
		return nil, usage(fmt.Errorf("--%s: %w", flag, err))
	}
	return list, nil
}

// selectors lists the selectors of the files for shells: devices, blocks, hosts, kinds and
// labels; of a device whose address is typed already, its resources.
func (p *project) selectors(word string) []string {
	m, diags := readFiles(os.DirFS(p.opts.dir), language.Options{LookupEnv: os.LookupEnv, Untrusted: p.opts.untrusted || distrusts()})
	if diags.HasErrors() {
		return nil
	}
	fleet, _ := modules.Expand(m, offline())
	var list []string
	for _, d := range selectable(m, fleet.Roster) {
		block, _, _ := strings.Cut(d.Address, "[")
		list = append(list, d.Address, block, d.Host, d.Kind)
		for key, value := range d.Labels {
			list = append(list, "@"+key+"="+value)
		}
	}
	if device, _, typed := strings.Cut(word, "/"); typed {
		list = nil
		for _, item := range fleet.Items {
			if item.ID.Device == device {
				list = append(list, item.ID.String())
			}
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" || !strings.HasPrefix(s, word) })
}

// completeArgs completes the arguments of a command with selectors.
func (p *project) completeArgs(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return p.selectors(word), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSelectors completes flags that take selectors.
func (p *project) completeSelectors(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		complete(cmd, flag, func(word string) ([]string, cobra.ShellCompDirective) {
			return p.selectors(word), cobra.ShellCompDirectiveNoFileComp
		})
	}
}
