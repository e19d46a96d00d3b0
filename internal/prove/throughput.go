package prove

import (
	"context"
	"sync"
	"time"

	"weft/internal/agent"
)

// A Throughput is what one flow moves with many reads under way, and what that
// costs.
type Throughput struct {
	Initiator  string  `json:"initiator"`
	Target     string  `json:"target"`
	Plane      string  `json:"plane"`
	Transport  string  `json:"transport"`
	Mode       string  `json:"mode"`
	Size       int     `json:"size"` // bytes of one read
	Depth      int     `json:"depth"`
	BitsPerSec float64 `json:"bits_per_second"`
	IOPS       float64 `json:"iops"`
	CPUPerGbit float64 `json:"cpu_us_per_gbit"`                  // processor time of the initiator for a gigabit, microseconds
	TargetCPU  float64 `json:"target_cpu_us_per_gbit,omitempty"` // and of weft-target; 0: it is not known
	Errors     int     `json:"errors"`
	Why        string  `json:"why,omitempty"` // it could not be measured
	Degraded   bool    `json:"degraded,omitempty"`
	Instead    string  `json:"degraded_why,omitempty"`
	TLS        string  `json:"tls,omitempty"` // the cipher suite; "": in clear
}

// How throughput is measured.
const (
	throughputSize  = 64 << 10
	throughputDepth = 16
	throughputTime  = time.Second
	throughputRamp  = 200 * time.Millisecond
)

// throughput reads as fast as goes over every pair and plane, and from the
// storage itself, in the same rounds as the latencies: no NIC carries two flows.
func (r *run) throughput(ctx context.Context, all []flow) []*Throughput {
	var list []flow
	seen := map[string]bool{}
	for _, f := range all {
		if f.wire != "" || !f.local && r.witness(f.from) != nil {
			continue
		}
		f.size = throughputSize
		if key := f.String(); !seen[key] {
			seen[key] = true
			list = append(list, f)
		}
	}
	out := make([]*Throughput, len(list))
	for _, round := range rounds(list) {
		var wg sync.WaitGroup
		for _, i := range round {
			wg.Go(func() { out[i] = r.load(ctx, list[i]) })
		}
		wg.Wait()
	}
	return out
}

// load runs one flow.
func (r *run) load(ctx context.Context, f flow) *Throughput {
	t := &Throughput{Initiator: f.from.Addr, Target: f.target.Addr, Size: throughputSize, Depth: throughputDepth, Transport: localTransport}
	if f.portal.Plane != nil {
		t.Plane = f.portal.Plane.Name
	}
	if !f.local {
		t.Transport = f.transports()[0]
	}
	q := r.loads(f)
	q.Depth, q.Runtime, q.Ramp = throughputDepth, throughputTime, throughputRamp
	host, err := r.hosts.of(ctx, f.from)
	if err != nil {
		t.Why = err.Error()
		return t
	}
	before := r.spent(ctx, f)
	reply, err := ask(ctx, host, agent.Request{Load: q})
	t.TargetCPU = costs(before, r.spent(ctx, f))
	if err != nil {
		t.Why = err.Error()
		return t
	}
	t.Why = t.take(reply)
	t.Degraded, t.Instead = f.degraded(t.Transport, t.Instead)
	return t
}

// loads is what is asked for to see how much goes; Depth and Runtime are left to say.
func (r *run) loads(f flow) *agent.LoadRequest {
	q := &agent.LoadRequest{Pattern: "randread", Size: uint64(f.size), Timeout: readTime}
	if f.local {
		q.Path, q.Over.Transports = r.in.Volume(f.ns.From, f.target.Server), []string{"tcp"}
		return q
	}
	q.Over, q.Portals, q.NQN, q.NSID = f.over(), []string{f.portal.Address.String()}, f.sub.NQN, f.namespace()
	return q
}

// A spending is what a weft-target has used and served since it started.
type spending struct {
	pid  int
	cpu  time.Duration
	read uint64 // bytes, of all subsystems
}

// spent asks the target of a flow; nil: there is none, or it does not say.
func (r *run) spent(ctx context.Context, f flow) *spending {
	if f.local || f.target.Engine != "weft" {
		return nil
	}
	st, err := r.status(ctx, f.target.Server)
	if err != nil {
		return nil
	}
	s := &spending{pid: st.PID, cpu: st.UserTime + st.SystemTime}
	for _, sub := range st.Subsystems {
		s.read += sub.BytesRead
	}
	return s
}

// costs is the processor time of a target for a gigabit in microseconds; 0: it
// is not known. While a flow is measured its target serves no other one.
func costs(before, after *spending) float64 {
	if before == nil || after == nil || before.pid != after.pid || after.read <= before.read {
		return 0
	}
	return float64((after.cpu - before.cpu).Microseconds()) / (float64(after.read-before.read) * 8 / 1e9)
}

// take notes what a reply says; why is empty when it is a result.
func (t *Throughput) take(reply *agent.Reply) (why string) {
	r := reply.Load
	if r == nil {
		return unanswered(reply).Error()
	}
	t.Transport, t.Instead, t.TLS = r.Transport, r.Degraded, r.TLS
	t.Mode, t.BitsPerSec, t.IOPS, t.CPUPerGbit, t.Errors = r.Mode, r.BytesPerSec*8, r.IOPS, r.CPUPerGbit, r.Failed
	if r.Reads == 0 {
		return "not a single read ended"
	}
	return ""
}
