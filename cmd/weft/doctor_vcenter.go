package main

import (
	"github.com/hashicorp/hcl/v2"

	"weft/internal/doctor"
	"weft/inventory"
	"weft/modules/vcenter"
)

// vcenterHealth is the state of a vCenter's objects that weft manages, each with its place in the
// files.
func vcenterHealth(h *vcenter.Health, device string, m *inventory.Model) *doctor.VCenter {
	places := map[string]hcl.Range{}
	for _, v := range m.VCenters {
		if v.Addr != device {
			continue
		}
		for _, c := range v.Clusters {
			places[c.Path] = c.Range
		}
		for _, d := range m.DVSwitches {
			if d.VCenter == v {
				places[d.Path] = d.Range
			}
		}
	}
	out := &doctor.VCenter{Name: device, Profiles: h.Profiled}
	if h.Silent != nil {
		out.Silent = h.Silent.Error()
	}
	if h.Blind != nil {
		out.Blind = h.Blind.Error()
	}
	for _, s := range h.VSAN {
		out.Clusters = append(out.Clusters, doctor.VSAN{Path: s.Cluster, Told: s.Told, Wrong: s.Why, Range: places[s.Cluster]})
	}
	for _, s := range h.Members {
		out.Members = append(out.Members, doctor.Member{Host: s.Host, Switch: s.Switch, Told: s.Told, Wrong: s.Wrong, Range: places[s.Switch]})
	}
	return out
}
