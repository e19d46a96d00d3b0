// Package prove measures what a fabric does and judges it against limits. It
// only reads from namespaces, but for loads that write to scratch ones.
package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/metric"
	"weft/internal/remote"
	"weft/internal/tally"
	"weft/inventory"
	"weft/plan"
	"weft/switches"
)

// A Row is one measured flow.
type Row struct {
	Initiator string `json:"initiator"`       // HCL address of the server that read
	Target    string `json:"target"`          // HCL address of the target
	Plane     string `json:"plane"`           // "" for a local read
	At        string `json:"at,omitempty"`    // portal, where the target has more than one in the plane
	Probe     string `json:"probe,omitempty"` // what was measured without NVMe, verbs or socket; "": reads
	Degraded  bool   `json:"degraded,omitempty"`
	agent.ProbeResult
	metric.Quantiles
	Why string `json:"why,omitempty"` // it could not be measured
	// Unprobed: no probe of weft runs on the initiator.
	Unprobed bool `json:"unprobed,omitempty"`
	Absence

	Wanted int `json:"wanted"` // samples

	flow flow
}

// Latencies are what was measured: afresh each time, for each takes a lot of
// memory and there may be thousands of rows.
func (r *Row) Latencies() *latency.Histogram { return decoded(r.Histogram) }

// decoded is the histogram of a text; one that cannot be read is empty.
func decoded(text string) *latency.Histogram {
	h := latency.New()
	if h.UnmarshalText([]byte(text)) != nil {
		return latency.New()
	}
	return h
}

// whole reports whether everything that was wanted was measured.
func (r *Row) whole() bool {
	return r.Why == "" && r.Errors == 0 && r.Samples >= r.Wanted && r.Samples > 0
}

// lacks says what a row that is not whole lacks.
func (r *Row) lacks() string {
	switch {
	case r.Why != "":
		return r.Why
	case r.Errors > 0:
		return r.FirstErr
	}
	return fmt.Sprintf("%d of %d samples", r.Samples, r.Wanted)
}

// Pair names the row for people: who reads from whom over which plane.
func (r *Row) Pair() string {
	switch {
	case r.Transport == localTransport:
		return r.Initiator + " (local)"
	case r.Plane == "":
		return fmt.Sprintf("%s → %s at %s", r.Initiator, r.Target, r.Remote)
	case r.At != "":
		return fmt.Sprintf("%s → %s over plane %s at %s", r.Initiator, r.Target, r.Plane, r.At)
	}
	return fmt.Sprintf("%s → %s over plane %s", r.Initiator, r.Target, r.Plane)
}

// A Result is everything one verification has found.
type Result struct {
	Rows       []*Row        `json:"rows"`  // over the fabric
	Local      []*Row        `json:"local"` // the same storage read on its own server
	Judgements []Judgement   `json:"judgements"`
	Throughput []*Throughput `json:"throughput,omitempty"` // where it was asked for
	Compared   []*Comparison `json:"compared,omitempty"`   // where it was asked for
	Loads      []*Load       `json:"loads,omitempty"`      // that validations make
	Before     *Snapshot     `json:"before,omitempty"`     // what devices had counted; nil: not asked
	After      *Snapshot     `json:"after,omitempty"`
	Checks     []Check       `json:"checks,omitempty"`
	Outputs    []Output      `json:"outputs,omitempty"`

	Configuration *Configuration `json:"-"` // that path.lossless is judged by; nil: devices were not read
	Verdict       Verdict        `json:"verdict"`
}

// Input is what a verification needs.
type Input struct {
	Model *inventory.Model
	// Names are the validations to run, as validation.NAME or NAME; none: all.
	Names []string
	// There says whether the agents of both ends are deployed: a pair without
	// them is not measured. nil: they all are.
	There func(from *inventory.Server, to *inventory.Target) bool
	// Settled reports whether a rollout that is under way has left nothing to do about a
	// device, by its HCL address. nil: none is under way.
	Settled func(device string) bool
	// Host logs in to a server; it is called once for each server.
	Host func(context.Context, *inventory.Server) (remote.Host, error)
	// Hollow says why nothing can be read from a target although it is there; "":
	// it can. What reads from it tells is inconclusive. nil: of none.
	Hollow func(*inventory.Target) string
	// Volume is the path of a volume on a server that exports it, for the local read.
	Volume func(*inventory.Volume, *inventory.Server) string
	Emit   plan.Emit // may be nil

	// Switch asks a switch what it has counted on ports. nil: none is asked.
	Switch func(ctx context.Context, sw *inventory.Switch, ports []string) (*tally.Ports, error)
	// NICs is how a server is asked what its NICs have counted; its error says why it
	// cannot be asked. nil: none is asked.
	NICs func(*inventory.Server) (CountNICs, error)
	// Configured reads what a switch is set to, and Settings says how to read what the NICs of
	// a server are set to; its error says why they cannot be read. nil: path.lossless is not
	// judged.
	Configured func(context.Context, *inventory.Switch) (*switches.Reading, error)
	Settings   func(*inventory.Server) (Settings, error)
	// Configuration is a former reading to judge by. nil: devices are read.
	Configuration *Configuration
	// Ready says whether a port of a switch or a NIC of a server is rolled out:
	// one that is not is not judged. nil: they all are.
	Ready func(device, port string) bool
	// Since is a former reading to count from; nil: one is made first.
	Since *Snapshot
	// Baseline is what to compare with where metrics ask for it. nil: there is none.
	Baseline *Baseline
	// Path also proves the way of packets: that they are marked, put into the
	// right queues, and arrive whole at their full length.
	Path bool
	// Classes proves only the marks and queues of what is measured anyway, and
	// judges what that tells, and what no rollout may make, such as drops of
	// a lossless class: where it tells nothing, nobody has asked.
	Classes bool
	// Marks proves the marks and queues of what is measured anyway and no more, as watch does
	// at each tick.
	Marks bool
	// Throughput also measures how much goes over every pair and plane.
	Throughput bool
	// Compare also measures RDMA, TCP and the storage itself in turn at every pair, whether
	// validations ask for that or not.
	Compare bool
	// Attached asks a server what its kernel has of an initiator: for limits made
	// of that, and for checks and outputs. nil: nobody knows.
	Attached func(context.Context, remote.Host, *inventory.Initiator) (*Attached, error)
	// KernelPorts asks a server for the ports of its kernel's target. nil: none is asked.
	KernelPorts func(context.Context, *inventory.Server, remote.Host) ([]KernelPort, error)
	// Paths asks a server, with one command, which connections its kernel has that
	// are live. Its error wraps those of package remote where the server does not
	// answer. nil: no server is asked.
	Paths func(context.Context, *inventory.Server) ([]Path, error)

	// Witness is how a server is asked what it knows of its own ways, where weft's probes do
	// not run as on Linux; nil: they do, and without the function everywhere.
	Witness func(*inventory.Server) Witness
	// Agent is the host over which weft-initiator is run on a server that has a witness,
	// made of a login: it reads over TCP only, and marks nothing. nil: none runs there.
	Agent func(*inventory.Server) func(remote.Host) remote.Host
	// Others is what devices that are neither servers nor switches say of what they run,
	// which nobody else could measure; those that are not set up yet say nothing while a
	// rollout is under way. nil: there are none.
	Others func(ctx context.Context, underWay bool) []Judgement

	// Allow are names of devices and systems that may go without a measurement, besides those
	// of allow_unmeasured.
	Allow []string
	// System is what people call a host system, such as ESXi for esxi. nil: as files do.
	System func(os string) string

	// MayWrite are the scratch namespaces that loads may overwrite, by their address.
	MayWrite []string
	// Uses asks a server what it does with a namespace: mounts, partitions, holders. nil:
	// nobody can be asked, so nothing is overwritten.
	Uses func(ctx context.Context, s *inventory.Server, h remote.Host, uuid string) ([]string, error)

	beat time.Duration // between signs of life; 0: beatInterval
	// Conclude also judges the checks and computes the outputs.
	Conclude bool
	// Window is the least time to count for; 0: a second.
	Window time.Duration
}

// CountNICs asks a server what some of its NICs have counted.
type CountNICs func(context.Context, remote.Host, []*inventory.RNIC) (*tally.Ports, error)

// Run measures every initiator × target × plane at every size that the
// validations ask for, and judges them. Its error is about the request; what
// the fabric does wrong is in the result.
func Run(ctx context.Context, in Input) (*Result, error) {
	validations, err := chosen(in.Model, in.Names)
	if err != nil {
		return nil, err
	}
	if err := measurable(validations); err != nil {
		return nil, err
	}
	r := &run{in: in, hosts: hosts{dial: in.Host}}
	all := r.plain(flows(in.Model, validations, len(in.Names) > 0))
	flows := slices.DeleteFunc(slices.Clone(all), func(f flow) bool { return in.There != nil && !in.There(f.from, f.target) })
	if thinned, left := thin(flows, validations); len(left) > 0 {
		flows, r.left, r.only = thinned, left, only(thinned)
	}
	switch later := len(all) > 0 && len(flows) == 0; {
	case len(in.Names) > 0 && !slices.ContainsFunc(validations, measured):
		// Nothing of what was asked for needs a probe.
	case later && !slices.ContainsFunc(validations, counts):
		return nil, ErrNoPair
	case len(flows) == 0 && !slices.ContainsFunc(validations, counts) && (len(in.Names) > 0 || !in.Path || len(r.peers()) == 0 && !r.peersOnly()):
		return nil, ErrNothing
	}
	return r.prove(ctx, validations, flows, len(all) > 0 && len(flows) == 0)
}

// prove measures flows, reads counters before and after, and judges both. later
// says that all pairs come in a later phase.
func (r *run) prove(ctx context.Context, validations []*inventory.Validation, flows []flow, later bool) (*Result, error) {
	in := r.in
	before := r.served(ctx, flows)
	res := new(Result)
	counting := in.Path || (in.Classes || in.Marks) && len(flows) > 0 || slices.ContainsFunc(validations, counts)
	if res.Before = in.Since; counting && in.Since == nil {
		res.Before = r.read(ctx)
	}
	rows := r.measure(ctx, flows)
	after := r.served(ctx, flows)
	if w := compareWanted(validations, in.Compare); w != nil {
		res.Compared = r.compare(ctx, w)
		res.Judgements = failedCompared(res.Compared)
	}
	var left []Judgement
	res.Loads, left = r.loadAll(ctx, validations)
	res.Judgements = append(append(res.Judgements, r.left...), left...)
	if counting {
		if err := r.dwell(ctx, res.Before); err != nil {
			return nil, err
		}
		res.After = r.read(ctx)
	}
	if ctx.Err() != nil { // rows that were not measured are nil
		return nil, fmt.Errorf("interrupted while measuring: %w", context.Cause(ctx))
	}
	res.take(rows)
	r.measured = res
	validations, unknown := r.limited(ctx, validations)
	for _, v := range validations {
		judge(res, v, in.Baseline, unknown)
		judgeCompared(res, v, unknown)
		judgeLoads(res, v, unknown)
		r.judgeCounters(res, v, unknown)
	}
	if len(flows) > 0 && !slices.ContainsFunc(validations, reads) {
		// Nobody limits anything that is measured: reads that fail, fail.
		judge(res, &inventory.Validation{Name: readsName, Probe: readProbe}, nil, nil)
	}
	unjudged(res, validations, later)
	res.account(before, after, in.Since)
	if in.Throughput {
		res.Throughput = r.throughput(ctx, flows)
	}
	r.judgePaths(ctx, res, validations)
	res.Judgements = append(res.Judgements, r.lossless(ctx, res)...)
	r.allow(res, validations)
	if in.Conclude {
		res.Checks, res.Outputs = r.conclude(ctx)
	}
	res.Verdict = overall(res)
	return res, nil
}

// take takes in what was measured.
func (res *Result) take(rows []*Row) {
	for _, row := range rows {
		if row.flow.local {
			res.Local = append(res.Local, row)
		} else {
			res.Rows = append(res.Rows, row)
		}
	}
}

// judgePaths judges the ways of packets, as far as that was asked for.
func (r *run) judgePaths(ctx context.Context, res *Result, validations []*inventory.Validation) {
	in := r.in
	ways := legs(in.Model, in.There)
	if r.only != nil {
		ways = slices.DeleteFunc(ways, func(l leg) bool { return !r.only[l.way()] })
	}
	place(res, ways)
	rows := append(slices.Clone(res.Rows), asRows(res.Loads)...)
	res.Judgements = append(append(res.Judgements, fallenBack(rows)...), encrypted(rows)...)
	if in.Path || in.Classes {
		res.Judgements = append(res.Judgements, r.portals(ctx)...)
		res.Judgements = append(res.Judgements, r.storage(ctx)...)
		res.Judgements = append(res.Judgements, r.testified(ctx)...)
		if in.Others != nil {
			for _, j := range in.Others(ctx, in.There != nil) {
				j.Validation, j.Counted = pathName, true
				res.Judgements = append(res.Judgements, j)
			}
		}
	}
	if in.Path {
		res.Judgements = append(res.Judgements, r.jumbo(ctx, slices.DeleteFunc(slices.Clone(ways), func(l leg) bool { return r.witness(l.from.Server) != nil }))...)
		res.Judgements = append(res.Judgements, r.classified(res, ways)...)
	}
	if (in.Classes || in.Marks) && !in.Path && res.After != nil {
		res.Judgements = append(res.Judgements, r.atGate(r.classified(res, ways))...)
	}
	if in.Classes && res.After != nil {
		res.Judgements = append(res.Judgements, r.aborts(res, validations)...)
	}
}

// ErrNothing is why nothing is measured where there is no pair.
var ErrNothing = errors.New("there is nothing to measure: no initiator connects to a target that its probe reaches")

// ErrNoPair is why nothing is measured where all pairs are left out.
var ErrNoPair = errors.New("no pair of an initiator and a target is rolled out yet: their agents come in a later phase")

func chosen(m *inventory.Model, names []string) ([]*inventory.Validation, error) {
	if len(names) == 0 {
		return m.Validations, nil
	}
	var out []*inventory.Validation
	for _, name := range names {
		i := slices.IndexFunc(m.Validations, func(v *inventory.Validation) bool { return v.Name == name || v.Addr == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no validation %q", name)
		}
		out = append(out, m.Validations[i])
	}
	return out, nil
}

// overall is the worst verdict: a failure outweighs what could not be judged.
func overall(res *Result) Verdict {
	worst := Checked(res.Checks)
	if !slices.ContainsFunc(res.Judgements, func(j Judgement) bool { return j.Verdict != NotMeasured }) {
		worst = Worse(worst, Inconclusive) // nothing was measured, whatever may be missing
	}
	for _, j := range res.Judgements {
		worst = Worse(worst, j.Weight())
	}
	return worst
}

// Checked is the worst verdict of checks.
func Checked(checks []Check) Verdict {
	worst := Pass
	for _, c := range checks {
		worst = Worse(worst, c.Verdict)
	}
	return worst
}

// Add takes in the judgements of another result.
func (res *Result) Add(other *Result) {
	res.Judgements = append(res.Judgements, other.Judgements...)
	res.Verdict = overall(res)
}

// Join takes in all that was measured elsewhere of the same validations.
func (res *Result) Join(other *Result) {
	res.Rows, res.Local = append(res.Rows, other.Rows...), append(res.Local, other.Local...)
	res.Compared, res.Loads = append(res.Compared, other.Compared...), append(res.Loads, other.Loads...)
	res.Before, res.After = res.Before.join(other.Before), res.After.join(other.After)
	res.Add(other)
}
