package main

import (
	"fmt"
	"io"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/nvme/load"
)

// A report is a result as JSON. What fio has too has fio's name, unit and
// place; the rest is under "weft".
type report struct {
	Version string      `json:"fio version"` // what made it
	Time    int64       `json:"timestamp"`
	Jobs    []reportJob `json:"jobs"`
	Weft    reportWeft  `json:"weft"`
}

type reportJob struct {
	Name    string            `json:"jobname"`
	Error   int               `json:"error"` // commands that failed
	Elapsed int64             `json:"elapsed"`
	Options map[string]string `json:"job options"`
	Read    reportOp          `json:"read"`
	Write   reportOp          `json:"write"`
	Sync    reportSync        `json:"sync"`
	User    float64           `json:"usr_cpu"` // percent of one processor
	System  float64           `json:"sys_cpu"`
}

type reportOp struct {
	Bytes   int64         `json:"io_bytes"`
	KBytes  int64         `json:"io_kbytes"`
	BW      float64       `json:"bw_bytes"` // per second
	IOPS    float64       `json:"iops"`
	Runtime int64         `json:"runtime"` // ms
	Total   int64         `json:"total_ios"`
	Clat    reportLatency `json:"clat_ns"`
	Lat     reportLatency `json:"lat_ns"`
}

type reportSync struct {
	Total int64         `json:"total_ios"`
	Lat   reportLatency `json:"lat_ns"`
}

type reportLatency struct {
	Min        int64            `json:"min"`
	Max        int64            `json:"max"`
	Mean       float64          `json:"mean"`
	StdDev     float64          `json:"stddev"`
	N          int64            `json:"N"`
	Percentile map[string]int64 `json:"percentile,omitempty"`
	Histogram  string           `json:"weft_histogram,omitempty"` // latency.Histogram, text form
}

type reportWeft struct {
	Mode        string       `json:"mode"`      // "event" or "poll"
	Transport   string       `json:"transport"` // "tcp", "rdma" or "local"
	Shared      bool         `json:"shared_memory,omitempty"`
	Degraded    string       `json:"degraded,omitempty"`
	TLS         string       `json:"tls,omitempty"` // the cipher suite; "": in clear
	Device      string       `json:"device"`
	Remote      []string     `json:"remote,omitempty"`
	Local       string       `json:"local,omitempty"`
	CPUPerGbit  float64      `json:"cpu_us_per_gbit"` // processor time of this end for a gigabit moved
	Lost        int          `json:"paths_lost"`
	Reconnected int          `json:"paths_reconnected"`
	Retried     int          `json:"commands_retried"`
	Verified    *reportCheck `json:"verified,omitempty"`
}

type reportCheck struct {
	Blocks    int64  `json:"blocks"`
	Bad       int64  `json:"bad"`
	Lost      int64  `json:"lost"`
	Stale     int64  `json:"stale"`
	Torn      int64  `json:"torn"`
	Misplaced int64  `json:"misplaced"`
	Corrupt   int64  `json:"corrupt"`
	First     string `json:"first,omitempty"`
}

// percentiles are those that fio prints.
var percentiles = [...]float64{1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}

func newLatency(h *latency.Histogram) reportLatency {
	r := reportLatency{
		Min: int64(h.Min()), Max: int64(h.Max()), Mean: float64(h.Mean()), StdDev: float64(h.StdDev()), N: h.Count(),
	}
	if h.Count() == 0 {
		return r
	}
	r.Percentile = map[string]int64{}
	for _, p := range percentiles {
		r.Percentile[fmt.Sprintf("%.6f", p)] = int64(h.Quantile(p / 100))
	}
	text, _ := h.MarshalText() // never fails
	r.Histogram = string(text)
	return r
}

func newOp(r *load.OpResult, elapsed time.Duration) reportOp {
	o := reportOp{Bytes: r.Bytes, KBytes: r.Bytes >> 10, Runtime: elapsed.Milliseconds(), Total: r.Done, Clat: newLatency(r.Latency)}
	o.Lat = o.Clat // submission never waits, so fio's two are one
	o.Lat.Histogram = ""
	if s := elapsed.Seconds(); s > 0 {
		o.BW, o.IOPS = float64(r.Bytes)/s, float64(r.Done)/s
	}
	return o
}

func newReport(j *job, d *opened, r *load.Result) *report {
	share := func(t time.Duration) float64 {
		if r.Elapsed == 0 {
			return 0
		}
		return 100 * float64(t) / float64(r.Elapsed)
	}
	name := "run"
	if j.verify {
		name = "verify"
	}
	out := &report{
		Version: "weft-initiator " + agent.Version(), Time: time.Now().Unix(),
		Jobs: []reportJob{{
			Name: name, Error: int(r.Read.Failed + r.Write.Failed + r.Flush.Failed), Elapsed: int64(r.Elapsed.Seconds()),
			Options: map[string]string{
				"rw": j.Pattern, "bs": fmt.Sprint(j.Size), "iodepth": fmt.Sprint(j.Depth), "numjobs": fmt.Sprint(j.jobs),
				"runtime": j.Runtime.String(), "ramp_time": j.Ramp.String(), "size": fmt.Sprint(uint64(j.span)),
				"rwmixread": fmt.Sprint(j.mix), "randseed": fmt.Sprint(j.seed),
			},
			Read: newOp(&r.Read, r.Elapsed), Write: newOp(&r.Write, r.Elapsed),
			Sync: reportSync{Total: r.Flush.Done, Lat: newLatency(r.Flush.Latency)},
			User: share(r.User), System: share(r.System),
		}},
		Weft: reportWeft{
			Mode: "event", Transport: "tcp", Device: j.name(), Remote: j.Portals, Local: j.host.own(),
			Shared: j.shared, CPUPerGbit: float64(r.GbitCost()) / 1e3,
		},
	}
	if j.poll {
		out.Weft.Mode = "poll"
	}
	if d.remote == nil {
		out.Weft.Transport = "local"
	} else {
		out.Weft.Transport, out.Weft.Degraded = j.host.result()
		out.Weft.TLS = j.host.by.tls()
		s := d.remote.Stats()
		out.Weft.Lost, out.Weft.Reconnected, out.Weft.Retried = s.Lost, s.Reconnected, s.Retried
	}
	if c := &r.Check; j.verify {
		out.Weft.Verified = &reportCheck{c.Blocks, c.Bad(), c.Lost, c.Stale, c.Torn, c.Misplaced, c.Corrupt, c.First}
	}
	return out
}

// print is the report for people.
func (r *report) print(out io.Writer) error {
	job := &r.Jobs[0]
	w := &lines{out: out}
	w.line("%s %s, %s bytes, depth %s, %s jobs on %s (%s, %s)", job.Name, job.Options["rw"], job.Options["bs"], job.Options["iodepth"], job.Options["numjobs"], r.Weft.Device, r.Weft.Transport, r.Weft.Mode)
	if r.Weft.Shared {
		w.line("its commands share memory, which stays in the processor's cache")
	}
	if r.Weft.Degraded != "" {
		w.line("DEGRADED: %s", r.Weft.Degraded)
	}
	if r.Weft.TLS != "" {
		w.line("TLS 1.3: %s", r.Weft.TLS)
	}
	for _, op := range []struct {
		name string
		*reportOp
	}{{"read ", &job.Read}, {"write", &job.Write}} {
		if op.Total == 0 {
			continue
		}
		p := func(q string) time.Duration { return time.Duration(op.Clat.Percentile[q]) }
		w.line("%s %d commands, %.0f IOPS, %.1f MiB/s", op.name, op.Total, op.IOPS, op.BW/(1<<20))
		w.line("      min %v  mean %v  p50 %v  p99 %v  p99.9 %v  max %v", time.Duration(op.Clat.Min), time.Duration(op.Clat.Mean).Round(time.Nanosecond),
			p("50.000000"), p("99.000000"), p("99.900000"), time.Duration(op.Clat.Max))
	}
	if job.Sync.Total > 0 {
		w.line("flush %d commands, mean %v, max %v", job.Sync.Total, time.Duration(job.Sync.Lat.Mean), time.Duration(job.Sync.Lat.Max))
	}
	w.line("processor %.0f %% user, %.0f %% system; %.0f µs for a gigabit", job.User, job.System, r.Weft.CPUPerGbit)
	if r.Weft.Lost > 0 {
		w.line("paths lost %d times, connected again %d times, %d commands sent again", r.Weft.Lost, r.Weft.Reconnected, r.Weft.Retried)
	}
	if v := r.Weft.Verified; v != nil {
		w.line("verified %d blocks, %d bad: lost %d, stale %d, torn %d, misplaced %d, corrupt %d", v.Blocks, v.Bad, v.Lost, v.Stale, v.Torn, v.Misplaced, v.Corrupt)
	}
	if job.Error > 0 {
		w.line("failed %d commands", job.Error)
	}
	return w.err
}

// lines prints lines until one fails.
type lines struct {
	out io.Writer
	err error
}

func (l *lines) line(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.out, format+"\n", args...)
	}
}
