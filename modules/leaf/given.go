package leaf

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"weft/plan"
	"weft/switches"
)

// givenBack is what a step gave back to the time before weft: a port that no link
// named any more, or the classes of a fabric that nobody declared. What the switch
// has kept of that time may have gone since, but the step itself says what it
// changed.
type givenBack struct {
	dev  *Device
	step plan.PlannedStep
}

// Diff implements plan.Resource.
func (r *givenBack) Diff(state plan.State) plan.Diff {
	have := *state.(*switches.Reading)
	port := ""
	if r.step.ID.Kind == "port" {
		port = r.step.ID.Name
	}
	var d plan.Diff
	for _, c := range r.step.Changes {
		place, key := "", c.Path
		if i := strings.LastIndex(c.Path, pathMark); i >= 0 && port == "" {
			place, key = c.Path[:i], c.Path[i+len(pathMark):]
		}
		is, there := switches.LineAt(have, port, place, key)
		if is = value(is, key); there {
			is = isThere
		}
		if is != c.After {
			d.Changes = append(d.Changes, plan.Change{Path: c.Path, Before: is, After: c.After, Impact: c.Impact})
		}
	}
	return d
}

// Verify implements plan.Resource.
func (r *givenBack) Verify(context.Context) error { return nil }

// unlinked is a port as a step made it whose link goes elsewhere by now.
type unlinked struct {
	dev  *Device
	step plan.PlannedStep
}

// wish adds to what is there what the step made of it.
func (r *unlinked) wish(p switches.Port) switches.Port {
	p.Name = r.step.ID.Name
	for _, c := range r.step.Changes {
		on := c.After == enabled(true)
		switch c.Path {
		case "mtu":
			p.MTU, _ = strconv.Atoi(c.After) // default is 0
		case "pfc":
			p.PFC = on
		case "classification":
			p.ByTag = c.After == byTag
			p.Classify = on || p.ByTag
		case "queueing":
			p.Queue = on
		case "pfc_watchdog":
			p.Watchdog = on
		case "headroom":
			p.Headroom = on
		}
	}
	return p
}

// Diff implements plan.Resource.
func (r *unlinked) Diff(state plan.State) plan.Diff {
	have := state.(*switches.Reading)
	var now switches.Port
	if i := slices.IndexFunc(have.Ports, func(p switches.Port) bool { return p.Name == r.step.ID.Name }); i >= 0 {
		now = have.Ports[i]
	}
	return (&port{r.dev, r.wish(now)}).Diff(state)
}

// Verify implements plan.Resource.
func (r *unlinked) Verify(context.Context) error { return nil }
