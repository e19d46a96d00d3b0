package prove

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/metric"
	"weft/internal/remote"
	"weft/inventory"
	"weft/plan"
)

// What is measured where the files do not say.
const (
	defaultSize    = 4096
	defaultSamples = 1000
	depth          = 1
)

// localTransport is what a row says of a read on the server of the storage.
const localTransport = "local"

// A flow is one thing to measure: a server reads from a namespace through a
// portal, or, without a portal, from the storage behind it on its own server.
type flow struct {
	from    *inventory.Server
	probe   string // NQN of the probe on from
	target  *inventory.Target
	sub     *inventory.Subsystem
	ns      *inventory.Namespace
	portal  inventory.Portal
	local   bool
	size    int
	samples int
	keys    keyFiles
	wire    string // what is measured without NVMe, verbs or socket; "": reads
	plain   bool   // its probe reads over TCP only, and marks nothing
}

// far is the end that a flow goes to: the server, or, where another vendor has
// the target, its port.
func (f flow) far() any {
	if f.target.Server == nil {
		return f.portal.Address
	}
	return f.target.Server
}

// flows lists initiator × target × plane × size for each probe, and for each
// target of weft's servers the local read of the same storage. Where no
// validations were named there are reads whether one asks for them or not.
func flows(m *inventory.Model, validations []*inventory.Validation, named bool) []flow {
	var out []flow
	if !named || slices.ContainsFunc(validations, reads) {
		out = readFlows(m, validations)
	}
	for _, probe := range []string{verbsProbe, socketProbe} {
		if slices.ContainsFunc(validations, func(v *inventory.Validation) bool { return v.Probe == probe }) {
			out = append(out, wireFlows(m, validations, probe)...)
		}
	}
	return out
}

func readFlows(m *inventory.Model, validations []*inventory.Validation) []flow {
	return flowsOf(m, validations, readProbe)
}

// flowsOf are the reads at the sizes that validations with a probe ask for.
func flowsOf(m *inventory.Model, validations []*inventory.Validation, probe string) []flow {
	sizes, samples := wanted(validations, probe)
	var out []flow
	seen := map[*inventory.Target]bool{}
	for _, i := range m.Initiators {
		for _, t := range i.Reaches() {
			if len(t.Subsystems) == 0 || t.Server != nil && len(t.Subsystems[0].Namespaces) == 0 {
				continue
			}
			sub := t.Subsystems[0]
			base := flow{from: i.Server, probe: i.ProbeNQN, target: t, sub: sub, samples: samples, keys: keysOf(m.Name, i, t)}
			if t.Server != nil { // what an external one has is for it to say
				base.ns = sub.Namespaces[0]
			}
			for _, size := range sizes {
				base.size = size
				if t.Server != nil && !seen[t] {
					local := base
					local.from, local.local = t.Server, true
					out = append(out, local)
				}
				for _, p := range t.Portals {
					over := base
					over.portal = p
					out = append(out, over)
				}
			}
			seen[t] = true
		}
	}
	return out
}

func wanted(validations []*inventory.Validation, probe string) (sizes []int, samples int) {
	for _, v := range validations {
		if v.Probe != probe {
			continue
		}
		samples = max(samples, v.Samples)
		for _, size := range v.Sizes {
			if !slices.Contains(sizes, size) {
				sizes = append(sizes, size)
			}
		}
	}
	if len(sizes) == 0 {
		sizes = []int{defaultSize}
	}
	samples = cmp.Or(samples, defaultSamples)
	return sizes, samples
}

type run struct {
	in    Input
	hosts hosts

	said     map[*inventory.Server]saying // by weft-target, when it was asked last
	asking   *observer                    // made when something is asked first
	measured *Result                      // nil: nothing was

	left []Judgement    // what a sample of flows leaves out
	only map[wayTo]bool // ways that are proven; nil: all
}

// measure runs the flows round by round. Rows stand in the order of the flows.
func (r *run) measure(ctx context.Context, flows []flow) []*Row {
	rows := make([]*Row, len(flows))
	beat := r.pulse(len(flows))
	defer beat.end()
	for _, round := range rounds(flows) {
		if ctx.Err() != nil {
			break
		}
		var wg sync.WaitGroup
		for _, i := range round {
			wg.Go(func() {
				rows[i] = r.row(ctx, flows[i])
				rows[i].Probe = flows[i].wire
				beat.done.Add(1)
				if ctx.Err() == nil { // else it was cut short
					r.emit(rows[i])
				}
			})
		}
		wg.Wait()
	}
	return rows
}

func (r *run) row(ctx context.Context, f flow) *Row {
	row := &Row{Initiator: f.from.Addr, Target: f.target.Addr, flow: f, Wanted: f.samples}
	row.Size, row.Depth, row.Op = f.size, depth, "read"
	row.Transport = localTransport
	if !f.local {
		row.Transport = f.transports()[0]
		row.Remote = f.portal.Address.String()
		row.Plane, row.At = f.plane()
	}
	if r.in.Hollow != nil && f.wire == "" && !f.local {
		if row.Why = r.in.Hollow(f.target); row.Why != "" {
			return row
		}
	}
	if !f.local && r.witness(f.from) != nil {
		if row.Why = r.unprobed(f); row.Why != "" {
			row.Unprobed = true
			row.Absence = r.absent(f.from)
			return row
		}
	}
	ask := r.probe
	if f.wire != "" {
		ask, row.Transport, row.Op = r.toAndFro, wireTransport(f.wire), f.wire
	}
	res, err := ask(ctx, f)
	if err != nil {
		row.Why = err.Error()
		return row
	}
	row.ProbeResult = *res
	if f.wire == "" {
		row.Degraded, row.ProbeResult.Degraded = f.degraded(res.Transport, res.Degraded)
	}
	if res.Histogram == "" {
		return row
	}
	h := latency.New()
	if err := h.UnmarshalText([]byte(res.Histogram)); err != nil {
		row.Why = "the probe's histogram: " + err.Error()
		return row
	}
	row.Quantiles = metric.QuantilesOf(h)
	return row
}

// fabric is that of the portal; nil: it is in none.
func (f flow) fabric() *inventory.Fabric {
	if f.portal.RNIC == nil {
		return nil
	}
	return f.portal.RNIC.Fabric
}

// plane is the name of the portal's plane, and where the target has more than
// one portal in that, which one it is.
func (f flow) plane() (name, at string) {
	if f.portal.Plane == nil {
		return "", ""
	}
	for _, p := range f.target.Portals {
		if p.Plane == f.portal.Plane && p.Address != f.portal.Address {
			at = f.portal.Address.String()
		}
	}
	return f.portal.Plane.Name, at
}

// marking is the fabric whose classes packets to the portal are marked as; nil:
// none.
func (f flow) marking() *inventory.Fabric {
	if nic := inPlane(f.from, f.portal.Plane); f.portal.RNIC == nil && nic != nil {
		return nic.Fabric
	}
	return f.fabric()
}

// namespace is the number of the one that is read; 0: the first there is.
func (f flow) namespace() uint32 {
	if f.ns == nil {
		return 0
	}
	return f.ns.ID
}

// transports are what the target offers at the portal, in the order of
// preference: RDMA runs only where the fabric carries it.
func (f flow) transports() []string {
	list := slices.DeleteFunc(slices.Clone(f.target.Transport), func(t string) bool {
		return t == "rdma" && (f.plain || f.fabric() != nil && f.fabric().Transport == "tcp")
	})
	if len(list) == 0 {
		return []string{"tcp"}
	}
	return list
}

// degraded reports whether TCP was measured where RDMA is declared first, and why that was
// not to be had.
func (f flow) degraded(transport, why string) (bool, string) {
	if f.local || f.plain || transport != "tcp" || f.transports()[0] == "tcp" {
		return false, "" // what speaks TCP only is judged as that
	}
	return true, why
}

// keyFiles are on the server that probes: with its key, with that of the subsystem,
// and with the one for TLS.
type keyFiles struct{ host, sub, tls string }

func keysOf(owner string, i *inventory.Initiator, t *inventory.Target) (k keyFiles) {
	if t.TLS && i.TLSKey != nil {
		k.tls = agent.TLSKeyFile(owner, i.HostNQN)
	}
	if i.Key == nil {
		return k
	}
	k.host = agent.KeyFile(owner, i.HostNQN)
	if t.CtrlKey != nil {
		k.sub = agent.KeyFile(owner, t.Subsystems[0].NQN)
	}
	return k
}

// connectTime is how long a probe may take to connect.
const connectTime = 10 * time.Second

// over is what a probe goes over, and as whom.
func (f flow) over() agent.Way {
	w := agent.Way{Transports: f.transports(), From: ownAddress(f), ToS: f.tos(), Connect: connectTime, HostNQN: f.probe, KeyFile: f.keys.host, SubKeyFile: f.keys.sub, TLSKeyFile: f.keys.tls}
	if w.Transports[0] == "tcp" {
		w.Transports = []string{"tcp"} // nothing comes after what is always there
	}
	return w
}

// tos is how packets are marked; 0: as the system does.
func (f flow) tos() uint8 {
	if f.plain {
		return 0
	}
	return uint8(max(0, f.class().ToS()))
}

// class is that of what goes to the portal: of the transport that is declared first, for
// TCP in its place carries the same. nil: the fabric has none.
func (f flow) class() *inventory.TrafficClass { return f.marking().ClassOf(f.transports()[0]) }

// What a probe does around what it measures.
const (
	warmup   = 100 // reads before those that are measured, where there are no fewer of these
	readTime = 30 * time.Second
)

// reads is what a probe is asked for.
func (r *run) reads(f flow) *agent.ReadRequest {
	q := &agent.ReadRequest{Size: f.size, Depth: depth, Samples: f.samples, Warmup: min(warmup, f.samples), Timeout: readTime}
	if f.local {
		q.Path, q.Over.Transports = r.in.Volume(f.ns.From, f.target.Server), []string{"tcp"}
		return q
	}
	q.Over, q.Portal, q.NQN, q.NSID = f.over(), f.portal.Address.String(), f.sub.NQN, f.namespace()
	return q
}

// ownAddress is the initiator's own address in the plane of the portal.
func ownAddress(f flow) string {
	for _, nic := range f.from.RNICs {
		if f.portal.Plane != nil && nic.Plane == f.portal.Plane && nic.Address.IsValid() {
			return nic.Address.Addr().String()
		}
	}
	return ""
}

// probe runs weft-initiator. Its error means that nothing could be tried; a
// fabric that refuses is in the result.
func (r *run) probe(ctx context.Context, f flow) (*agent.ProbeResult, error) {
	host, err := r.prober(ctx, f.from)
	if err != nil {
		return nil, err
	}
	return probed(ask(ctx, host, agent.Request{Read: r.reads(f)}))
}

// probed is the result in a reply.
func probed(reply *agent.Reply, err error) (*agent.ProbeResult, error) {
	switch {
	case err != nil:
		return nil, err
	case reply.Probe == nil:
		return nil, unanswered(reply)
	}
	return reply.Probe, nil
}

func (r *run) status(ctx context.Context, s *inventory.Server) (*agent.TargetStatus, error) {
	host, err := r.hosts.of(ctx, s)
	if err != nil {
		return nil, err
	}
	out, err := host.Run(ctx, remote.Cmd{Args: []string{agent.TargetBin, "status", "--json"}})
	if err != nil {
		return nil, err
	}
	var st agent.TargetStatus
	return &st, json.Unmarshal(out.Stdout, &st)
}

func (r *run) emit(row *Row) {
	if r.in.Emit == nil {
		return
	}
	e := plan.Event{Time: time.Now(), Type: plan.EventProbe, Device: row.Initiator,
		Message: fmt.Sprintf("%s: p99 %v of %d", row.Pair(), row.P99, row.Samples), Data: map[string]any{"probe": row}}
	switch {
	case row.Unprobed:
		e.Message = row.Pair() + ": " + string(NotMeasured) + ": " + row.Why
	case row.Why != "" || row.Errors > 0:
		e.Level, e.Message = "error", row.Pair()+": "+row.Why+row.FirstErr
	}
	r.in.Emit(e)
}
