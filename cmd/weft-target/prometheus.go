package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"weft/internal/agent"
)

// metric is one family in Prometheus' text format.
type metric struct {
	name, kind, help string
}

// writeMetrics writes the status as metrics.
func (s *service) writeMetrics(out io.Writer) error { return writeMetrics(out, s.now()) }

func writeMetrics(out io.Writer, s agent.TargetStatus) error {
	w := bufio.NewWriter(out)
	one := func(name, kind, help string, value any) {
		m := metric{name, kind, help}
		m.head(w)
		fmt.Fprintf(w, "weft_target_%s %v\n", name, value)
	}
	one("start_time_seconds", "gauge", "When the target was started.", s.Started.Unix())
	one("reloads_total", "counter", "Reloads of the configuration.", s.Reloads)
	cpu := metric{"cpu_seconds_total", "counter", "Processor time of the target."}
	cpu.head(w)
	fmt.Fprintf(w, "weft_target_cpu_seconds_total{mode=\"user\"} %.6f\n", s.UserTime.Seconds())
	fmt.Fprintf(w, "weft_target_cpu_seconds_total{mode=\"system\"} %.6f\n", s.SystemTime.Seconds())
	failed := 0
	if s.ReloadError != "" {
		failed = 1
	}
	one("reload_failed", "gauge", "1 if the last reload was refused.", failed)
	one("discovery_generation", "gauge", "Generation of the discovery log.", s.Generation)
	one("connects_refused_total", "counter", "Connect commands that were refused.", s.Refused.Connects)
	one("authentications_failed_total", "counter", "Authentications that failed.", s.Refused.Authentications)
	one("keep_alive_timeouts_total", "counter", "Controllers whose host fell silent.", s.Refused.KeepAlives)
	one("log_lines_left_out_total", "counter", "Lines about peers that were left out of the log, as there were too many.", s.Refused.LogLines)
	metric{"controllers", "gauge", "Controllers that are connected."}.each(w, s, func(u agent.SubsystemStatus, put func(any, ...string)) {
		put(u.Controllers)
	})
	ioQueues(w, s)
	for _, f := range namespaceFamilies() {
		f.each(w, s, func(u agent.SubsystemStatus, put func(any, ...string)) {
			for _, n := range u.Namespaces {
				f.put(n, func(value any, labels ...string) {
					put(value, append([]string{"nsid", fmt.Sprint(n.ID)}, labels...)...)
				})
			}
		})
	}
	return w.Flush()
}

// ioQueues counts the queues of each subsystem.
func ioQueues(w *bufio.Writer, s agent.TargetStatus) {
	queues := map[string]int{}
	for _, c := range s.Controllers {
		queues[c.Subsystem] += c.IOQueues
	}
	metric{"io_queues", "gauge", "I/O queues that are connected."}.each(w, s, func(u agent.SubsystemStatus, put func(any, ...string)) {
		put(queues[u.NQN])
	})
}

// family is a metric of each namespace.
type family struct {
	metric
	put func(n agent.NamespaceStatus, put func(value any, labels ...string))
}

func namespaceFamilies() []family {
	return []family{
		{metric{"commands_total", "counter", "I/O commands that succeeded."}, func(n agent.NamespaceStatus, put func(any, ...string)) {
			put(n.Reads, "op", "read")
			put(n.Writes, "op", "write")
			put(n.Others, "op", "other")
		}},
		{metric{"bytes_total", "counter", "Bytes moved by I/O commands."}, func(n agent.NamespaceStatus, put func(any, ...string)) {
			put(n.BytesRead, "op", "read")
			put(n.BytesWritten, "op", "write")
		}},
		{metric{"backend_errors_total", "counter", "Errors of the backend."}, func(n agent.NamespaceStatus, put func(any, ...string)) {
			put(n.Errors)
		}},
		{metric{"throttled_total", "counter", "I/O commands that limits have delayed."}, func(n agent.NamespaceStatus, put func(any, ...string)) {
			put(n.Throttled)
		}},
		{metric{"throttled_seconds_total", "counter", "Time that limits have delayed I/O commands by."}, func(n agent.NamespaceStatus, put func(any, ...string)) {
			put(n.ThrottleTime.Seconds())
		}},
		{metric{"size_bytes", "gauge", "Size of the namespace."}, func(n agent.NamespaceStatus, put func(any, ...string)) {
			put(n.Size)
		}},
		{metric{"mirror_behind_bytes", "gauge", "Bytes that one half of a mirror still lacks."}, func(n agent.NamespaceStatus, put func(any, ...string)) {
			if n.Mirror != nil {
				put(n.Mirror.Behind)
			}
		}},
	}
}

func (m metric) head(w *bufio.Writer) {
	fmt.Fprintf(w, "# HELP weft_target_%s %s\n# TYPE weft_target_%s %s\n", m.name, m.help, m.name, m.kind)
}

// each writes the family, with what values says of each subsystem. Labels are
// names and values in turn.
func (m metric) each(w *bufio.Writer, s agent.TargetStatus, values func(u agent.SubsystemStatus, put func(value any, labels ...string))) {
	m.head(w)
	for _, u := range s.Subsystems {
		values(u, func(value any, labels ...string) {
			labels = append([]string{"subsystem", u.NQN}, labels...)
			var all []string
			for i := 0; i < len(labels); i += 2 {
				all = append(all, fmt.Sprintf(`%s="%s"`, labels[i], escape(labels[i+1])))
			}
			fmt.Fprintf(w, "weft_target_%s{%s} %v\n", m.name, strings.Join(all, ","), value)
		})
	}
}

// escape is a label's value as the text format has it.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
