//go:build linux

package guest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// benchPairs are measured of everything, each after the other in an order that
// changes: ours first, theirs first.
const benchPairs = 9

// A versus is one measurement by weft's programs and by others', as scripts for
// the guest where the host is.
type versus struct {
	name         string
	ours, theirs string
	read         func(out string) (float64, error)
	rate         string // the unit, where more is better; "": µs
}

// BenchmarkRDMA compares, in guests with Soft-RoCE, both agents with the kernel's
// own host and target under the same load, each agent with the kernel at its
// other end, and the verbs probes with perftest. Guests are emulated, so what
// counts are ratios of pairs. It prints all as a table; nothing is judged.
func BenchmarkRDMA(b *testing.B) {
	l := lab(b)
	one, two := l.Guest("one.example.net"), l.Guest("two.example.net")
	testers := softRDMA{"rdma_rxe", "eth1", "CA", "a", "10.90.1.1", "10.90.1.2"}
	for n, g := range []*Guest{one, two} {
		run(b, g, fmt.Sprintf("ip link set eth1 mtu 9000 up; ip addr add 10.90.1.%d/24 dev eth1", n+1))
	}
	testers.add(b, one, two)
	for _, name := range []string{"weft-target", "weft-initiator"} {
		at := compile(b, name, "build", "weft/cmd/"+name)
		put(b, one, at, "/root/"+name)
		put(b, two, at, "/root/"+name)
	}
	serveWeft(b, two, testers, inMemory)
	run(b, two, "PORT=3 TYPE=rdma ADDR="+testers.two+nvmet)
	connect(b, one, testers)
	rows := append(loads(testers), probes(b, two, testers)...)

	table := []string{
		"| what | weft | the other | weft / other | of 9 pairs |",
		"|---|---|---|---|---|",
	}
	load := loadNow()
	for _, row := range rows {
		b.Run(strings.ReplaceAll(row.name, " ", "_"), func(b *testing.B) {
			line := row.measure(b, one)
			table = append(table, line)
			b.Log(line)
		})
	}
	fmt.Printf("\nload average %s before, %s after\n\n%s\n", load, loadNow(), strings.Join(table, "\n"))
}

// measure is a line of the table.
func (v versus) measure(b *testing.B, one *Guest) string {
	var ours, theirs, ratios []float64
	take := func(script string) float64 {
		out := run(b, one, script)
		value, err := v.read(out)
		if err != nil || value <= 0 {
			b.Fatalf("%v in:\n%s", err, out)
		}
		return value
	}
	for i := range benchPairs {
		var we, they float64
		if i%2 == 0 {
			we = take(v.ours)
			they = take(v.theirs)
		} else {
			they = take(v.theirs)
			we = take(v.ours)
		}
		ours, theirs, ratios = append(ours, we), append(theirs, they), append(ratios, we/they)
	}
	for _, all := range [][]float64{ours, theirs, ratios} {
		slices.Sort(all)
	}
	middle, unit := benchPairs/2, cmp.Or(v.rate, "µs")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ratios[middle], "ratio")
	return fmt.Sprintf("| %s | %.0f %s | %.0f %s | %.2f | %.2f to %.2f |",
		v.name, ours[middle], unit, theirs[middle], unit, ratios[middle], ratios[0], ratios[benchPairs-1])
}

// connect has the kernel's host connect to both targets: its first disk is the
// kernel's, the second weft's.
func connect(b *testing.B, one *Guest, soft softRDMA) {
	for n, at := range []string{"4420 -n nqn.2026-11.net.example:lab", "4421 -n nqn.2026-11.net.example:weft"} {
		run(b, one, fmt.Sprintf("modprobe nvme-rdma; nvme connect -t rdma -a %s -s %s %s --hostid 11111111-2222-3333-4444-555555555555 -i 1 --keep-alive-tmo=120 --ctrl-loss-tmo=600\n"+
			"for i in $(seq 600); do [ -b /dev/nvme%dn1 ] && exit; sleep 0.1; done; exit 1", soft.two, at, hostNames, n))
	}
}

// loads are those of NVMe.
func loads(soft softRDMA) (all []versus) {
	weft := func(port int, nqn, rw, bs string, more ...string) string {
		return fmt.Sprintf("/root/weft-initiator run --json --transport rdma --traddr %s:%d --nqn %s %s --connect-timeout 120s --keep-alive-tmo 60s"+
			" --rw %s --bs %s --ramp-time 1s --runtime 3s --i-will-overwrite %s/1 %s", soft.two, port, nqn, hostNames, rw, bs, nqn, strings.Join(more, " "))
	}
	fio := func(disk, rw, bs string) string {
		return "fio --name=lab --filename=/dev/" + disk + " --ioengine=psync --direct=1 --rw=" + rw + " --bs=" + bs +
			" --time_based --ramp_time=1 --runtime=3 --output-format=json"
	}
	const kernelNQN, weftNQN = "nqn.2026-11.net.example:lab", "nqn.2026-11.net.example:weft"
	for _, l := range []struct{ name, rw, bs string }{
		{"read 4 KiB", "randread", "4k"}, {"write 4 KiB", "randwrite", "4k"}, {"read 128 KiB", "randread", "128k"},
	} {
		all = append(all, versus{name: l.name + ", both ends", ours: weft(4421, weftNQN, l.rw, l.bs), theirs: fio("nvme0n1", l.rw, l.bs), read: median})
	}
	return append(all,
		versus{name: "read 4 KiB, weft-target alone", ours: fio("nvme1n1", "randread", "4k"), theirs: fio("nvme0n1", "randread", "4k"), read: median},
		versus{name: "read 4 KiB, weft-initiator alone", ours: weft(4420, kernelNQN, "randread", "4k"), theirs: fio("nvme0n1", "randread", "4k"), read: median},
		versus{
			name: "read 4 KiB, 64 queue pairs of weft-initiator, weft-target alone", rate: "IOPS", read: reads,
			ours: weft(4421, weftNQN, "randread", "4k", "--numjobs 64"), theirs: weft(4420, kernelNQN, "randread", "4k", "--numjobs 64"),
		},
	)
}

// A side is what a job has read, or written.
type side struct {
	IOPS float64 `json:"iops"`
	Lat  struct {
		Percentile map[string]float64 `json:"percentile"`
	} `json:"clat_ns"`
}

// job is the one job in what fio and weft-initiator print.
func job(out string) (read, write side, err error) {
	var said struct {
		Jobs []struct{ Read, Write side } `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		return side{}, side{}, err
	}
	if len(said.Jobs) != 1 {
		return side{}, side{}, fmt.Errorf("%d jobs, want one", len(said.Jobs))
	}
	return said.Jobs[0].Read, said.Jobs[0].Write, nil
}

// median is that of the completion latencies, in µs.
func median(out string) (float64, error) {
	read, write, err := job(out)
	return max(read.Lat.Percentile["50.000000"], write.Lat.Percentile["50.000000"]) / 1e3, err
}

// reads are those of a second.
func reads(out string) (float64, error) {
	read, _, err := job(out)
	return read.IOPS, err
}

// probes are those of verbs, with servers for them in the other guest.
func probes(b *testing.B, two *Guest, soft softRDMA) (all []versus) {
	serve := "serve() { systemd-run --quiet --property=Restart=always --property=RestartSec=100ms --property=StartLimitIntervalSec=0 --property=LimitMEMLOCK=infinity \"$@\"; }\n" +
		"serve /root/weft-initiator probe --transport rdma --listen " + soft.two + ":18600\n"
	port := 18600
	for _, kind := range []struct{ suffix, args, ours, name string }{
		{"_lat", " -s 64 -n 1000", " --size 64", " 64 B"},
		{"_bw", " -s 65536 -n 500 -t 32 -Q 1", " --bw --size 65536 --iodepth 32", " 64 KiB"},
	} {
		for _, op := range []string{"send", "write", "read"} {
			port++
			program := "ib_" + op + kind.suffix
			perftest := program + " -R -F -p " + strconv.Itoa(port) + kind.args
			serve += "serve timeout 120 " + perftest + "\n" // which now and then refuses everybody
			v := versus{
				name: program + kind.name, read: typical,
				ours: "/root/weft-initiator probe --transport rdma --poll --connect-timeout 120s --traddr " + soft.two + ":18600 --op " + op + kind.ours,
				// Its server ends with each client, and is started again.
				theirs: "for i in $(seq 1000); do ! timeout 100 " + perftest + " " + soft.two + " >/run/said 2>&1 || { cat /run/said; exit; }; sleep 0.3; done; cat /run/said; exit 1",
			}
			if kind.suffix == "_bw" {
				v.read, v.rate = average, "MiB/s"
			}
			all = append(all, v)
		}
	}
	run(b, two, serve)
	return all
}

// typical and average are columns of what perftest and weft-initiator print.
func typical(out string) (float64, error) { return column(out, 4) }
func average(out string) (float64, error) { return column(out, -2) }

// column is one of the line after that of the names, from the end where i is
// less than 0.
func column(out string, i int) (float64, error) {
	names := false
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "#bytes"):
			names = true
		case names && len(fields) >= 4:
			if i < 0 {
				i += len(fields)
			}
			return strconv.ParseFloat(fields[i], 64)
		}
	}
	return 0, errors.New("no figures")
}

// loadNow is how many threads wanted to run on this machine during the last
// minute.
func loadNow() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
