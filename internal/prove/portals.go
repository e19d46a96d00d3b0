package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/inventory"
)

// PortalOpen is the metric of a portal that the files declare.
const PortalOpen = "portal"

// portals judges for every transport of each target of weft whether its portal is open.
// The first transport is the one that was declared; what is open in its place is DEGRADED.
func (r *run) portals(ctx context.Context) []Judgement {
	var targets []*inventory.Target
	for _, t := range r.in.Model.Targets {
		if t.Engine == "weft" && t.Server != nil && (r.in.There == nil || r.in.There(t.Server, t)) {
			targets = append(targets, t)
		}
	}
	r.askTargets(ctx, targets)
	var out []Judgement
	for _, t := range targets {
		said := r.said[t.Server]
		for _, p := range t.Portals {
			if p.RNIC != nil {
				out = append(out, judgePortal(t, p, said)...)
			}
		}
	}
	return out
}

// A saying is what weft-target of a server says of itself, or why it says nothing.
type saying struct {
	status *agent.TargetStatus
	err    error
}

// askTargets asks the servers of targets that were not asked yet, side by side.
func (r *run) askTargets(ctx context.Context, targets []*inventory.Target) {
	var servers []*inventory.Server
	for _, t := range targets {
		if _, asked := r.said[t.Server]; !asked && !slices.Contains(servers, t.Server) {
			servers = append(servers, t.Server)
		}
	}
	says := make([]saying, len(servers))
	asking := newQuestions()
	for i, s := range servers {
		asking.Go(func() { says[i].status, says[i].err = r.status(ctx, s) })
	}
	asking.Wait()
	for i, s := range servers {
		r.keepSaying(s, says[i])
	}
}

func (r *run) keepSaying(s *inventory.Server, says saying) {
	if r.said == nil {
		r.said = map[*inventory.Server]saying{}
	}
	r.said[s] = says
}

// judgePortal judges one address of a target, by transport.
func judgePortal(t *inventory.Target, p inventory.Portal, said saying) (out []Judgement) {
	list := flow{target: t, portal: p}.transports()
	state := func(transport string) (open bool, why string) {
		for _, have := range said.status.Portals {
			if have.Transport == transport && have.Address == p.Address.String() {
				return have.Error == "", have.Error
			}
		}
		return false, "weft-target does not have it"
	}
	instead := "" // what is open where the first is not
	for i, transport := range list {
		j := Judgement{Validation: pathName, Metric: PortalOpen, Pair: fmt.Sprintf("%s %s %s", t.Addr, strings.ToUpper(transport), p.Address), Counted: true, Verdict: Pass}
		if said.err != nil {
			j.Verdict, j.Why = Inconclusive, "weft-target of "+t.Server.Addr+" does not answer: "+said.err.Error()
			out = append(out, j)
			continue
		}
		open, why := state(transport)
		if i == 0 && !open {
			if at := slices.IndexFunc(list, func(o string) bool { is, _ := state(o); return is }); at > 0 {
				instead = strings.ToUpper(list[at])
			}
		}
		switch {
		case open:
		case i > 0 && onlyInstead(t, p, transport): // it is opened only where the first cannot be
			if first, _ := state(list[0]); first {
				continue
			}
			j.Verdict, j.Value, j.Why = Fail, 1, "it is closed: "+why
		case i == 0 && instead != "" && t.AllowDegraded:
			j.Degraded = why
			j.Note = fmt.Sprintf("degraded (allowed): it is closed, %s is open in its place: %s", instead, why)
		case i > 0 && instead == "" && t.AllowDegraded:
			if first, _ := state(list[0]); first {
				j.Degraded, j.Note = why, "degraded (allowed): it is closed: "+why
				break
			}
			j.Verdict, j.Value, j.Why = Fail, 1, "it is closed: "+why
		case i == 0 && instead != "":
			j.Verdict, j.Value, j.Why = Fail, 1, fmt.Sprintf("it is closed, and %s in its place is DEGRADED: %s; allow_degraded = true in %s accepts that", instead, why, t.Addr)
		default:
			j.Verdict, j.Value, j.Why = Fail, 1, "it is closed: "+why
		}
		if j.Verdict == Fail {
			j.Where = "at " + t.Server.Addr
		}
		out = append(out, j)
	}
	return out
}

// onlyInstead reports whether a portal cannot be open beside the first one of its address:
// RDMA of iWARP takes the port of TCP.
func onlyInstead(t *inventory.Target, p inventory.Portal, transport string) bool {
	return p.RNIC.Fabric != nil && p.RNIC.Fabric.Transport == "iwarp" && transport != flow{target: t, portal: p}.transports()[0]
}

// DegradedAllowed says how much goes over TCP in place of RDMA where the files allow that;
// "": nothing does.
func (res *Result) DegradedAllowed() string {
	pairs, over := map[string]bool{}, map[string]bool{}
	for _, row := range res.Rows {
		if row.Probe != socketProbe {
			pairs[row.Pair()] = true
			if row.Degraded {
				over[row.Pair()] = true
			}
		}
	}
	portals, closed := 0, 0
	for _, j := range res.Judgements {
		switch {
		case j.Metric == Transport && j.Verdict == Fail:
			return "" // it is not allowed everywhere
		case j.Metric == PortalOpen && j.Validation == pathName:
			portals++
			if j.Degraded != "" {
				closed++
			}
		}
	}
	switch {
	case len(over) > 0:
		return fmt.Sprintf("degraded (allowed): %d of %d pairs over TCP in place of RDMA", len(over), len(pairs))
	case closed > 0:
		return fmt.Sprintf("degraded (allowed): %d of %d portals closed", closed, portals)
	}
	return ""
}
