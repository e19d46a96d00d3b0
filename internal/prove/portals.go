package prove

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/inventory"
)

// PortalOpen is the metric of a portal that the files declare.
const PortalOpen = "portal"

// portals judges for every transport of each target whether its portal is open, whether
// weft-target or the kernel serves it. The first transport is the one that was declared; what
// is open in its place is DEGRADED.
func (r *run) portals(ctx context.Context) []Judgement {
	of := map[string][]*inventory.Target{} // by engine
	for _, t := range r.in.Model.Targets {
		if t.Server != nil && (r.in.There == nil || r.in.There(t.Server, t)) {
			of[t.Engine] = append(of[t.Engine], t)
		}
	}
	if r.in.KernelPorts == nil {
		delete(of, "nvmet")
	}
	r.askTargets(ctx, of["weft"])
	kernels := r.askKernels(ctx, of["nvmet"])
	var out []Judgement
	for _, t := range slices.Concat(of["weft"], of["nvmet"]) {
		says := kernels[t.Server]
		if t.Engine == "weft" {
			says = r.said[t.Server]
		}
		for _, p := range t.Portals {
			if p.RNIC != nil {
				out = append(out, judgePortal(t, p, says)...)
			}
		}
	}
	return out
}

// A saying is what weft-target or the kernel's target of a server says of itself, or why it
// says nothing.
type saying struct {
	status *agent.TargetStatus
	kernel []KernelPort
	err    error
}

// A KernelPort is a port of the target of a kernel.
type KernelPort struct {
	Transport string
	Address   netip.AddrPort
	NQNs      []string // of the subsystems that it exports
	Closed    string   // why no host reaches it although it exports some; "": none is known
	Unknown   error    // why it could not be read whether it is open
}

// askKernels reads the ports of the kernels' targets on the servers of targets, side by side.
func (r *run) askKernels(ctx context.Context, targets []*inventory.Target) map[*inventory.Server]saying {
	var servers []*inventory.Server
	for _, t := range targets {
		if !slices.Contains(servers, t.Server) {
			servers = append(servers, t.Server)
		}
	}
	says := make([]saying, len(servers))
	asking := newQuestions()
	for i, s := range servers {
		asking.Go(func() {
			host, err := r.hosts.of(ctx, s)
			if err == nil {
				says[i].kernel, err = r.in.KernelPorts(ctx, s, host)
			}
			says[i].err = err
		})
	}
	asking.Wait()
	out := map[*inventory.Server]saying{}
	for i, s := range servers {
		out[s] = says[i]
	}
	return out
}

// state reports whether a portal of a target is open, or why it is closed. Its error says why
// that is not known.
func (s saying) state(t *inventory.Target, transport string, at netip.AddrPort) (open bool, why string, err error) {
	switch {
	case s.err != nil && t.Engine == "nvmet":
		return false, "", fmt.Errorf("the kernel's target of %s could not be read: %w", t.Server.Addr, s.err)
	case s.err != nil:
		return false, "", fmt.Errorf("weft-target of %s does not answer: %w", t.Server.Addr, s.err)
	case t.Engine == "nvmet":
		return s.atKernel(t, transport, at)
	}
	for _, have := range s.status.Portals {
		if have.Transport == transport && have.Address == at.String() {
			return have.Error == "", have.Error, nil
		}
	}
	return false, "weft-target does not have it", nil
}

// atKernel is state where the kernel serves the target: a port is open while it exports
// something, and serves the target where it exports all of its subsystems.
func (s saying) atKernel(t *inventory.Target, transport string, at netip.AddrPort) (open bool, why string, err error) {
	i := slices.IndexFunc(s.kernel, func(p KernelPort) bool { return p.Transport == transport && p.Address == at })
	if i < 0 {
		return false, "the kernel's target has no such port", nil
	}
	p := s.kernel[i]
	for _, sub := range t.Subsystems {
		if !slices.Contains(p.NQNs, sub.NQN) {
			return false, "the port of the kernel's target does not export " + sub.NQN, nil
		}
	}
	return p.Closed == "", p.Closed, p.Unknown
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
	isOpen := func(transport string) bool {
		open, _, err := said.state(t, transport, p.Address)
		return open && err == nil
	}
	instead := "" // what is open where the first is not
	if at := slices.IndexFunc(list, isOpen); at > 0 {
		instead = strings.ToUpper(list[at])
	}
	for i, transport := range list {
		j := Judgement{Validation: pathName, Metric: PortalOpen, Pair: fmt.Sprintf("%s %s %s", t.Addr, strings.ToUpper(transport), p.Address), Counted: true, Verdict: Pass}
		open, why, err := said.state(t, transport, p.Address)
		switch {
		case err != nil:
			j.Verdict, j.Why = Inconclusive, err.Error()
		case open:
		case i > 0 && onlyInstead(t, p, transport) && isOpen(list[0]): // it is opened only where the first cannot be
			continue
		case i == 0 && instead != "" && t.AllowDegraded:
			j.Degraded = why
			j.Note = fmt.Sprintf("degraded (allowed): it is closed, %s is open in its place: %s", instead, why)
		case i > 0 && t.AllowDegraded && isOpen(list[0]):
			j.Degraded, j.Note = why, "degraded (allowed): it is closed: "+why
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
