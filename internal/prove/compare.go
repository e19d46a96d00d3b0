package prove

import (
	"cmp"
	"slices"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/metric"
	"weft/inventory"
)

// CompareBlocks is in how many blocks everything that is compared is measured, in
// another order each time.
const CompareBlocks = 10

// beforeWay is what a way is called that was there before; others are rdma, tcp and
// localTransport.
const beforeWay = "before"

// A Comparison is one pair at one size, and what its reads went over in turn; or, without
// a target, what was there before.
type Comparison struct {
	Initiator string        `json:"initiator"` // HCL address of the server
	Target    string        `json:"target,omitempty"`
	Plane     string        `json:"plane,omitempty"`
	At        string        `json:"at,omitempty"` // portal, where the target has more than one in the plane
	Size      int           `json:"size"`         // bytes of one read
	Depth     int           `json:"depth"`        // reads under way where it is seen how much goes
	Runtime   time.Duration `json:"runtime_ns"`   // for how long, in each block
	Ways      []*Compared   `json:"ways"`
}

// A Compared is what reads over one way take, move and cost.
type Compared struct {
	Over    string `json:"over"`             // rdma, tcp, local or before
	Server  string `json:"server"`           // that has read
	Device  string `json:"device,omitempty"` // of before
	Mode    string `json:"mode,omitempty"`
	Samples int    `json:"samples"` // reads, one at a time
	metric.Quantiles
	Histogram string  `json:"histogram,omitempty"`
	Blocks    []Block `json:"blocks,omitempty"`
	Errors    int     `json:"errors,omitempty"` // reads that failed
	Why       string  `json:"why,omitempty"`    // it was not measured, or not to its end
	Untried   bool    `json:"untried,omitempty"`
	Absence

	CPUWhy  string  `json:"cpu_why,omitempty"`    // what its reads cost is not known
	Other   float64 `json:"other_load,omitempty"` // share of its time that the busier end spent otherwise
	OtherAt string  `json:"other_load_at,omitempty"`
}

// A Block is what one block has of one way.
type Block struct {
	P99        time.Duration `json:"p99_ns"`
	IOPS       float64       `json:"iops"`
	BitsPerSec float64       `json:"bits_per_second"`
	CPU        float64       `json:"cpu_us_per_gbit,omitempty"` // processor time of both ends, microseconds; 0: not known
}

// Pair names the comparison for people.
func (c *Comparison) Pair() string {
	if c.Target == "" {
		return c.Initiator + " (" + c.Ways[0].Device + ")"
	}
	return (&Row{Initiator: c.Initiator, Target: c.Target, Plane: c.Plane, At: c.At}).Pair()
}

// Both reports whether RDMA and TCP were both to be compared.
func (c *Comparison) Both() bool { return c.way("rdma") != nil && c.way("tcp") != nil }

// way is what a comparison has of RDMA or TCP; nil: nobody asked for it.
func (c *Comparison) way(over string) *Compared {
	i := slices.IndexFunc(c.Ways, func(w *Compared) bool { return w.Over == over })
	if i < 0 {
		return nil
	}
	return c.Ways[i]
}

// comparing is what validations want compared.
type comparing struct {
	ways           []string
	sizes          []int
	samples, depth int
	runtime        time.Duration
	before         []*inventory.Before
	sampled        bool
	asked          []*inventory.Validation
}

// compares reports whether a validation has something compared.
func compares(v *inventory.Validation) bool { return len(v.Compare) > 0 }

// compareWanted is all that validations want, and, where everything is to be compared
// anyway, that; nil: nothing is.
func compareWanted(validations []*inventory.Validation, anyway bool) *comparing {
	asked := slices.Clone(validations)
	asked = slices.DeleteFunc(asked, func(v *inventory.Validation) bool { return !compares(v) })
	if anyway {
		all := &inventory.Validation{Compare: []string{"rdma", "tcp", localTransport}}
		if len(asked) == 0 {
			all.Depth, all.Runtime = throughputDepth, throughputTime
			all.Sizes, all.Samples = wanted(validations, readProbe)
		}
		asked = append(asked, all)
	}
	if len(asked) == 0 {
		return nil
	}
	w := &comparing{asked: asked, sampled: sampled(asked)}
	for _, v := range asked {
		w.samples, w.depth, w.runtime = max(w.samples, v.Samples), max(w.depth, v.Depth), max(w.runtime, v.Runtime)
		w.sizes = append(w.sizes, v.Sizes...)
		if b := v.Before; b != nil && !slices.ContainsFunc(w.before, func(o *inventory.Before) bool { return o.Server == b.Server && o.Device == b.Device }) {
			w.before = append(w.before, b)
		}
	}
	for _, way := range []string{"rdma", "tcp", localTransport} {
		if slices.ContainsFunc(asked, func(v *inventory.Validation) bool { return slices.Contains(v.Compare, way) }) {
			w.ways = append(w.ways, way)
		}
	}
	slices.Sort(w.sizes)
	w.sizes = slices.Compact(w.sizes)
	if len(w.sizes) == 0 {
		w.sizes = []int{defaultSize}
	}
	w.samples = (cmp.Or(w.samples, defaultSamples) + CompareBlocks - 1) / CompareBlocks // of each block
	return w
}

// A contest is a comparison that is being made.
type contest struct {
	*Comparison
	flow flow
	ways []*contender
	rest map[*inventory.Server]float64 // share of its time that a server spends otherwise
}

// A contender is one way of a contest.
type contender struct {
	*Compared
	from *inventory.Server
	ends []*inventory.Server // whose processors it takes
	read agent.ReadRequest
	load agent.LoadRequest
	hist *latency.Histogram
}

// contests are what is to be compared between pairs that are there.
func (r *run) contests(w *comparing) []*contest {
	var out []*contest
	all := slices.DeleteFunc(readFlows(r.in.Model, nil), func(f flow) bool { return f.local || r.in.There != nil && !r.in.There(f.from, f.target) })
	some := all
	if w.sampled {
		some = sample(all)
		for _, v := range w.asked {
			r.left = append(r.left, leftOut(v, all, some)...)
		}
	}
	for _, f := range some {
		for _, size := range w.sizes {
			f.size, f.samples = size, w.samples
			c := &contest{flow: f, Comparison: &Comparison{Initiator: f.from.Addr, Target: f.target.Addr, Size: size, Depth: w.depth, Runtime: w.runtime}}
			c.Plane, c.At = f.plane()
			for _, way := range w.ways {
				c.add(r.contender(f, way))
			}
			out = append(out, c)
		}
	}
	return out
}

// former are the devices that were there before.
func (r *run) former(w *comparing) []*contest {
	var out []*contest
	for _, b := range w.before {
		for _, size := range w.sizes {
			c := &contest{Comparison: &Comparison{Initiator: b.Server.Addr, Size: size, Depth: w.depth, Runtime: w.runtime}}
			way := &contender{Compared: &Compared{Over: beforeWay, Server: b.Server.Addr, Device: b.Device}, from: b.Server, ends: []*inventory.Server{b.Server}}
			way.read = agent.ReadRequest{Path: b.Device, Size: size, Depth: depth, Samples: w.samples, Warmup: min(warmup, w.samples), Timeout: readTime}
			way.load = agent.LoadRequest{Path: b.Device, Pattern: "randread", Size: uint64(size), Timeout: readTime}
			if r.witness(b.Server) != nil {
				way.Why, way.Untried, way.Absence = r.unasked(b.Server), true, r.absent(b.Server)
			}
			c.add(way)
			out = append(out, c)
		}
	}
	return out
}

func (c *contest) add(way *contender) {
	way.load.Depth, way.load.Runtime = c.Depth, c.Runtime
	c.ways, c.Ways = append(c.ways, way), append(c.Ways, way.Compared)
}

// contender is one way of a pair.
func (r *run) contender(f flow, way string) *contender {
	c := &contender{Compared: &Compared{Over: way, Server: f.from.Addr}, from: f.from, ends: []*inventory.Server{f.from}}
	if c.Why = r.rules(f, way); c.Why != "" {
		c.Untried = true
		switch {
		case way != localTransport && r.witness(f.from) != nil:
			c.Absence = r.absent(f.from)
		case r.in.Hollow == nil || r.in.Hollow(f.target) == "":
			c.Undeclared = true // the files rule it out
		}
		return c
	}
	if way == localTransport {
		f.local, f.from = true, f.target.Server
		c.from, c.Server, c.ends = f.from, f.from.Addr, []*inventory.Server{f.from}
	} else if f.target.Server != nil {
		c.ends = append(c.ends, f.target.Server)
	} else {
		c.CPUWhy = f.target.Addr + " is external, and what it does with its processors is not weft's to ask"
	}
	c.read, c.load = *r.reads(f), *r.loads(f)
	if way != localTransport {
		c.read.Over.Transports, c.load.Over.Transports = []string{way}, []string{way}
	}
	return c
}

// rules says why a way cannot be compared at a portal, whatever the devices say; "": it
// can. Nothing is opened for a comparison that files do not ask for anyway.
func (r *run) rules(f flow, way string) string {
	t := f.target
	fabric := f.fabric()
	switch {
	case way == localTransport && t.Server == nil:
		return "the storage of an external target is not weft's to read"
	case way == localTransport:
		return ""
	case r.witness(f.from) != nil:
		return r.unasked(f.from)
	case r.in.Hollow != nil && r.in.Hollow(t) != "":
		return r.in.Hollow(t)
	case !slices.Contains(t.Transport, way):
		return "transport of " + t.Addr + " does not list " + way + ", and nothing is opened for a comparison"
	case way == "rdma" && fabric != nil && fabric.Transport == "tcp":
		return fabric.Addr + " is made for TCP"
	case fabric != nil && fabric.Transport == "iwarp" && t.Transport[0] != way:
		return "iWARP is TCP to its portal, where one of the two is served: " + t.Transport[0] + ", which transport of " + t.Addr + " lists first"
	}
	return ""
}
