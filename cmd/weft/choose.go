package main

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/plan"
)

// choose lists the devices that selectors name, in the order of the roster;
// all of them without any. A selector is the address of a device, of a block
// with all of its instances, or of a module; the host of a device; or NAME=VALUE,
// a label of servers.
func choose(p *run.Site, selectors []string) ([]string, error) {
	return chooseOf(p, selectors, false)
}

// chooseOf is choose, with vCenters or without: most of what is asked of devices they do not
// answer.
func chooseOf(p *run.Site, selectors []string, vcenters bool) ([]string, error) {
	labels := map[string]map[string]string{}
	for _, s := range p.Model.Servers {
		labels[s.Addr] = s.Labels
	}
	used := make([]bool, len(selectors))
	var chosen []string
	for _, d := range p.Fleet.Roster {
		if p.Fleet.Devices[d.Device] == nil {
			continue // described, not yet managed
		}
		if d.Kind == "vcenter" && !vcenters {
			continue
		}
		take := len(selectors) == 0
		for i, s := range selectors {
			if selects(s, d, labels[d.Device]) {
				take, used[i] = true, true
			}
		}
		if take {
			chosen = append(chosen, d.Device)
		}
	}
	for i, s := range selectors {
		if !used[i] {
			return nil, usage(hint.Wrap(fmt.Errorf("%s: no device that weft can reach is called that", s),
				"a device is named by its address, such as server.node or 'server.node[\"st1\"]', by its host, or by a label, such as role=storage"))
		}
	}
	return chosen, nil
}

func selects(selector string, d plan.Member, labels map[string]string) bool {
	if rest, ok := strings.CutPrefix(d.Device, selector); ok && selector != "" && (rest == "" || rest[0] == '[' || rest[0] == '.') {
		return true
	}
	if key, value, ok := strings.Cut(selector, "="); ok {
		have, set := labels[key]
		return set && have == value
	}
	return selector == d.Host
}
