// Package metric has the one table of what validations limit without naming a counter: names,
// units, directions, and what measures them. The language, the measurements, reports, views,
// exports and pages read it. Counters are in internal/tally.
package metric

import (
	"slices"

	"weft/internal/slice"
)

// A Unit is what the values of a metric are.
type Unit string

// The units. They stand in judgements as they are here.
const (
	Duration Unit = "duration" // nanoseconds; files write "30us"
	Count    Unit = "count"
	Rate     Unit = "rate" // a second
	Gbit     Unit = "Gbit/s"
	Share    Unit = "share" // 1 is all
	Times    Unit = "times"
)

// A Source is what a value is computed from.
type Source int

// The sources.
const (
	Latency   Source = iota + 1 // a quantile of a histogram
	Failures                    // commands and messages that failed
	Damage                      // blocks that are not what was written
	Commands                    // commands a second
	Bits                        // bits that commands move
	Quotient                    // p99 over TCP by p99 over RDMA
	Processor                   // processor time for a gigabit, RDMA against TCP
)

// A Row is a metric.
type Row struct {
	Name   string // in files, records, events and reports
	Title  string // of a column and of a mark in plots
	Says   string // what it is, for pages
	Unit   Unit
	More   bool // more is better: files may write the least as min
	Source Source

	// Sampling.
	Quantile float64  // of the histogram, where Source is Latency
	Added    bool     // less that of the same storage read on its own server
	Least    int64    // samples; fewer leave it inconclusive. 0: as many as the validation wants
	Probes   []string // that measure it
	Ways     []string // that compare must contain, where comparisons measure it

	Implied bool   // judged without being declared, and not declared
	Column  bool   // has a column in tables, and a field of its own in records
	Gauge   string // of weft watch --prometheus, in seconds for each pair; "": weft_metric alone
}

func table() []Row {
	all := []string{"nvme-read", "nvme-load", "verbs", "socket"}
	load := all[1:2]
	return []Row{
		{Name: "p50", Title: "p50", Says: "median latency", Unit: Duration, Source: Latency, Quantile: 0.5, Probes: all, Column: true},
		{Name: "p99", Title: "p99", Says: "99th percentile of the latency", Unit: Duration, Source: Latency, Quantile: 0.99, Probes: all, Column: true, Gauge: "weft_pair_p99_seconds"},
		{Name: "p999", Title: "p99.9", Says: "99.9th percentile of the latency", Unit: Duration, Source: Latency, Quantile: 0.999, Probes: all, Column: true},
		{Name: "p9999", Title: "p99.99", Says: "99.99th percentile of the latency; needs 10000 samples", Unit: Duration, Source: Latency, Quantile: 0.9999, Least: 10000, Probes: all},
		{Name: "added_p99", Title: "added", Says: "p99 minus the p99 of the same storage read on its own server", Unit: Duration, Source: Latency, Quantile: 0.99, Added: true, Probes: all[:1]},
		{Name: "errors", Title: "errors", Says: "failed commands or messages", Unit: Count, Source: Failures, Probes: all},
		{Name: "integrity", Title: "integrity", Says: "blocks that are not what was written", Unit: Count, Source: Damage, Probes: load, Implied: true},
		{Name: "iops", Title: "IOPS", Says: "commands per second", Unit: Rate, More: true, Source: Commands, Probes: load},
		{Name: "throughput", Title: "Gbit/s", Says: "payload of a load, or over RDMA where it is compared", Unit: Gbit, More: true, Source: Bits, Probes: load, Ways: []string{"rdma"}},
		{Name: "cpu_saved", Title: "CPU saved", Says: "1 minus the processor time per gigabit over RDMA divided by that over TCP", Unit: Share, More: true, Source: Processor, Ways: []string{"rdma", "tcp"}},
		{Name: "ratio", Title: "ratio", Says: "p99 over TCP divided by p99 over RDMA", Unit: Times, More: true, Source: Quotient, Ways: []string{"rdma", "tcp"}},
	}
}

// rows is the table; nothing changes it.
var rows = table()

// An ID is a metric of the table. The zero ID is none, as of a counter.
type ID struct{ n uint8 }

// Parse is the metric of a name that files may write.
func Parse(name string) (ID, bool) {
	n := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name && !r.Implied })
	return ID{uint8(n + 1)}, n >= 0
}

// Of is the first metric that is computed from a source.
func Of(s Source) ID {
	return ID{uint8(slices.IndexFunc(rows, func(r Row) bool { return r.Source == s }) + 1)}
}

// Row is what the table has of a metric; the zero Row of none.
func (id ID) Row() Row {
	if id.n == 0 {
		return Row{}
	}
	return rows[id.n-1]
}

// JudgedIn is the unit as judgements have it: "" of what they tell by itself, which is a
// duration, or a plain number.
func (id ID) JudgedIn() string {
	switch u := id.Row().Unit; u {
	case Gbit, Share, Times:
		return string(u)
	}
	return ""
}

// String is its name.
func (id ID) String() string { return id.Row().Name }

// Probed reports whether a probe measures it.
func (id ID) Probed(probe string) bool { return slices.Contains(id.Row().Probes, probe) }

// Compared reports whether comparisons measure it.
func (id ID) Compared() bool { return len(id.Row().Ways) > 0 }

// All are the metrics that a test accepts, in the order of the table.
func All(accepts func(Row) bool) (out []ID) {
	for n, r := range rows {
		if accepts(r) {
			out = append(out, ID{uint8(n + 1)})
		}
	}
	return out
}

// Names are the names of metrics.
func Names(list []ID) []string { return slice.Map(list, ID.String) }

// Declared are the names that files may write.
func Declared() []string { return Names(All(func(r Row) bool { return !r.Implied })) }

// OfProbe are the names that files may write of what a probe measures.
func OfProbe(probe string) []string {
	return Names(All(func(r Row) bool { return !r.Implied && slices.Contains(r.Probes, probe) }))
}

// Columns are those that tables of latencies show.
func Columns() []ID { return All(func(r Row) bool { return r.Column }) }

// OfComparisons are the names of what comparisons measure.
func OfComparisons() []string { return Names(All(func(r Row) bool { return len(r.Ways) > 0 })) }
