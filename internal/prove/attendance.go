package prove

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/wait"
	"weft/inventory"
)

// A Path is a connection of a kernel.
type Path struct {
	Host, Subsystem string // NQNs
	Address         netip.AddrPort
}

// An attendance is which servers answer, and what paths their kernels have. Each
// is asked with one command.
type attendance struct {
	ask      func(context.Context, *inventory.Server) ([]Path, error)
	servers  []*inventory.Server
	routes   []*route
	answered map[*inventory.Server]bool
}

// A route leads from an initiator to a target through one portal, with a path to
// each of its subsystems.
type route struct {
	from  *inventory.Server
	label string
	paths []Path
	over  []string      // devices that may hold it up while they are changed
	parts []string      // what it goes through
	every time.Duration // its kernel tries to bring it back

	live  []Path    // seen live at some time
	since time.Time // some of these are not; zero: they all are
	said  bool      // that it is lost
}

// retryEnds is how long a kernel may take to connect, once it tries.
const retryEnds = 5 * time.Second

// left is how long it may still be down before it is lost.
func (r *route) left(at time.Time) time.Duration { return r.every + retryEnds - at.Sub(r.since) }

// newAttendance is about the servers that are rolled out, at least with one NIC;
// nil: there is none.
func newAttendance(in Input) *attendance {
	a := &attendance{ask: in.Paths, answered: map[*inventory.Server]bool{}}
	if in.Paths == nil {
		return nil
	}
	ready := func(r *inventory.RNIC) bool { return in.Ready == nil || in.Ready(r.Server.Addr, r.Name) }
	nics, asked := cabled(in.Model).servers, map[*inventory.Server]bool{}
	for _, s := range in.Model.Servers {
		if asked[s] = slices.ContainsFunc(nics[s], ready); asked[s] {
			a.servers = append(a.servers, s)
		}
	}
	if a.servers == nil {
		return nil
	}
	ways := map[way][]string{}
	for _, l := range legs(in.Model, nil) {
		ways[way{l.from.Server, l.target, l.portal.Address}] = l.parts
	}
	for _, i := range in.Model.Initiators {
		if i.Engine != "kernel" || !asked[i.Server] {
			continue
		}
		for c, t := range i.Reaches() {
			for _, p := range t.Portals {
				if nic := inPlane(i.Server, p.Plane); nic == nil && p.Plane == nil || nic != nil && ready(nic) {
					a.routes = append(a.routes, newRoute(in.Model, i, c, t, p, ways[way{i.Server, t, p.Address}]))
				}
			}
		}
	}
	return a
}

// A way is what tells legs apart.
type way struct {
	from *inventory.Server
	to   *inventory.Target
	at   netip.AddrPort
}

func newRoute(m *inventory.Model, i *inventory.Initiator, c *inventory.Connect, t *inventory.Target, p inventory.Portal, parts []string) *route {
	row := &Row{Initiator: i.Server.Addr, Target: t.Addr}
	row.Plane, row.At = flow{target: t, portal: p}.plane()
	row.Remote = p.Address.String()
	every := max(c.ReconnectDelay, time.Second)
	r := &route{from: i.Server, label: row.Pair(), over: []string{i.Server.Addr}, every: every}
	r.paths = slice.Map(t.Subsystems, func(sub *inventory.Subsystem) Path { return Path{i.HostNQN, sub.NQN, p.Address} })
	far := t.Addr
	if t.Server != nil {
		far = t.Server.Addr
		r.over = append(r.over, far)
	}
	r.parts = append([]string{i.Server.Addr, far}, parts...)
	// Whatever switch is not known to be of another plane may carry it.
	for _, sw := range m.Switches {
		if sw.Plane == "" || p.Plane == nil || sw.Plane == p.Plane.Name {
			r.over = append(r.over, sw.Addr)
		}
	}
	return r
}

// look asks the servers that free lets it ask.
func (a *attendance) look(ctx context.Context, free func(device string) bool) []Judgement {
	return a.lookAt(ctx, free, a.servers)
}

// An answer is what a server says.
type answer struct {
	paths []Path
	err   error
}

// away reports whether the server does not answer, or is another one.
func (a answer) away() bool {
	return errors.As(a.err, new(*remote.UnreachableError)) || errors.As(a.err, new(*remote.HostKeyError))
}

func (a *attendance) lookAt(ctx context.Context, free func(device string) bool, servers []*inventory.Server) []Judgement {
	answers := a.askAll(ctx, slices.DeleteFunc(slices.Clone(servers), func(s *inventory.Server) bool { return !free(s.Addr) }))
	if ctx.Err() != nil {
		return nil
	}
	var out []Judgement
	for _, s := range servers {
		says, asked := answers[s]
		if !asked {
			continue
		}
		if says.away() && a.answered[s] {
			why := says.err.Error()
			if h := hint.Of(says.err); h != "" {
				why += " (" + h + ")"
			}
			out = append(out, silent(s.Addr, why))
		}
		a.answered[s] = !says.away()
	}
	var lost []*route
	var whole [][]string
	for _, r := range a.routes {
		says, known := answers[r.from]
		if !known && free(r.from.Addr) {
			continue // it is not its turn
		}
		known = known && says.err == nil && !slices.ContainsFunc(r.over, func(device string) bool { return !free(device) })
		switch r.judge(says.paths, known, time.Now()) {
		case Fail:
			lost = append(lost, r)
		case Pass:
			whole = append(whole, r.parts)
		}
	}
	bad := slice.Map(lost, func(r *route) []string { return r.parts })
	for _, r := range lost {
		out = append(out, Judgement{Validation: builtIn, Metric: "paths", Pair: r.label, Counted: true, Verdict: Fail, Where: locate(bad, whole),
			Why: fmt.Sprintf("it was live and is lost: its kernel tries every %v to bring it back, and has not", r.every)})
	}
	return out
}

// judge holds the paths of a kernel against those that were seen before. One that
// is not known, or may be held up by a change, is looked at afresh the next time.
func (r *route) judge(now []Path, known bool, at time.Time) Verdict {
	if !known {
		r.since = time.Time{}
		return Inconclusive
	}
	for _, p := range r.paths {
		if slices.Contains(now, p) && !slices.Contains(r.live, p) {
			r.live = append(r.live, p)
		}
	}
	missing := slices.ContainsFunc(r.live, func(p Path) bool { return !slices.Contains(now, p) })
	switch {
	case !missing:
		r.since, r.said = time.Time{}, false
		if r.live == nil {
			return Inconclusive
		}
		return Pass
	case r.since.IsZero():
		r.since = at
	case !r.said && r.left(at) <= 0:
		r.said = true
		return Fail
	}
	return Inconclusive
}

// doubtful are the routes of which it is not known yet whether they come back.
func (a *attendance) doubtful() (servers []*inventory.Server, least time.Duration) {
	for _, r := range a.routes {
		if r.since.IsZero() || r.said {
			continue
		}
		if left := r.left(time.Now()); servers == nil || left < least {
			least = left
		}
		if !slices.Contains(servers, r.from) {
			servers = append(servers, r.from)
		}
	}
	return servers, least
}

// settled looks again until nothing is in doubt.
func (a *attendance) settled(ctx context.Context, free func(device string) bool) []Judgement {
	var out []Judgement
	for {
		servers, left := a.doubtful()
		if servers == nil {
			return out
		}
		if !wait.For(ctx, min(max(left, 0), time.Second)) {
			return nil
		}
		out = append(out, a.lookAt(ctx, free, servers)...)
	}
}

// askAll asks many at the same time.
func (a *attendance) askAll(ctx context.Context, servers []*inventory.Server) map[*inventory.Server]answer {
	out := make(map[*inventory.Server]answer, len(servers))
	var mu sync.Mutex
	asking := newQuestions()
	for _, s := range servers {
		asking.Go(func() {
			paths, err := a.ask(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			out[s] = answer{paths, err}
		})
	}
	asking.Wait()
	return out
}
