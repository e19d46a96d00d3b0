package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/agent"
	"weft/internal/metric"
	"weft/inventory"
	"weft/plan"
)

// A Load is what one flow did of a load that a validation describes.
type Load struct {
	Validation string  `json:"validation"`
	Initiator  string  `json:"initiator"` // HCL address of the server
	Target     string  `json:"target"`
	Plane      string  `json:"plane"`
	At         string  `json:"at,omitempty"`      // portal, where the target has more than one in the plane
	Scratch    string  `json:"scratch,omitempty"` // address of the namespace that was written to; "": it only read
	Pattern    string  `json:"pattern"`
	ReadShare  int     `json:"read_share,omitempty"` // percent, where the pattern mixes
	Size       int     `json:"size"`                 // bytes of one command
	Depth      int     `json:"depth"`                // commands under way in each queue
	Queues     int     `json:"queues"`
	Rate       float64 `json:"rate,omitempty"` // commands a second that were asked for; 0: as many as go

	Runtime    time.Duration `json:"runtime_ns"`
	Transport  string        `json:"transport"`
	Mode       string        `json:"mode,omitempty"`
	Degraded   bool          `json:"degraded,omitempty"`
	Instead    string        `json:"degraded_why,omitempty"`
	TLS        string        `json:"tls,omitempty"` // the cipher suite; "": in clear
	Reads      Operations    `json:"reads"`
	Writes     Operations    `json:"writes"`
	Flushes    Operations    `json:"flushes"`
	Missing    []string      `json:"missing,omitempty"` // what the load is made of and no command of has ended: reads, writes, flushes
	IOPS       float64       `json:"iops"`              // of reads and writes together
	BitsPerSec float64       `json:"bits_per_second"`
	CPUPerGbit float64       `json:"cpu_us_per_gbit"` // processor time of the initiator's process, microseconds
	Errors     int           `json:"errors"`
	Checked    int64         `json:"blocks_checked,omitempty"` // blocks read back and compared with what was written
	Bad        int64         `json:"blocks_bad,omitempty"`
	Why        string        `json:"why,omitempty"`     // it was not measured, or not to its end
	Untried    bool          `json:"untried,omitempty"` // nothing was asked of anybody for it
	Absence

	flow flow
}

// Operations are the commands of one kind.
type Operations struct {
	Done int64 `json:"done"`
	metric.Quantiles
	Histogram string `json:"histogram,omitempty"`
}

// Pair names the load for people.
func (l *Load) Pair() string {
	return (&Row{Initiator: l.Initiator, Target: l.Target, Plane: l.Plane, At: l.At, ProbeResult: agent.ProbeResult{Remote: l.flow.portal.Address.String()}}).Pair()
}

// loads reports whether a validation makes a load.
func loads(v *inventory.Validation) bool { return v.Load != nil }

// loaded reports whether a metric is one of a load.
func loaded(v *inventory.Validation, m *inventory.Metric) bool {
	return loads(v) && m.Measure.Probed(v.Probe)
}

// A loading is a load that is to be made.
type loading struct {
	*Load
	v *inventory.Validation
}

// loadings are all loads of validations, in the order of their flows, and what samples
// leave out. What writes goes to every scratch namespace, what reads to the namespace
// that reads go to.
func loadings(m *inventory.Model, validations []*inventory.Validation, there func(*inventory.Server, *inventory.Target) bool) (out []loading, left []Judgement) {
	for _, v := range validations {
		if !loads(v) {
			continue
		}
		all := flowsOf(m, []*inventory.Validation{v}, loadProbe)
		all = slices.DeleteFunc(all, func(f flow) bool { return f.local || there != nil && !there(f.from, f.target) })
		some := all
		if sampled([]*inventory.Validation{v}) {
			some = sample(all)
			left = append(left, leftOut(v, all, some)...)
		}
		for _, f := range some {
			targets := []inventory.Scratch{{Subsystem: f.sub, Namespace: f.ns}}
			if v.Load.Overwrites() {
				targets = f.target.Scratch()
			}
			for _, s := range targets {
				f.sub, f.ns = s.Subsystem, s.Namespace
				l := &Load{Validation: v.Name, Initiator: f.from.Addr, Target: f.target.Addr, Scratch: s.Addr, Pattern: v.Load.Pattern, Size: f.size,
					Depth: v.Depth, Queues: v.Load.Queues, Rate: v.Load.Rate, Runtime: v.Runtime, Transport: f.transports()[0], flow: f}
				if v.Load.Mixes() {
					l.ReadShare = v.Load.ReadShare
				}
				l.Plane, l.At = f.plane()
				out = append(out, loading{l, v})
			}
		}
	}
	return out, left
}

// loadAll makes all loads, in rounds in which no server carries two of them, and says what
// samples leave out.
func (r *run) loadAll(ctx context.Context, validations []*inventory.Validation) (out []*Load, left []Judgement) {
	list, left := loadings(r.in.Model, validations, r.in.There)
	var ends []flow
	for _, l := range list {
		out, ends = append(out, l.Load), append(ends, l.flow)
	}
	for _, round := range rounds(ends) {
		if ctx.Err() != nil {
			break
		}
		var wg sync.WaitGroup
		for _, i := range round {
			wg.Go(func() { r.make(ctx, list[i]) })
		}
		wg.Wait()
	}
	return out, left
}

// make makes a load.
func (r *run) make(ctx context.Context, l loading) {
	defer r.emitLoad(ctx, l.Load)
	if l.Why = r.forbids(ctx, l); l.Why != "" {
		return
	}
	host, err := r.hosts.of(ctx, l.flow.from)
	if err != nil {
		l.Why = err.Error()
		return
	}
	reply, err := ask(ctx, host, agent.Request{Load: r.work(l)})
	if err != nil {
		l.Why = err.Error()
		return
	}
	l.take(reply)
	l.Missing = l.missing(l.v.Load)
	l.Degraded, l.Instead = l.flow.degraded(l.Transport, l.Instead)
}

// work is what is asked of weft-initiator.
func (r *run) work(l loading) *agent.LoadRequest {
	of := l.v.Load
	q := r.loads(l.flow)
	q.Pattern, q.Depth, q.Runtime, q.Ramp = of.Pattern, l.Depth, l.Runtime, throughputRamp
	q.Work = &agent.Work{ReadShare: of.ReadShare, Queues: of.Queues, Rate: of.Rate, FlushEach: of.FlushEach, Span: uint64(of.Span)}
	if of.Overwrites() {
		q.Work.Overwrite = fmt.Sprintf("%s/%d", q.NQN, q.NSID)
	}
	return q
}

// take notes what a reply says.
func (l *Load) take(reply *agent.Reply) {
	r := reply.Load
	if r == nil || r.Worked == nil {
		l.Why = unanswered(reply).Error()
		return
	}
	w := r.Worked
	l.Transport, l.Instead, l.TLS, l.Mode, l.CPUPerGbit = r.Transport, r.Degraded, r.TLS, r.Mode, r.CPUPerGbit
	l.Reads, l.Writes, l.Flushes = operations(w.Read), operations(w.Write), operations(w.Flush)
	l.IOPS, l.BitsPerSec = w.Read.IOPS+w.Write.IOPS, (w.Read.BytesPerSec+w.Write.BytesPerSec)*8
	l.Errors, l.Checked, l.Bad = r.Failed, w.Checked, w.Bad
	switch {
	case reply.Error != "":
		l.Why = unanswered(reply).Error()
	case l.Reads.Done+l.Writes.Done == 0:
		l.Why = "not a single command ended"
	}
}

// missing are the kinds of commands that a load is made of and has none of that ended.
func (l *Load) missing(of *inventory.Load) (out []string) {
	reads, writes, flushes := of.Makes()
	for _, k := range []struct {
		name   string
		wanted bool
		done   int64
	}{{"reads", reads, l.Reads.Done}, {"writes", writes, l.Writes.Done}, {"flushes", flushes, l.Flushes.Done}} {
		if k.wanted && k.done == 0 {
			out = append(out, k.name)
		}
	}
	return out
}

func operations(o agent.Operations) Operations {
	out := Operations{Done: o.Done, Histogram: o.Histogram}
	if o.Histogram != "" {
		out.Quantiles = metric.QuantilesOf(decoded(o.Histogram))
	}
	return out
}

// forbids says why a load is not made; "": it may be. What reads may be made wherever
// reads are, what writes only where nobody uses what it overwrites.
func (r *run) forbids(ctx context.Context, l loading) string {
	l.Untried = true
	switch f := l.flow; {
	case r.witness(f.from) != nil:
		l.Absence = r.absent(f.from)
		return r.unasked(f.from)
	case r.in.Hollow != nil && r.in.Hollow(f.target) != "":
		return r.in.Hollow(f.target)
	case l.Scratch != "" && !slices.Contains(r.in.MayWrite, l.Scratch):
		return "it overwrites data and needs permission: weft verify --i-will-write '" + l.Scratch + "'"
	}
	l.Untried = false
	if l.Scratch == "" {
		return ""
	}
	return r.occupied(ctx, l.flow)
}

// occupied says why a scratch namespace must not be written to; "": nobody uses it. All
// hosts that it admits are asked, and one that cannot be asked may use it.
func (r *run) occupied(ctx context.Context, f flow) string {
	known := map[string]*inventory.Initiator{}
	for _, i := range r.in.Model.Initiators {
		known[i.HostNQN], known[i.ProbeNQN] = i, i
	}
	asked := map[*inventory.Server]bool{}
	for _, nqn := range f.sub.AllowHosts {
		i := known[nqn]
		if i == nil {
			return fmt.Sprintf("nothing was written: %s admits %s, which is not an initiator in these files, so its use of the namespace is unknown", f.target.Addr, nqn)
		}
		if asked[i.Server] {
			continue
		}
		asked[i.Server] = true
		uses, err := r.uses(ctx, i.Server, f.ns.UUID)
		if err != nil {
			return fmt.Sprintf("nothing was written: the use of the namespace by %s is unknown: %v", i.Server.Addr, err)
		}
		if len(uses) > 0 {
			return fmt.Sprintf("nothing was written: %s uses the namespace: %s", i.Server.Addr, strings.Join(uses, ", "))
		}
	}
	return ""
}

// uses asks a server what it does with a namespace.
func (r *run) uses(ctx context.Context, s *inventory.Server, uuid string) ([]string, error) {
	if r.in.Uses == nil {
		return nil, fmt.Errorf("it cannot be queried")
	}
	host, err := r.hosts.of(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.in.Uses(ctx, s, host, uuid)
}

func (r *run) emitLoad(ctx context.Context, l *Load) {
	if r.in.Emit == nil || ctx.Err() != nil {
		return
	}
	e := plan.Event{Time: time.Now(), Type: plan.EventProbe, Device: l.Initiator, Data: map[string]any{"load": l},
		Message: fmt.Sprintf("%s, %s: %.0f commands a second, %.3g Gbit/s", l.Pair(), l.Validation, l.IOPS, l.BitsPerSec/1e9)}
	switch {
	case l.Untried:
		e.Message = l.Pair() + ", " + l.Validation + ": " + string(NotMeasured) + ": " + l.Why
	case l.Why != "":
		e.Level, e.Message = "error", l.Pair()+", "+l.Validation+": "+l.Why
	}
	r.in.Emit(e)
}

// asRows are loads as rows, as far as these tell what they went over.
func asRows(list []*Load) (out []*Row) {
	for _, l := range list {
		row := &Row{Initiator: l.Initiator, Target: l.Target, Plane: l.Plane, At: l.At, Degraded: l.Degraded, Why: l.Why, Unprobed: l.Untried, Absence: l.Absence, flow: l.flow}
		row.ProbeResult = agent.ProbeResult{Degraded: l.Instead, TLS: l.TLS, Remote: l.flow.portal.Address.String(), Samples: int(l.Reads.Done + l.Writes.Done)}
		out = append(out, row)
	}
	return out
}
