//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Both targets have the same subsystems. The first is the one that most loads are on; a
// load over very many connections goes to all of them.
const (
	peerSubsystems = 16
	peerPairs      = 9
	peerHost       = "nqn.2026-11.net.example:bench:h1"
)

func peerNQN(n int) string { return fmt.Sprint("nqn.2026-11.net.example:bench:st", n) }

// peerSize is the bytes of a namespace.
func peerSize(n int) int {
	if n == 0 {
		return 64 << 20
	}
	return 4 << 20
}

// peerConfig is what weft-target serves.
func peerConfig() string {
	text := "owner = 'bench'\n[[portal]]\ntransport = 'tcp'\naddress = '10.40.1.11:4420'\n"
	for n := range peerSubsystems {
		text += fmt.Sprintf("[[subsystem]]\nnqn = '%s'\nserial = 'WEFT%d'\nallow_hosts = ['%s']\n[[subsystem.namespace]]\nid = 1\n"+
			"uuid = '6ba7b811-9dad-11d1-80b4-00c04fd430%02x'\nbackend = 'memory'\nsize = %d\nblock_size = 512\n", peerNQN(n), n, peerHost, n, peerSize(n))
	}
	return text
}

// A peerRow is a load that is measured in pairs: weft, and what it is beside.
type peerRow struct {
	name        string
	kind        peerKind
	pattern     string
	size, depth int
	connections int // with depth commands each; 0 is one
	digests     bool
	shared      bool    // weft-initiator's commands share memory
	bar         float64 // of the rate beside it: what is wanted; 0: nothing
}

type peerKind int

const (
	targets peerKind = iota // SPDK's host, on either target
	stacks                  // each host on its own target
	modes                   // weft by events, beside weft that polls
)

func (r *peerRow) subsystems() int {
	if r.connections > 64 {
		return peerSubsystems
	}
	return 1
}

// queues is how many there are to each subsystem.
func (r *peerRow) queues() int { return max(1, r.connections/r.subsystems()) }

func peerRows() (rows []peerRow) {
	for kind, name := range []string{"target alone", "whole stack"} {
		first := []float64{1.10, 1.25}[kind]
		for _, digests := range []bool{false, true} {
			for _, depth := range []int{1, 32, 128} {
				bar := 1.3
				if depth == 1 {
					bar = first
				}
				rows = append(rows, peerRow{name: fmt.Sprintf("%s/read/4KiB/QD%d", name, depth), kind: peerKind(kind), pattern: "randread", size: 4 << 10, depth: depth, digests: digests, bar: bar})
			}
			for _, op := range []string{"read", "write"} {
				rows = append(rows, peerRow{name: name + "/" + op + "/128KiB/QD32", kind: peerKind(kind), pattern: "rand" + op, size: 128 << 10, depth: 32, digests: digests, bar: 1.1})
			}
		}
	}
	for i := range rows {
		if rows[i].digests {
			rows[i].name, rows[i].bar = rows[i].name+"/digests", 1.1
		}
	}
	for _, many := range []int{64, 1024} {
		rows = append(rows, peerRow{name: fmt.Sprintf("target alone/read/4KiB/QD1/connections=%d", many), kind: targets, pattern: "randread", size: 4 << 10, depth: 1, connections: many, bar: 1})
	}
	return append(rows,
		peerRow{name: "whole stack/read/128KiB/QD32/shared memory", kind: stacks, pattern: "randread", size: 128 << 10, depth: 32, shared: true},
		peerRow{name: "event beside poll/read/4KiB/QD1", kind: modes, pattern: "randread", size: 4 << 10, depth: 1, bar: 0.8})
}

// BenchmarkPeer measures weft beside an SPDK that is on this machine, the target on one
// processor and the host on the other, in pairs of alternating order. At the end it
// prints all as a table.
func BenchmarkPeer(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("needs two processors")
	}
	s := findSPDK(b)
	own, bin := buildAgent(b, "weft-initiator"), buildAgent(b, "weft-target")
	theirs := s.serve(b)
	theirs.hold(b)
	poll := weftEnd(b, bin, "weft", "--poll", "1", "--poll-cpus", "0")
	poll.hold(b)
	event := weftEnd(b, bin, "weft by events")
	event.hold(b)

	before, rows := loadNow(), []string(nil)
	for _, row := range peerRows() {
		b.Run(strings.ReplaceAll(row.name, " ", "-"), func(b *testing.B) {
			ends := [2]*peerEnd{poll, theirs}
			measure := [2]func() peerFigure{
				func() peerFigure { return s.run(b, poll, row) },
				func() peerFigure { return s.run(b, theirs, row) },
			}
			if row.kind != targets {
				measure[0] = func() peerFigure { return weftRun(b, own, poll, row, true) }
			}
			if row.kind == modes {
				ends = [2]*peerEnd{event, poll}
				measure = [2]func() peerFigure{func() peerFigure { return weftRun(b, own, event, row, false) }, measure[0]}
			}
			var f [2][]peerFigure
			for pair := range peerPairs {
				for _, i := range [2][2]int{{0, 1}, {1, 0}}[pair%2] {
					ends[i].goOn(b)
					f[i] = append(f[i], measure[i]())
					ends[i].hold(b)
				}
			}
			rows = append(rows, peerLine(b, row, f))
		})
	}
	for _, e := range []*peerEnd{poll, event, theirs} {
		e.quiet(b)
	}
	fmt.Fprintf(os.Stdout, "\n%s; SPDK with %s; load average %s before, %s after\n\n", machineName(), s.pages, before, loadNow())
	fmt.Fprintln(os.Stdout, "| load | weft | beside | times, least to most | wanted | p99 µs | beside | per processor-second | beside |")
	fmt.Fprintln(os.Stdout, "|---|---|---|---|---|---|---|---|---|")
	fmt.Fprintln(os.Stdout, strings.Join(rows, "\n"))
}

// A peerFigure is one measurement.
type peerFigure struct {
	rate  float64 // commands a second
	p99   float64 // µs
	cores float64 // processors that both ends have used
}

// peerLine is a row of the table, of pairs.
func peerLine(b *testing.B, row peerRow, f [2][]peerFigure) string {
	b.Helper()
	of := func(i int, what func(peerFigure) float64) float64 {
		var all []float64
		for _, x := range f[i] {
			all = append(all, what(x))
		}
		return median(all)
	}
	rate := func(x peerFigure) float64 { return x.rate }
	tail := func(x peerFigure) float64 { return x.p99 }
	each := func(x peerFigure) float64 { return x.rate / x.cores }
	var times []float64
	for n := range f[0] {
		times = append(times, f[0][n].rate/f[1][n].rate)
	}
	times = slices.Sorted(slices.Values(times))
	mid := times[len(times)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(of(0, rate), "IOPS")
	b.ReportMetric(of(1, rate), "beside-IOPS")
	b.ReportMetric(mid, "times")
	moved := func(perSecond float64) string {
		if row.size > 64<<10 {
			return fmt.Sprintf("%.0f MiB/s", perSecond*float64(row.size)/(1<<20))
		}
		return fmt.Sprintf("%.1f k/s", perSecond/1e3)
	}
	wanted := "–"
	if row.bar > 0 {
		wanted = fmt.Sprintf("≥ %.2f", row.bar)
	}
	return fmt.Sprintf("| %s | %s | %s | %.2f (%.2f to %.2f) | %s | %.1f | %.1f | %s | %s |", strings.ReplaceAll(row.name, "/", " "),
		moved(of(0, rate)), moved(of(1, rate)), mid, times[0], times[len(times)-1], wanted, of(0, tail), of(1, tail), moved(of(0, each)), moved(of(1, each)))
}

// A peerEnd is a target that is measured. It stands still while another one is.
type peerEnd struct {
	name string
	cmd  *exec.Cmd
	addr string
	said *transcript
}

// weftEnd starts a weft-target.
func weftEnd(b *testing.B, bin, name string, mode ...string) *peerEnd {
	b.Helper()
	p := newTargetProcess(b, bin, peerConfig(), mode...)
	if err := p.start(); err != nil {
		b.Fatal(err)
	}
	e := &peerEnd{name: name, cmd: p.cmd, addr: p.port, said: &p.said}
	b.Cleanup(e.end)
	return e
}

func (e *peerEnd) hold(b *testing.B) { e.signal(b, syscall.SIGSTOP) }
func (e *peerEnd) goOn(b *testing.B) { e.signal(b, syscall.SIGCONT) }

func (e *peerEnd) signal(b *testing.B, s os.Signal) {
	b.Helper()
	if err := e.cmd.Process.Signal(s); err != nil {
		b.Fatalf("the target of %s: %v\n%s", e.name, err, e.said.String())
	}
}

func (e *peerEnd) end() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

// share begins to measure how much of a processor the target uses.
func (e *peerEnd) share(b *testing.B) func() float64 {
	b.Helper()
	begin, before := time.Now(), processorTime(b, e.cmd.Process.Pid)
	return func() float64 {
		return float64(processorTime(b, e.cmd.Process.Pid)-before) / float64(time.Since(begin))
	}
}

// quiet fails the benchmark if the target has logged anything that is wrong: hosts came
// and went by the thousand.
func (e *peerEnd) quiet(b *testing.B) {
	b.Helper()
	for line := range strings.Lines(e.said.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "*ERROR*") {
			b.Errorf("the target of %s logs %s", e.name, line)
			return
		}
	}
}

// weftRun puts a target under a load of weft-initiator.
func weftRun(b *testing.B, own string, e *peerEnd, row peerRow, poll bool) peerFigure {
	b.Helper()
	args := []string{
		"--map", "10.40.1.11:4420=" + e.addr, "run", "--json", "--traddr", "10.40.1.11:4420", "--hostnqn", peerHost, "--nqn", peerNQN(0),
		"--rw", row.pattern, "--bs", fmt.Sprint(row.size), "--iodepth", fmt.Sprint(row.depth), "--runtime", "1s", "--ramp-time", benchRamp,
		"--i-will-overwrite", peerNQN(0) + "/1",
	}
	if row.digests {
		args = append(args, "--hdr-digest", "--data-digest")
	}
	if row.shared {
		args = append(args, "--shared-memory")
	}
	if poll {
		args = append(args, "--poll", "--poll-cpus", "1")
	}
	var r report
	share := e.share(b)
	measure(b, own, args, &r)
	job := &r.Jobs[0]
	op := &job.Read
	if op.Total == 0 {
		op = &job.Write
	}
	return peerFigure{rate: op.IOPS, p99: float64(op.Clat.Percentile["99.000000"]) / 1e3, cores: share() + (job.User+job.System)/100}
}
