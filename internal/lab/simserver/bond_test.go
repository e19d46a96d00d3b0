//go:build unix

package simserver

import (
	"strings"
	"testing"
)

// A bond takes interfaces that are off; all have its address then, and their own again when
// it is gone.
func TestBond(t *testing.T) {
	s := server(t, network(t), spec(t, "s"))
	const a, b = "ens1f0np0", "ens1f1np1"
	own := func(name string) string {
		i, _ := s.iface(name)
		return i.MAC
	}
	macA, macB := own(a), own(b)
	for _, c := range []struct {
		line string
		want result
	}{
		{"ip link add bond0 type bond mode 802.3ad; cat /sys/class/net/bond0/bonding/mode /sys/class/net/bond0/operstate", result{"802.3ad 4\ndown\n", "", 0}},
		{"ip link add bond0 type bond", result{"", "RTNETLINK answers: File exists\n", 2}},
		{"ip link add bond1 type bond mode fastest", result{"", "Error: argument \"fastest\" is wrong: invalid mode\n\n", 255}},
		{"ip link add br0 type bridge", result{"", "ip: not simulated in the lab: ip link add br0 type bridge\n", 255}},
		{"ip link set " + a + " master bond0", result{"", "Error: Device can not be enslaved while up.\n", 2}},
		{"ip link set " + a + " master bond9", result{"", "Error: argument \"bond9\" is wrong: Device does not exist\n\n", 255}},
		{"ip link set bond0 mtu 9000", result{}},
		{"ip link set " + a + " down && ip link set " + a + " master bond0", result{}},
		{"ip link set " + b + " down && ip link set " + b + " master bond0 && ip link set bond0 up", result{}},
		{"cat /sys/class/net/bond0/bonding/slaves /sys/class/net/bond0/operstate /sys/class/net/bond0/address /sys/class/net/" + b + "/address /sys/class/net/" + b + "/bonding_slave/perm_hwaddr /sys/class/net/" + b + "/mtu",
			result{a + " " + b + "\nup\n" + macA + "\n" + macA + "\n" + macB + "\n9000\n", "", 0}},
		{"ip addr add 10.1.0.1/24 dev bond0; ethtool -i bond0", result{"", "ethtool: not simulated in the lab: ethtool -i bond0\n", 1}},
		{"ip link set bond0 mtu 4000; cat /sys/class/net/" + a + "/mtu", result{"4000\n", "", 0}},
		{"ip link set bond0 master bond0; ip link set " + a + " nomaster; cat /sys/class/net/" + a + "/address /sys/class/net/" + a + "/operstate", result{macA + "\ndown\n", "ip: not simulated in the lab: ip link set bond0 master bond0\n", 0}},
		{"ip link delete " + b, result{"", "RTNETLINK answers: Operation not supported\n", 2}},
	} {
		expect(t, s, c.line, c.want)
	}
	got := local(t, s, "root", "ip -j -d addr show")
	for _, want := range []string{`"ifname":"bond0","flags":["BROADCAST","MULTICAST","MASTER","UP","LOWER_UP"]`, `"linkinfo":{"info_kind":"bond","info_data":{"mode":"802.3ad"}}`,
		`"flags":["BROADCAST","MULTICAST","SLAVE","UP","LOWER_UP"],"mtu":4000,"qdisc":"mq","master":"bond0"`, `"perm_hwaddr":"` + macB + `"`, `"local":"10.1.0.1"`} {
		if !strings.Contains(got.out, want) {
			t.Errorf("ip -j -d addr show lacks %s: %s", want, got.out)
		}
	}
	if got := local(t, s, "weft", "ip link delete bond0"); got.status != 2 {
		t.Errorf("without root: %+v", got)
	}
	expect(t, s, "ip link delete bond0; cat /sys/class/net/"+b+"/address; ls /sys/class/net", result{macB + "\neno1\n" + a + "\n" + b + "\nlo\n", "", 0})
}
