package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weft/internal/metric"
)

// A Validation is a set of checks that gates and verify use.
type Validation struct {
	Block
	Name    string
	Probe   string // nvme-read, nvme-load, verbs or socket, or "" for counters only
	Pairs   string // all or sampled
	Sizes   []int  // bytes
	Samples int
	Compare []string // rdma, tcp, local: what reads go over in turn; empty: nothing is compared
	Before  *Before  // nil: there is none
	Load    *Load    // of nvme-load; nil: another probe
	Depth   int      // of Compare and Load: commands under way in each queue
	Runtime time.Duration
	Metrics []*Metric

	AllowUnmeasured []string // systems and HCL addresses of devices that may go without a measurement
}

// UnmeasuredNames are the names that allow_unmeasured takes: the systems of declared servers
// and switches, NICECN, and the addresses of servers, switches and virtual machines.
func (m *Model) UnmeasuredNames() []string {
	var systems, addrs []string
	for _, s := range m.Servers {
		systems, addrs = append(systems, s.OS), append(addrs, s.Addr)
	}
	for _, sw := range m.Switches {
		addrs = append(addrs, sw.Addr)
		if sw.OS != "" {
			systems = append(systems, sw.OS)
		}
	}
	for _, v := range m.VMs {
		addrs = append(addrs, v.Addr)
	}
	slices.Sort(systems)
	return append(append(slices.Compact(systems), NICECN), addrs...)
}

// NICECN is the name under which allow_unmeasured allows that a NIC does not show whether it
// answers ECN marks, as with drivers of the Linux kernel.
const NICECN = "nic_ecn"

// A Load is what nvme-load does to a namespace.
type Load struct {
	Pattern   string  // as fio names it, or database: a log that is flushed, and pages
	ReadShare int     // percent of reads where a pattern mixes
	Queues    int     // each with Depth commands under way
	Rate      float64 // commands a second of all queues; 0: as many as go
	FlushEach int     // a flush after so many writes of a queue; 0: none
	Span      int64   // bytes from the beginning that are used
}

// Overwrites reports whether it writes.
func (l *Load) Overwrites() bool { return l.Pattern != "read" && l.Pattern != "randread" }

// Mixes reports whether reads and writes are mixed.
func (l *Load) Mixes() bool {
	return l.Pattern == "rw" || l.Pattern == "randrw" || l.Pattern == "database"
}

// Makes are the kinds of commands that it is made of.
func (l *Load) Makes() (reads, writes, flushes bool) {
	reads = !l.Overwrites() || l.Mixes() && l.ReadShare > 0
	log := l.Pattern == "database"
	writes = log || l.Overwrites() && (!l.Mixes() || l.ReadShare < 100)
	return reads, writes, log || writes && l.FlushEach > 0
}

// A Before is a block device that is there already, by iSCSI, FC or local, and is
// read beside what is compared.
type Before struct {
	Block
	Server *Server
	Device string // below /dev/disk/by-id
}

// A Metric is one limit of a validation.
type Metric struct {
	Block
	Name       string
	Measure    metric.ID // of the name; none of a counter, which has any name
	Source     string    // of a counter
	Size       int       // bytes; 0: every size
	Unit       string
	Max        float64 // limit; nanoseconds when Duration
	HasMax     bool
	Min        float64 // least value, of what compares
	HasMin     bool
	Duration   bool // Max was written as a duration
	Delta      bool
	Limit      hcl.Expression // max where it uses observed values: Model.LimitOf gives it; nil: Max holds
	Regression float64        // share, 0.1 for "10%"; 0: not judged

	LimitType cty.Type // of Limit, as far as it is known
}

// A Rollout is an order of phases.
type Rollout struct {
	Block
	Name           string
	MaxUnavailable int
	MaxFailures    int
	OnFailure      string
	AcceptNoUndo   bool
	Phases         []*Phase
}

// A Phase is one part of a rollout.
type Phase struct {
	Block
	Name      string
	Select    []string // HCL addresses of instances, in the order of the model
	Remaining bool     // select = "remaining"
	Batch     []string
	Record    []*Validation
	Gate      []*Validation
	Soak      time.Duration
	Approve   string   // "", manual, none or signed
	Approvals int      // how many people must have signed; 0: as Approve says
	NotBy     []string // whose signature does not count: principals, or author
	Window    Window   // when a batch of it may begin
	Restart   string   // "": nothing is restarted; rolling

	RestartTimeout time.Duration // how long a server may take to come back
}

// A Site is devices that the same workers reach.
type Site struct {
	Block
	Name   string
	Select []string // HCL addresses of servers and switches, in the order of the model
}

// A Check is evaluated after facts or verify.
type Check struct {
	Block
	Name    string
	Asserts []Assert
}

// An Assert is one condition of a check; both expressions may use observed
// values.
type Assert struct {
	Condition, ErrorMessage hcl.Expression
}

// A Removed says what becomes of something that is not declared any more.
type Removed struct {
	Block
	From string // address of a block, all of its instances or a module
	Mode string // prune: what weft created goes; forget: it stays, and is weft's no more
}

// A Moved says how something was called that is declared.
type Moved struct {
	Block
	From, To string // addresses of blocks, of instances or of modules
}

// Inside reports whether an address is that of a block, of one of its instances or
// inside of it, and returns what follows.
func Inside(block, address string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(address, block)
	return rest, ok && (rest == "" || rest[0] == '[' || rest[0] == '.')
}

// An Output is shown after facts or verify; it may use observed values.
type Output struct {
	Block
	Name      string
	Value     hcl.Expression
	Sensitive bool
}

// Latency reports whether the metric is a latency: its limit is a duration.
func (x *Metric) Latency() bool { return x.Measure.Row().Unit == metric.Duration }

// Mistyped reports whether a limit of observed values is of another kind than
// the metric, as far as that shows before they are known.
func (x *Metric) Mistyped() bool {
	switch x.LimitType {
	case cty.String:
		return !x.Latency()
	case cty.Number:
		return x.Latency()
	case cty.NilType, cty.DynamicPseudoType:
		return false
	}
	return true
}

// Observed returns an observed attribute, such as live_paths, of the instance
// with that address.
type Observed func(addr, attr string) (cty.Value, error)

// LimitOf is the limit of a metric: nanoseconds where it limits a latency. Where
// max uses observed values they are asked for; the error says why there is none
// then, also where it is not of the metric's kind. It must not be called
// concurrently.
func (m *Model) LimitOf(x *Metric, observed Observed) (float64, error) {
	if x.Limit == nil {
		return x.Max, nil
	}
	return m.Limit(x, observed)
}

// A Policy is a rule that each change of a plan is held against.
type Policy struct {
	Block
	Name      string
	When      hcl.Expression // which changes it is about; nil: all
	Condition hcl.Expression // true for what is allowed
	Message   hcl.Expression
}

// A PolicyChange is what the expressions of a Policy see: change and phase.
type PolicyChange struct {
	Address, Device, Kind, Name, Impact, Plane string
	Prune, Drift, Reversible                   bool

	Before, After map[string]string // by attribute

	Phase, Window, Approve, Soak string // of the phase of the rollout; "": none
	Gates                        []string
}
