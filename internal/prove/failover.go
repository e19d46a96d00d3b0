package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/wait"
	"weft/inventory"
)

// failoverName is what judgements about a plane that was cut stand under.
const failoverName = "failover"

// A Cut is one NIC of an initiator's server that may be cut: another plane
// leads to the same target.
type Cut struct {
	Initiator *inventory.Initiator
	Connect   *inventory.Connect
	Target    *inventory.Target
	NIC       *inventory.RNIC
}

// String names the NIC, as whoever allows the cut has to.
func (c Cut) String() string { return portOf(c.NIC) }

// Cuts are what could be cut: of each initiator the NIC in each plane over
// which it reaches a target of weft's own that it reaches over another one,
// too. One target stands for all of an initiator.
func Cuts(m *inventory.Model) []Cut {
	var out []Cut
	for _, i := range m.Initiators {
		for c, t := range i.Reaches() {
			nics := reaching(i.Server, t)
			if t.Engine != "weft" || len(nics) < 2 {
				continue
			}
			for _, nic := range nics {
				one := Cut{i, c, t, nic}
				if !slices.ContainsFunc(out, func(o Cut) bool { return o.NIC == nic }) {
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// reaching are the NICs of a server over which it reaches a target.
func reaching(s *inventory.Server, t *inventory.Target) []*inventory.RNIC {
	var nics []*inventory.RNIC
	for _, p := range t.Portals {
		if nic := inPlane(s, p.Plane); nic != nil && !slices.Contains(nics, nic) {
			nics = append(nics, nic)
		}
	}
	return nics
}

// FailoverInput is what measuring a failover needs.
type FailoverInput struct {
	Input
	// Cut takes a NIC's link down and makes sure that its server brings it back
	// after a time by itself; mend brings it back now.
	Cut func(ctx context.Context, h remote.Host, nic *inventory.RNIC, after time.Duration) (mend func(context.Context) error, err error)
}

// Failover cuts one plane of an initiator while it reads over all of them, and
// judges for how long reads have stood still. It refuses, with an error, where
// that would leave no path. The link is up again when it returns, or the error
// says that this is not proven.
func Failover(ctx context.Context, in FailoverInput, c Cut) (*Result, error) {
	r := &run{in: in.Input, hosts: hosts{dial: in.Host}}
	host, err := r.hosts.of(ctx, c.Initiator.Server)
	if err != nil {
		return nil, err
	}
	if err := r.spare(ctx, c); err != nil {
		return nil, err
	}
	out, err := r.cutUnderLoad(ctx, host, in, c)
	if err == nil && ctx.Err() != nil { // what was cut short says nothing about the fabric
		return nil, fmt.Errorf("interrupted: the link of %s is as it was before, and nothing is judged: %w", c, context.Cause(ctx))
	}
	if out == nil {
		return nil, err
	}
	res := &Result{Judgements: []Judgement{out.judge(c)}}
	res.Verdict = overall(res)
	return res, err
}

// spare reports why a cut would leave kernels without a path.
func (r *run) spare(ctx context.Context, c Cut) error {
	if c.Initiator.Engine != "kernel" {
		return nil
	}
	a, err := r.attached(ctx, c.Initiator)
	if err != nil {
		return fmt.Errorf("whether another path of %s is live is not known, nothing is cut: %w", c.Initiator.Addr, err)
	}
	if a.LivePaths < 2 {
		return hint.Wrap(fmt.Errorf("%s has %d live path to a subsystem: cutting %s could stop its I/O, nothing is cut", c.Initiator.Addr, a.LivePaths, c),
			"see weft plan, and nvme list-subsys on %s", c.Initiator.Server.Host)
	}
	return nil
}

// patience is how long a path may be silent before it counts as lost, and limit
// is for how long I/O may stand still: that, and one try to connect again.
func (c Cut) patience() time.Duration {
	if k := c.Connect.KeepAliveTMO; k > 0 {
		return k
	}
	return 5 * time.Second
}

func (c Cut) limit() time.Duration { return c.patience() + max(c.Connect.ReconnectDelay, time.Second) }

// A stalled is what a load has lived through.
type stalled struct {
	Stall       time.Duration // the longest that a read took
	Cut         time.Duration // for how long the link was down
	Reads       int64
	Failed      int
	Lost        int // paths
	Reconnected int
	Degraded    string
	Why         string // it could not be measured
}

// judge holds the stall against the limit. A load that has not noticed the cut
// proves nothing.
func (s *stalled) judge(c Cut) Judgement {
	j := Judgement{Validation: failoverName, Metric: "stall", Latency: true, Limit: float64(c.limit()), Value: float64(s.Stall), Verdict: Pass,
		Pair: fmt.Sprintf("%s → %s, %s cut", c.Initiator.Server.Addr, c.Target.Addr, c)}
	j.Note = fmt.Sprintf("plane %s down for %.1f s; %d reads, %d failed, %d path lost, %d back; limit: keep alive and one try to connect again",
		c.NIC.Plane.Name, s.Cut.Seconds(), s.Reads, s.Failed, s.Lost, s.Reconnected)
	if s.Degraded != "" {
		j.Note += "; DEGRADED, over TCP: " + s.Degraded
	}
	switch {
	case s.Why != "":
		j.Verdict, j.Why, j.Value = Inconclusive, s.Why, 0
	case s.Failed > 0:
		j.Verdict, j.Why = Fail, fmt.Sprintf("%d reads failed", s.Failed)
	case s.Lost == 0:
		j.Verdict, j.Why, j.Value = Inconclusive, "the load lost no path: the cut was not on its way", 0
	case s.Stall > c.limit():
		j.Verdict = Fail
	}
	return j
}

const settled = time.Second // of reads before the cut

// cutUnderLoad reads over all planes, cuts one, and brings it back. Nil without
// an error that is about the link: nothing was cut.
func (r *run) cutUnderLoad(ctx context.Context, host remote.Host, in FailoverInput, c Cut) (*stalled, error) {
	down := 2*c.patience() + time.Second
	loading, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan loadEnd, 1)
	go func() {
		reply, err := ask(loading, host, agent.Request{Load: r.multipath(c, settled+down+2*c.patience())})
		over <- loadEnd{reply, err}
	}()
	if err := r.connected(ctx, c, over); err != nil {
		stop()
		if early := (*endedEarly)(nil); errors.As(err, &early) {
			return &stalled{Why: early.Error()}, nil
		}
		<-over
		return nil, err
	}
	wait.For(ctx, settled)
	begun := time.Now()
	// Whoever interrupts wants the link back all the same.
	mend, err := in.cut(ctx, host, c, down+time.Minute)
	if err != nil {
		stop()
		<-over
		return nil, fmt.Errorf("cut %s: %w", c, err)
	}
	wait.For(ctx, down)
	mending, done := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer done()
	err = mend(mending)
	lasted := time.Since(begun)
	if err != nil {
		err = hint.Wrap(fmt.Errorf("bring %s back: %w", c, err), "its server brings it back by itself within %v", down+time.Minute)
	}
	e := <-over
	s := readStalled(e.reply, e.err)
	s.Cut = lasted
	return s, err
}

// cut cuts, or not, where ctx has ended: it is never left halfway, when nobody
// would know how to bring the link back.
func (in FailoverInput) cut(ctx context.Context, host remote.Host, c Cut, after time.Duration) (mend func(context.Context) error, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	whole, done := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer done()
	return in.Cut(whole, host, c.NIC, after)
}

// waitTime is how long commands wait when all paths are lost: longer than any cut.
const waitTime = 10 * time.Minute

// multipath is a load over all planes.
func (r *run) multipath(c Cut, runtime time.Duration) *agent.LoadRequest {
	sub := c.Target.Subsystems[0]
	f := flow{from: c.Initiator.Server, probe: c.Initiator.ProbeNQN, target: c.Target, portal: c.Target.Portals[0], keys: keysOf(r.in.Model.Name, c.Initiator, c.Target)}
	q := &agent.LoadRequest{Over: f.over(), NQN: sub.NQN, NSID: sub.Namespaces[0].ID, Pattern: "randread", Size: 4096, Depth: 4, Runtime: runtime,
		Timeout: c.patience(), KeepAlive: c.patience(), Patience: waitTime}
	q.Over.From = "" // each path has its own
	for _, p := range c.Target.Portals {
		if inPlane(c.Initiator.Server, p.Plane) != nil {
			q.Portals = append(q.Portals, p.Address.String())
		}
	}
	return q
}

// A loadEnd is how a load ended.
type loadEnd struct {
	reply *agent.Reply
	err   error
}

// An endedEarly is a load that was over before anything was cut.
type endedEarly struct{ said string }

func (e *endedEarly) Error() string { return "the load ended before the cut: " + e.said }

// connected waits until the target serves the load over both of its paths.
func (r *run) connected(ctx context.Context, c Cut, over <-chan loadEnd) error {
	most := time.Minute + 3*c.patience()
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("the load did not connect over all planes within %v", most))
	defer cancel()
	for {
		st, err := r.status(ctx, c.Target.Server)
		if err != nil {
			return fmt.Errorf("query the connections of %s: %w", c.Target.Server.Addr, err)
		}
		portals := map[string]bool{}
		for _, k := range st.Controllers {
			if k.Host == c.Initiator.ProbeNQN && k.Subsystem == c.Target.Subsystems[0].NQN && k.IOQueues > 0 {
				portals[k.Portal] = true
			}
		}
		if len(portals) >= len(reaching(c.Initiator.Server, c.Target)) {
			return nil
		}
		select {
		case e := <-over:
			s := readStalled(e.reply, e.err)
			return &endedEarly{s.Why}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// readStalled is how a load lived through a cut.
func readStalled(reply *agent.Reply, err error) *stalled {
	switch {
	case err != nil:
		return &stalled{Why: err.Error()}
	case reply.Load == nil:
		return &stalled{Why: unanswered(reply).Error()}
	}
	r := reply.Load
	s := &stalled{Stall: r.Longest, Reads: r.Reads, Failed: r.Failed, Lost: r.Lost, Reconnected: r.Reconnected, Degraded: r.Degraded}
	if s.Reads == 0 && s.Failed == 0 {
		s.Why = "not a single read ended"
	}
	return s
}
