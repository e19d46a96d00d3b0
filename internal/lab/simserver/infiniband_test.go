//go:build unix

package simserver

import (
	"regexp"
	"strings"
	"testing"
)

// A port of InfiniBand is what its subnet manager makes of it; its IP interface
// has longer addresses and smaller packets than one of Ethernet.
func TestInfiniBand(t *testing.T) {
	sp := spec(t, "s")
	sp.Interfaces[1].Fabric = "infiniband"
	s := server(t, network(t), sp)
	const port = "/sys/class/infiniband/ibp65s0f0/ports/1/"
	files := "cd " + port + "; cat state phys_state link_layer sm_lid pkeys/0 pkeys/1"
	for _, c := range []struct {
		line string
		want result
	}{
		{files, result{"4: ACTIVE\n5: LinkUp\nInfiniBand\n0x1\n0xffff\n0x0000\n", "", 0}},
		{"grep -sHv '^0x0000' " + port + "pkeys/*", result{port + "pkeys/0:0xffff\n", "", 0}},
		{"cat " + port + "gid_attrs/ndevs/0", result{"", "cat: " + port + "gid_attrs/ndevs/0: No such file or directory\n", 1}},
		{"cd /sys/class/net/ibs1f0; cat mode pkey type addr_len mtu carrier", result{"datagram\n0xffff\n32\n20\n2044\n1\n", "", 0}},
		{"ip link set dev ibs1f0 mtu 4092 && cat /sys/class/net/ibs1f0/mtu", result{"4092\n", "", 0}},
		{"ip link set dev ibs1f0 mtu 9000", result{"", "RTNETLINK answers: Invalid argument\n", 2}},
		{"ip link set dev ibs1f0 mtu 65521", result{"", "Error: mtu greater than device maximum.\n", 2}},
		{"ip link set dev ibs1f0 down; cat " + port + "state; ip link set dev ibs1f0 up", result{"4: ACTIVE\n", "", 0}},
	} {
		expect(t, s, c.line, c.want)
	}
	gid := strings.TrimSpace(local(t, s, "root", "cat "+port+"gids/0").out)
	if !regexp.MustCompile(`^fe80(:0{4}){3}(:[0-9a-f]{4}){4}$`).MatchString(gid) {
		t.Errorf("GID %q", gid)
	}
	address := strings.TrimSpace(local(t, s, "root", "cat /sys/class/net/ibs1f0/address").out)
	if strings.Count(address, ":") != 19 || strings.ReplaceAll(address, ":", "")[8:] != strings.ReplaceAll(gid, ":", "") {
		t.Errorf("address %q, GID %q", address, gid)
	}
	if got := local(t, s, "root", "ip -j link show dev ibs1f0"); !strings.Contains(got.out, `"link_type":"infiniband","address":"`+address+`"`) {
		t.Errorf("ip link: %+v", got)
	}

	s.Sweep(false)
	expect(t, s, files, result{"2: INIT\n5: LinkUp\nInfiniBand\n0x0\n0xffff\n0x0000\n", "", 0})
	expect(t, s, "cat /sys/class/net/ibs1f0/carrier "+port+"lid", result{"0\n0x0\n", "", 0})
	if got := local(t, s, "root", "rdma link show"); !strings.HasPrefix(got.out, "link ibp65s0f0/1 subnet_prefix fe80:0000:0000:0000 lid 0 sm_lid 0 lmc 0 state INIT physical_state LINK_UP \n") {
		t.Errorf("rdma link show: %+v", got)
	}
	expect(t, s, "cat /sys/class/net/ens1f1np1/carrier", result{"1\n", "", 0})
	s.Sweep(true)
	expect(t, s, files, result{"4: ACTIVE\n5: LinkUp\nInfiniBand\n0x1\n0xffff\n0x0000\n", "", 0})
}
