package main

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/tally"
)

// seenLast tells Prometheus what was seen at the last look.
type seenLast struct {
	owner string
	last  atomic.Pointer[prove.Result] // nil: the first look is under way

	counter, value, verdict *prometheus.Desc
	pairs                   map[metric.ID]*prometheus.Desc // of the table
}

func newSeenLast(owner string) *seenLast {
	place := []string{"owner", "validation", "metric", "place", "size", "baseline", "limit"}
	pairs := map[metric.ID]*prometheus.Desc{}
	for _, id := range metric.All(func(r metric.Row) bool { return r.Gauge != "" }) {
		pairs[id] = prometheus.NewDesc(id.Row().Gauge, id.Row().Title+" of reads of a pair over a plane.", []string{"owner", "initiator", "target", "plane", "portal", "over", "size"}, nil)
	}
	return &seenLast{owner: owner, pairs: pairs,
		counter: prometheus.NewDesc("weft_counter", "What a switch port or a NIC has counted.", []string{"owner", "device", "port", "priority", "name"}, nil),
		value:   prometheus.NewDesc("weft_metric", "What a metric was at a place; latencies in nanoseconds.", place, nil),
		verdict: prometheus.NewDesc("weft_verdict", "1: pass, 0: fail, -1: inconclusive, -2: not measured, -3: unknown to this weft, -4: partial.", place, nil)}
}

// Describe implements prometheus.Collector.
func (s *seenLast) Describe(out chan<- *prometheus.Desc) {
	for _, d := range slices.AppendSeq([]*prometheus.Desc{s.counter, s.value, s.verdict}, maps.Values(s.pairs)) {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *seenLast) Collect(out chan<- prometheus.Metric) {
	res := s.last.Load()
	if res == nil {
		return
	}
	told := map[string]bool{} // what stands there twice is told once: Prometheus takes no other
	put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		key := d.String()
		for _, l := range labels {
			key += "\x00" + l
		}
		if !told[key] {
			told[key] = true
			out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
		}
	}
	if res.After != nil {
		for _, c := range res.After.Samples {
			priority := ""
			if c.Priority != tally.AllPriorities {
				priority = strconv.Itoa(c.Priority)
			}
			if c.Off == "" {
				put(s.counter, prometheus.CounterValue, float64(c.Value), s.owner, c.Device, c.Port, priority, c.Name)
			}
		}
	}
	for _, j := range res.Judgements {
		limit := ""
		if j.Least { // beside a most
			limit = "least"
		}
		labels := []string{s.owner, j.Validation, j.Metric, j.Pair, strconv.Itoa(j.Size), strconv.FormatBool(!j.Against.IsZero()), limit}
		if j.Verdict == prove.Pass || j.Verdict == prove.Fail {
			put(s.value, prometheus.GaugeValue, j.Value, labels...)
		}
		put(s.verdict, prometheus.GaugeValue, gauge(j.Verdict), labels...)
	}
	for _, r := range res.Rows {
		if r.Why == "" && r.Samples > 0 && r.Probe == "" {
			for id, d := range s.pairs {
				if took, ok := r.Quantile(id); ok {
					put(d, prometheus.GaugeValue, took.Seconds(), s.owner, r.Initiator, r.Target, r.Plane, r.At, r.Over(), strconv.Itoa(r.Size))
				}
			}
		}
	}
}

// gauge is a verdict as a number. An unknown one is neither that of a failure nor of a pass.
func gauge(v prove.Verdict) float64 {
	switch v {
	case prove.Pass:
		return 1
	case prove.Fail:
		return 0
	case prove.Inconclusive:
		return -1
	case prove.NotMeasured:
		return -2
	case prove.Partial:
		return -4
	}
	return -3
}

// handler answers what was seen last; before the first look it says that there is nothing.
func (s *seenLast) handler() http.Handler {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	answer := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.last.Load() == nil {
			http.Error(w, "the first look is under way", http.StatusServiceUnavailable)
			return
		}
		answer.ServeHTTP(w, r)
	})
}
