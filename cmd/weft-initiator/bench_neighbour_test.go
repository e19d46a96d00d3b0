//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// neighbourConfig has a volume for each of two hosts, of a kind and a size.
const neighbourConfig = `owner = 'bench'
[[portal]]
transport = 'tcp'
address = '10.40.1.11:4420'
[[subsystem]]
nqn = 'nqn.2026-11.net.example:bench:st1'
serial = 'WEFT01'
allow_hosts = ['nqn.2026-11.net.example:bench:h1']
[[subsystem.namespace]]
id = 1
uuid = '6ba7b811-9dad-11d1-80b4-00c04fd430c8'
size = 67108864
block_size = 512
%s
[[subsystem]]
nqn = 'nqn.2026-11.net.example:bench:st2'
serial = 'WEFT02'
allow_hosts = ['nqn.2026-11.net.example:bench:h2']
[[subsystem.namespace]]
id = 1
uuid = '6ba7b811-9dad-11d1-80b4-00c04fd430c9'
size = 4294967296
block_size = 512
%s
`

// neighbourBar is how many times its p99 alone a host's may be beside another.
const neighbourBar = 5.0

// busyLoads are what the other host keeps outstanding, 127 at a time on each of
// two queues.
func busyLoads() []busyLoad {
	var ranges []byte
	for range wire.MaxDSMRanges {
		r := wire.DSMRange{Blocks: 4 << 30 / 512}
		ranges, _ = r.AppendBinary(ranges)
	}
	long := func(op uint8, size int) wire.Command {
		c := wire.Command{Opcode: op, NSID: 1}
		c.SetBlocks(0, size/512)
		return c
	}
	return []busyLoad{
		{"deallocate 256 × 4 GiB", wire.DSMCommand{NSID: 1, Ranges: wire.MaxDSMRanges, Deallocate: true}.Command(), ranges},
		{"write zeroes 32 MiB", long(wire.OpWriteZeroes, 32<<20), nil},
		{"flush", wire.Command{Opcode: wire.OpFlush, NSID: 1}, nil},
		{"compare 128 KiB", long(wire.OpCompare, 128<<10), make([]byte, 128<<10)},
		{"read 128 KiB", long(wire.OpRead, 128<<10), make([]byte, 128<<10)},
		{"write 128 KiB", long(wire.OpWrite, 128<<10), make([]byte, 128<<10)},
	}
}

type busyLoad struct {
	name string
	cmd  wire.Command
	data []byte
}

// BenchmarkNeighbours measures reads of 4 KiB, one at a time, alone and while
// another host, from another address, keeps the same target busy. The target has a
// processor and the host that is measured has one; the busy host runs where that one
// leaves it something. At the end it prints all as a table.
func BenchmarkNeighbours(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("needs two processors")
	}
	own, bin := buildAgent(b, "weft-initiator"), buildAgent(b, "weft-target")
	before, rows := loadNow(), []string(nil)
	for _, event := range []bool{true, false} {
		for _, kind := range []string{"memory", "file"} {
			for _, load := range busyLoads() {
				mode := map[bool]string{true: "event", false: "poll"}[event]
				b.Run(strings.ReplaceAll(mode+"/"+kind+"/"+load.name, " ", "-"), func(b *testing.B) {
					var alone, beside []float64
					for range benchRounds {
						x, y := besideRun(b, own, bin, kind, event, load)
						alone, beside = append(alone, x), append(beside, y)
					}
					x, y := median(alone), median(beside)
					rows = append(rows, fmt.Sprintf("| %s, %s, beside %s | %.1f | %.1f | %.1f | ≤ %.0f |", mode, kind, load.name, x, y, y/x, neighbourBar))
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(x, "alone-p99-µs")
					b.ReportMetric(y, "beside-p99-µs")
					b.ReportMetric(y/x, "times")
				})
			}
		}
	}
	fmt.Fprintf(os.Stdout, "\n%s; load average %s before, %s after\n\n", machineName(), before, loadNow())
	fmt.Fprintln(os.Stdout, "| read 4 KiB, QD1 | p99 µs alone | p99 µs beside | times | wanted |")
	fmt.Fprintln(os.Stdout, "|---|---|---|---|---|")
	fmt.Fprintln(os.Stdout, strings.Join(rows, "\n"))
}

// besideRun measures both on one target; the results are in µs.
func besideRun(b *testing.B, own, bin, kind string, event bool, load busyLoad) (alone, beside float64) {
	b.Helper()
	of, on, behind := []string{"taskset", "-c", "0"}, []string{"taskset", "-c", "1"}, []string{"chrt", "-i", "0", "taskset", "-c", "1"}
	var mode, polls []string
	if !event { // a host that polls would leave nothing to one that runs behind it
		of, on, behind = nil, nil, []string{"nice", "-n", "19"}
		mode, polls = []string{"--poll", "1", "--poll-cpus", "0"}, []string{"--poll", "--poll-cpus", "1"}
	}
	volume := func(name string) string {
		if kind == "file" {
			return "backend = 'file'\npath = '/volumes/" + name + "'"
		}
		return "backend = 'memory'"
	}
	p := newTargetProcess(b, bin, fmt.Sprintf(neighbourConfig, volume("quiet"), volume("busy")), mode...)
	p.under = of
	if err := p.start(); err != nil {
		b.Fatal(err)
	}
	defer p.kill()
	quiet := append(on, own)
	p99 := func() float64 {
		var r report
		measure(b, quiet[0], slices.Concat(quiet[1:], []string{
			"--map", "10.40.1.11:4420=" + p.port, "run", "--json", "--traddr", "10.40.1.11:4420",
			"--hostnqn", "nqn.2026-11.net.example:bench:h1", "--nqn", "nqn.2026-11.net.example:bench:st1",
			"--rw", "randread", "--bs", "4k", "--iodepth", "1", "--runtime", benchTime, "--ramp-time", benchRamp,
		}, polls), &r)
		return float64(r.Jobs[0].Read.Clat.Percentile["99.000000"]) / 1e3
	}
	alone = p99()
	stop := keepBusy(b, p.port, load, behind)
	defer stop()
	return alone, p99()
}

// keepBusy runs a host with two full queues, until stop. It is a process of its
// own that has processors only when nobody else wants them, which behind sees to: a
// neighbour is another machine, and what it does with its own processors is not what is
// measured.
func keepBusy(b *testing.B, addr string, load busyLoad, behind []string) (stop func()) {
	b.Helper()
	cmd := exec.Command(behind[0], slices.Concat(behind[1:], []string{"busy-neighbour", addr, load.name})...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		b.Fatalf("the busy host has not begun: %v", err)
	}
	return func() { _ = in.Close(); _ = cmd.Wait() }
}

// programs are what the program of the tests can be.
func programs() map[string]func() {
	return map[string]func(){"weft-initiator": main, "busy-neighbour": busyNeighbour}
}

// busyNeighbour is the busy host: ADDRESS and the name of a load. It writes a byte
// when it has begun and ends with its input.
func busyNeighbour() {
	i := slices.IndexFunc(busyLoads(), func(l busyLoad) bool { return l.name == os.Args[2] })
	if err := beBusy(os.Args[1], busyLoads()[i]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write([]byte{'\n'})
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func beBusy(addr string, load busyLoad) error {
	const depth = 127
	apart := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}}
	carrier := &tcp.Transport{DialAddr: func(ctx context.Context, addr string) (net.Conn, error) { return apart.DialContext(ctx, "tcp", addr) }}
	data := wire.ConnectData{HostID: [16]byte{2}, ControllerID: wire.DynamicController, SubNQN: "nqn.2026-11.net.example:bench:st2", HostNQN: "nqn.2026-11.net.example:bench:h2"}
	for qid := range uint16(3) {
		q, err := carrier.Dial(context.Background(), fabric.DialParams{Addr: addr, QID: qid, Depth: depth, InCapsule: 8192})
		if err != nil {
			return err
		}
		connect, _ := data.AppendBinary(nil)
		hello := wire.ConnectCommand{QID: qid, SQSize: depth}.Command()
		done, err := fabric.Do(q, &hello, connect)
		if err == nil && done.Status == wire.Success && qid == 0 {
			data.ControllerID = uint16(done.Result)
			enable := wire.PropertyCommand{Set: true, Offset: wire.PropCC, Value: wire.CCEnable | wire.CCIOSQES | wire.CCIOCQES}.Command()
			done, err = fabric.Do(q, &enable, nil)
		}
		if err != nil || done.Status != wire.Success {
			return fmt.Errorf("queue %d: %v %v", qid, done.Status, err)
		}
		if qid > 0 {
			go keepFull(q, depth, load)
		}
	}
	return nil
}

// keepFull has so many commands outstanding for as long as the queue lives.
func keepFull(q fabric.Queue, depth int, load busyLoad) {
	done := make([]wire.Completion, depth)
	n := depth
	for i := range done {
		done[i].CID = uint16(i)
	}
	for {
		for _, c := range done[:n] {
			cmd := load.cmd
			if q.Submit(c.CID, &cmd, fabric.Buffer{Bytes: load.data}) != nil {
				return
			}
		}
		var err error
		if n, err = q.Wait(done); err != nil {
			return
		}
	}
}
