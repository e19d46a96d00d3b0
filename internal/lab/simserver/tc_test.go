//go:build unix

package simserver

import "testing"

// TestDeaf: an interface that drops what comes in reaches nobody, and nobody
// reaches it, until the qdisc with the rule goes.
func TestDeaf(t *testing.T) {
	n := network(t)
	a, b := spec(t, "a"), spec(t, "b")
	one, two := server(t, n, a), server(t, n, b)
	local(t, one, "root", "ip addr add 10.40.1.11/24 dev ens1f0np0")
	local(t, two, "root", "ip addr add 10.40.1.12/24 dev ens1f0np0")
	reached := func(want int) {
		t.Helper()
		for s, to := range map[*Server]string{one: "10.40.1.12", two: "10.40.1.11"} {
			if got := local(t, s, "root", "ping -q -c 1 -W 1 "+to); got.status != want {
				t.Errorf("ping %s: %+v", to, got)
			}
		}
	}
	reached(0)
	expect(t, one, "tc qdisc show dev ens1f0np0", result{"qdisc mq 0: root \n", "", 0})
	expect(t, one, "tc filter add dev ens1f0np0 ingress matchall action drop", result{"", "Error: Parent Qdisc doesn't exists.\nWe have an error talking to the kernel\n", 2})
	expect(t, one, "tc qdisc add dev ens1f0np0 clsact && tc filter add dev ens1f0np0 ingress matchall action drop", result{})
	expect(t, one, "tc qdisc add dev ens1f0np0 clsact", result{"", "Error: Exclusivity flag on, cannot modify.\n", 2})
	reached(1)
	expect(t, one, "tc qdisc del dev ens1f0np0 clsact", result{})
	reached(0)
	expect(t, one, "tc qdisc del dev ens1f0np0 clsact", result{"", "Error: Cannot find specified qdisc on specified device.\n", 2})
	expect(t, one, "tc qdisc show dev nope", result{"", "Cannot find device \"nope\"\n", 1})
	expect(t, one, "tc qdisc add dev ens1f0np0 root netem loss 1%", result{"", "tc: not simulated in the lab: tc qdisc add dev ens1f0np0 root netem loss 1%\n", 255})
	if got := local(t, one, "weft", "/usr/sbin/tc qdisc add dev ens1f0np0 clsact"); got.status != 2 || got.err != "RTNETLINK answers: Operation not permitted\n" {
		t.Errorf("%+v", got)
	}
}
