//go:build linux

package guest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const neighbourRounds = 3

// BenchmarkRDMANeighbours is how long reads of 4 KiB over Soft-RoCE take, one at a time,
// alone and while another host, from another address, has 128 commands outstanding: with
// weft-target, and the same with the kernel's target. Both hosts are in one guest, where
// the busy one has what the other leaves it; what the kernel does for its packets is not
// bounded by that, so that two things are there to compare with: the kernel's target, and
// perftest's ping-pong, which no target answers, beside the host that keeps weft-target
// busy. It prints a table; nothing is judged.
func BenchmarkRDMANeighbours(b *testing.B) {
	l := lab(b)
	one, two := l.Guest("one.example.net"), l.Guest("two.example.net")
	soft := softRDMA{"rdma_rxe", "eth1", "CA", "a", "10.90.1.1", "10.90.1.2"}
	for n, g := range []*Guest{one, two} {
		run(b, g, fmt.Sprintf("ip link set eth1 mtu 9000 up; ip addr add 10.90.1.%d/24 dev eth1", n+1))
	}
	run(b, one, "ip addr add 10.90.1.3/24 dev eth1")
	soft.add(b, one, two)
	put(b, one, compile(b, "weft-initiator", "build", "weft/cmd/weft-initiator"), "/root/weft-initiator")
	put(b, two, compile(b, "weft-target", "build", "weft/cmd/weft-target"), "/root/weft-target")
	serveWeft(b, two, soft, inMemory+`
[[subsystem]]
nqn = "nqn.2026-11.net.example:busy"
serial = "BUSY"
allow_hosts = ["`+busyHost+`"]
[[subsystem.namespace]]
id = 1
uuid = "6ba7b811-9dad-11d1-80b4-00c04fd430c9"
block_size = 4096
`+inMemory)
	run(b, two, "PORT=3 TYPE=rdma ADDR="+soft.two+nvmet+"\n"+pingServer)
	before := loadNow()
	table := []string{
		"| 4 KiB, QD1 | target | p99 ms alone | p99 ms beside | times |",
		"|---|---|---|---|---|",
	}
	for _, rw := range []string{"randread", "randwrite"} {
		weft := neighbourTarget{"weft-target", soft.two + ":4421", "nqn.2026-11.net.example:weft", "nqn.2026-11.net.example:busy", neighbourTarget.reads}
		ping := weft
		ping.name, ping.p99 = "none: ib_send_lat of 4 KiB", neighbourTarget.pings
		for _, t := range []neighbourTarget{
			weft,
			{"the kernel's", soft.two + ":4420", "nqn.2026-11.net.example:lab", "nqn.2026-11.net.example:lab", neighbourTarget.reads},
			ping,
		} {
			b.Run(rw+"/"+strings.ReplaceAll(t.name, " ", "-"), func(b *testing.B) {
				var alone, beside []float64
				for range neighbourRounds {
					alone = append(alone, t.p99(t, b, one))
					run(b, one, t.busy(rw))
					beside = append(beside, t.p99(t, b, one))
					run(b, one, "systemctl stop busy")
				}
				slices.Sort(alone)
				slices.Sort(beside)
				x, y := alone[neighbourRounds/2], beside[neighbourRounds/2]
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(y/x, "times")
				table = append(table, fmt.Sprintf("| beside %s 128 KiB | %s | %.1f | %.1f | %.1f |", strings.TrimPrefix(rw, "rand"), t.name, x/1e3, y/1e3, y/x))
			})
		}
	}
	fmt.Printf("\nload average %s before, %s after\n\n%s\n", before, loadNow(), strings.Join(table, "\n"))
}

const busyHost = "nqn.2014-08.org.nvmexpress:uuid:22222222-2222-3333-4444-555555555555"

// A neighbourTarget is one of the two, and where each of its hosts goes.
type neighbourTarget struct {
	name, at, quietNQN, busyNQN string
	// p99 is that of what is measured, in µs.
	p99 func(neighbourTarget, *testing.B, *Guest) float64
}

// pingServer answers pings, one client at a time, for as long as the guest is there.
const pingServer = "systemd-run --quiet --property=Restart=always --property=RestartSec=100ms --property=StartLimitIntervalSec=0 --property=LimitMEMLOCK=infinity timeout 240 ib_send_lat -R -F -p 18610 -s 4096 -n 300"

// pings is the p99 of what goes to the other guest without a target, half a round trip.
func (t neighbourTarget) pings(b *testing.B, one *Guest) float64 {
	b.Helper()
	host, _, _ := strings.Cut(t.at, ":")
	out := run(b, one, "for i in $(seq 1000); do ! timeout 220 ib_send_lat -R -F -p 18610 -s 4096 -n 300 "+host+" >/run/said 2>&1 || { cat /run/said; exit; }; sleep 0.3; done; cat /run/said; exit 1")
	p99, err := column(out, 7)
	if err != nil || p99 <= 0 {
		b.Fatalf("%v in:\n%s", err, out)
	}
	return p99
}

// reads is the p99 of reads through the target.
func (t neighbourTarget) reads(b *testing.B, one *Guest) float64 {
	b.Helper()
	out := run(b, one, fmt.Sprintf("/root/weft-initiator run --json --transport rdma --traddr %s --host-traddr 10.90.1.1 --nqn %s %s --connect-timeout 120s --keep-alive-tmo 60s"+
		" --rw randread --bs 4k --ramp-time 1s --runtime 8s", t.at, t.quietNQN, hostNames))
	var said struct {
		Jobs []struct {
			Read struct {
				Lat struct {
					Percentile map[string]float64 `json:"percentile"`
				} `json:"clat_ns"`
			} `json:"read"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said.Jobs) != 1 || said.Jobs[0].Read.Lat.Percentile["99.000000"] <= 0 {
		b.Fatalf("%v in:\n%s", err, out)
	}
	return said.Jobs[0].Read.Lat.Percentile["99.000000"] / 1e3
}

// busy starts the other host, and waits until it has read or written something.
func (t neighbourTarget) busy(rw string) string {
	return fmt.Sprintf(`systemd-run --quiet --collect --unit=busy --property=LimitMEMLOCK=infinity --property=CPUSchedulingPolicy=idle /root/weft-initiator run --transport rdma --traddr %s --host-traddr 10.90.1.3 --nqn %s --hostnqn %s \
	--connect-timeout 120s --keep-alive-tmo 60s --timeout 120s --rw %s --bs 128k --numjobs 2 --iodepth 64 --ramp-time 0s --runtime 1h --i-will-overwrite %s/1
sent() { cat /sys/class/infiniband/soft/ports/1/hw_counters/sent_pkts; }
first=$(sent)
for i in $(seq 600); do [ $(($(sent) - first)) -lt 2000 ] || exit 0; sleep 0.2; done; journalctl -u busy >&2; exit 1`, t.at, t.busyNQN, busyHost, rw, t.busyNQN)
}
