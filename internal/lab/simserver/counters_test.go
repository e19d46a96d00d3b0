//go:build unix

package simserver

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// What agents say that they have moved is counted by the priority that the
// configuration of the cards gives it, and told to the network.
func TestCountersFollowWhatAgentsMove(t *testing.T) {
	n := network(t)
	var told []Transfer
	n.Moved = func(tr Transfer) { told = append(told, tr) }
	a, b := spec(t, "a"), spec(t, "b")
	a.Interfaces[1].Address, b.Interfaces[1].Address = netip.MustParsePrefix("10.0.1.1/24"), netip.MustParsePrefix("10.0.1.2/24")
	from, to := server(t, n, a), server(t, n, b)
	result := `{"op":"read","transport":"rdma","local":"10.0.1.1","remote":"10.0.1.2:4420","size":4096,"bytes":409600}`
	from.moved(0, []byte(result))
	result = `{"format":1,"version":"v1","probe":` + result + `}` // as the reply to a request
	for _, line := range []string{"mkdir -p /sys/kernel/config/rdma_cm/rocep65s0f0", "sh -c 'echo 104 > /sys/kernel/config/rdma_cm/rocep65s0f0/ports/1/default_roce_tos'",
		"dcb app add dev ens1f0np0 dscp-prio 26:3", "dcb pfc set dev ens1f0np0 prio-pfc 3:on"} {
		if r := local(t, from, "root", line); r.status != 0 {
			t.Fatalf("%s: %+v", line, r)
		}
	}
	from.moved(0, []byte(result))
	for _, ignored := range []string{"", "{}", "what?", `{"op":"read","local":"10.0.1.1","remote":"10.0.9.9:1","size":1,"bytes":1}`,
		`{"op":"read","local":"","remote":"","size":4096,"bytes":4096}`} {
		from.moved(0, []byte(ignored))
	}
	if len(told) != 2 || told[0].DSCP != 0 || told[1].DSCP != 26 || told[1].Back != 409600 || told[1].Commands != 100 ||
		told[1].From != (End{"a", "0000:41:00.0"}) || told[1].To != (End{"b", "0000:41:00.0"}) {
		t.Errorf("told %+v", told)
	}
	if !from.Paused("0000:41:00.0", 3, 7, time.Millisecond) || to.Paused("0000:41:00.0", 3, 7, time.Millisecond) {
		t.Error("only a card with PFC heeds a pause")
	}
	out := local(t, from, "root", "ethtool -S ens1f0np0").out
	for _, want := range []string{"NIC statistics:\n", " rx_prio0_bytes: 409600\n", " rx_prio3_bytes: 409600\n", " tx_prio3_packets: 100\n", " rx_prio3_pause: 7\n", " rx_prio3_pause_duration: 7000\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if out := local(t, to, "root", "ethtool -S ens1f0np0").out; !strings.Contains(out, " tx_prio0_bytes: 819200\n") || strings.Contains(out, "pause_duration") {
		t.Errorf("the other end: %s", out)
	}
	if r := local(t, to, "root", "ethtool -S eno1"); r.status == 0 {
		t.Errorf("a management port has none of these: %+v", r)
	}
	if r := local(t, to, "weft", "cat /sys/class/infiniband/rocep65s0f0/ports/1/hw_counters/out_of_sequence"); r.out != "0\n" {
		t.Errorf("hardware counters: %+v", r)
	}
}
