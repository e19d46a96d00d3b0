//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// A benchTable is what was measured, as the README shows it.
type benchTable struct {
	load []string // averages of the machine, before and after
	rows []string
}

func (t *benchTable) add(row benchRow, rate, p50, p99, p999, raw99, ratio, faster, host, target, others float64) {
	moved := fmt.Sprintf("%.1f k/s", rate/1e3)
	if size := max(row.there, row.back); size > 64<<10 {
		moved = fmt.Sprintf("%.0f MiB/s", rate*128/1024)
	}
	bar := "–"
	if row.bar > 0 {
		bar = fmt.Sprintf("≥ %.2f", row.bar)
	}
	t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f | %s | %.0f + %.0f %% | %.0f %% |",
		strings.ReplaceAll(row.name, "/", " "), moved, p50, p99, p999, raw99, ratio, faster, bar, target, host, others))
}

// print prints nothing unless all rows are there.
func (t *benchTable) print(out io.Writer) {
	if len(t.rows) != len(benchRows()) {
		return
	}
	fmt.Fprintf(out, "\n%s; load average %s before, %s after\n\n", machineName(), t.load[0], t.load[1])
	fmt.Fprintln(out, "| load | reached | p50 µs | p99 µs | p99.9 µs | raw p99 µs | of raw, by rate | by p50 | wanted | CPU target + host | others |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|")
	fmt.Fprintln(out, strings.Join(t.rows, "\n"))
}

// machineName says what it was measured on.
func machineName() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d × %s, Linux %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)))
}

// loadNow is how many threads wanted to run during the last minute.
func loadNow() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
