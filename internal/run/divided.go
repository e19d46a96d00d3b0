package run

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
)

// sitesOf says which site each device is part of.
func sitesOf(m *inventory.Model) map[string]string {
	of := map[string]string{}
	for _, s := range m.Sites {
		for _, d := range s.Select {
			of[d] = s.Name
		}
	}
	return of
}

// divided are the sites whose workers are to carry a plan out; nil: nobody asked for
// that. What would have to be done by two sites together is refused.
func (e *Env) divided(s *Site, made *plan.Plan, o Order) ([]string, error) {
	switch {
	case !o.Workers:
		return nil, nil
	case len(s.Model.Rollouts) == 0 || made.Destroy:
		return nil, because(Misused, hint.Wrap(errors.New("--workers: the plan is carried out at once, and workers carry out rollouts"), "write a rollout block, or leave --workers out"))
	case len(s.Model.Sites) == 0:
		return nil, because(Misused, hint.Wrap(errors.New("--workers: the files have no sites"), `site "NAME" { select = "@dc=1" } says which devices the workers of a site reach`))
	case !e.Records.Shared():
		return nil, because(Misused, hint.Wrap(errors.New("--workers: runs are kept in this directory, where no worker finds them"), "--store, WEFT_STORE or a store block names a store that workers share"))
	case e.Records.Taking():
		return nil, because(Misused, errors.New("--workers: a run is taken over from where its devices can be reached"))
	}
	of := sitesOf(s.Model)
	var wrong []string
	sites, without := map[string]bool{}, map[string]hcl.Range{}
	phase := make(map[plan.ID]string, len(made.Steps))
	for _, x := range made.Steps {
		phase[x.ID] = x.Phase
		if site := of[x.ID.Device]; site != "" {
			sites[site] = true
		} else if at, seen := without[x.ID.Device]; !seen || at.Filename == "" {
			without[x.ID.Device] = x.Range // what weft writes for itself stands in no file
		}
	}
	for _, device := range sorted(without) {
		wrong = append(wrong, fmt.Sprintf("%s (%s) is part of no site", device, view.Place(without[device])))
	}
	for _, x := range made.Steps {
		for _, need := range x.Needs {
			if of[need.Device] != of[x.ID.Device] && phase[need] == x.Phase {
				wrong = append(wrong, fmt.Sprintf("%s (%s) of site %s needs %s of site %s: give them phases of their own", x.ID, view.Place(x.Range), of[x.ID.Device], need, of[need.Device]))
			}
		}
	}
	for _, r := range made.Restarts {
		if r.Rolling {
			wrong = append(wrong, fmt.Sprintf("%s is restarted in phase %q, and workers restart nothing", r.Device, r.Phase))
		}
	}
	wrong = append(wrong, crossing(s.Model, of)...)
	if wrong != nil {
		return nil, refusesWorkers(wrong)
	}
	return sorted(sites), nil
}

// crossing is what leads from one site to another: no worker could prove it.
func crossing(m *inventory.Model, of map[string]string) (wrong []string) {
	for _, l := range m.Links {
		a, b := of[endOf(l.From)], of[endOf(l.To)]
		if a != b && a != "" && b != "" {
			wrong = append(wrong, fmt.Sprintf("%s (%s) leads from site %s to site %s", l.Addr, view.Place(l.Range), a, b))
		}
	}
	for _, i := range m.Initiators {
		for _, t := range i.Reaches() {
			if t.Server == nil || i.Server == nil {
				continue
			}
			if a, b := of[i.Server.Addr], of[t.Server.Addr]; a != b && a != "" && b != "" {
				wrong = append(wrong, fmt.Sprintf("%s (%s) of site %s connects to %s of site %s: a worker measures within its site", i.Addr, view.Place(i.Range), a, t.Addr, b))
			}
		}
	}
	return wrong
}

// endOf is the device at an end of a link.
func endOf(e inventory.LinkEnd) string {
	switch {
	case e.Switch != nil:
		return e.Switch.Addr
	case e.RNIC != nil && e.RNIC.Server != nil:
		return e.RNIC.Server.Addr
	}
	return ""
}

// atSite is the model with the devices of one site, and what is between them.
func atSite(m *inventory.Model, site string) *inventory.Model {
	of := sitesOf(m)
	out := *m
	out.Servers, out.Switches, out.Links, out.Initiators, out.Targets = nil, nil, nil, nil, nil
	for _, s := range m.Servers {
		if of[s.Addr] == site {
			out.Servers = append(out.Servers, s)
		}
	}
	for _, s := range m.Switches {
		if of[s.Addr] == site {
			out.Switches = append(out.Switches, s)
		}
	}
	for _, l := range m.Links {
		if of[endOf(l.From)] == site || of[endOf(l.To)] == site {
			out.Links = append(out.Links, l)
		}
	}
	for _, i := range m.Initiators {
		if i.Server != nil && of[i.Server.Addr] == site {
			out.Initiators = append(out.Initiators, i)
		}
	}
	for _, t := range m.Targets {
		if t.Server == nil || of[t.Server.Addr] == site { // one that nobody manages is reached from everywhere
			out.Targets = append(out.Targets, t)
		}
	}
	return &out
}
