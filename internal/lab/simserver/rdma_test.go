//go:build unix

package simserver

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// The devices of cards and those in software come, go and follow their
// interfaces.
func TestRDMALinks(t *testing.T) {
	sp := spec(t, "s")
	sp.Interfaces[2].NoRDMA = true
	s := server(t, network(t), sp)
	card := "link rocep65s0f0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0 \n"
	soft := "link rxe_p1/1 state ACTIVE physical_state LINK_UP netdev ens1f1np1 \n"
	for _, c := range []struct {
		line string
		want result
	}{
		{"rdma link show", result{card, "", 0}},
		{"rdma -j link show", result{`[{"ifindex":0,"ifname":"rocep65s0f0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"ens1f0np0","netdev_index":3}]` + "\n", "", 0}},
		{"ls /sys/bus/pci/devices/0000:41:00.0/infiniband /sys/class/infiniband", result{"/sys/bus/pci/devices/0000:41:00.0/infiniband:\nrocep65s0f0\n\n/sys/class/infiniband:\nrocep65s0f0\n", "", 0}},
		{"readlink /sys/class/net/ens1f1np1/device/driver", result{"../../../bus/pci/drivers/ixgbe\n", "", 0}},
		{"ip link set dev ens1f0np0 down && rdma link show", result{"link rocep65s0f0/1 state DOWN physical_state DISABLED netdev ens1f0np0 \n", "", 0}},
		{"ip link set dev ens1f0np0 up && rdma link add rxe_p1 type rxe netdev ens1f1np1 && rdma link show", result{card + soft, "", 0}},
		{"rdma link add rxe_p1 type rxe netdev ens1f0np0", result{"", "error: File exists\n", 1}},
		{"rdma link add other type rxe netdev ens1f1np1", result{"", "error: File exists\n", 1}},
		{"rdma link add other type efa netdev ens1f1np1", result{"", "error: Invalid argument\n", 1}},
		{"rdma link add other type siw netdev nope", result{"", "error: No such device\n", 1}},
		{"rdma link delete rocep65s0f0", result{"", "error: Operation not supported\n", 1}},
		{"rdma link delete nope", result{"", "Wrong device name\n", 1}},
		{"rdma link delete rxe_p1 && rdma link show", result{card, "", 0}},
		{"modprobe -r mlx5_ib && rdma -j link show", result{"[]\n", "", 0}},
		{"rdma statistic show", result{"", "rdma: not simulated in the lab: rdma statistic show\n", 1}},
	} {
		expect(t, s, c.line, c.want)
	}
	if got := local(t, s, "weft", "/usr/bin/rdma link add a type rxe netdev ens1f1np1"); got.status != 1 || got.err != "error: Operation not permitted\n" {
		t.Errorf("without root: %+v", got)
	}
	expect(t, s, "rdma link add rxe_p1 type rxe netdev ens1f1np1", result{})
	s.Reboot()
	expect(t, s, "rdma link show", result{card, "", 0})
}

// Who uses a device is what the kernel connects and exports over it.
func TestRDMAUsers(t *testing.T) {
	n := network(t)
	a, b := spec(t, "a"), spec(t, "b")
	for i, sp := range []*Spec{&a, &b} {
		for k := range sp.Interfaces[1:] {
			sp.Interfaces[k+1].NoRDMA = true
			sp.Interfaces[k+1].Address = netip.MustParsePrefix(fmt.Sprintf("10.9.%d.%d/24", k, i+1))
		}
	}
	target, host := server(t, n, a), server(t, n, b)
	users := func(s *Server, device, want string) {
		t.Helper()
		expect(t, s, "rdma resource show pd dev "+device+" && rdma resource show cm_id link "+device+"/1 state LISTEN", result{want, "", 0})
	}
	const own = "dev rxe_0 pdn 0 local_dma_lkey 0x0 users 1 comm [ib_core] \n"
	refusals{
		{"rdma link add rxe_0 type rxe netdev ens1f0np0 && rdma link add rxe_1 type siw netdev ens1f1np1", ""},
		{"modprobe nvmet-rdma && cd /sys/kernel/config/nvmet && mkdir hosts/h1 subsystems/s ports/1", ""},
		{"cd /sys/kernel/config/nvmet && for v in trtype=rdma adrfam=ipv4 traddr=10.9.0.1 trsvcid=4420; do echo ${v#*=} >ports/1/addr_${v%=*}; done", ""},
		{"cd /sys/kernel/config/nvmet && ln -s /sys/kernel/config/nvmet/hosts/h1 subsystems/s/allowed_hosts/h1", ""},
	}.check(t, target)
	users(target, "rxe_0", own)
	refusals{{"cd /sys/kernel/config/nvmet && ln -s /sys/kernel/config/nvmet/subsystems/s ports/1/subsystems/s", ""}}.check(t, target)
	refusals{
		{"rdma link add rxe_0 type rxe netdev ens1f0np0 && modprobe nvme-rdma", ""},
		{"printf transport=rdma,traddr=10.9.0.1,nqn=s,hostnqn=h1,hostid=1,nr_io_queues=4 | tee /dev/nvme-fabrics >/dev/null", ""},
	}.check(t, host)
	const listens = "link rxe_0/1 cm-idn 0 state LISTEN ps TCP comm [nvmet_rdma] src-addr 10.9.0.1:4420 dst-addr 0.0.0.0:0 \n"
	users(target, "rxe_0", own+"dev rxe_0 pdn 1 local_dma_lkey 0x0 users 5 comm [nvmet_rdma] \n"+listens)
	users(target, "rxe_1", "")
	users(host, "rxe_0", own+"dev rxe_0 pdn 1 local_dma_lkey 0x0 users 5 comm [nvme_rdma] \n")
	refusals{{"rm /sys/kernel/config/nvmet/ports/1/subsystems/s", ""}}.check(t, target)
	users(host, "rxe_0", own)
	users(target, "rxe_0", own)
	expect(t, host, "rdma resource show pd dev nope", result{"", "Wrong device name - nope\n", 1})
	expect(t, host, "rdma resource show cm_id link nope/1 state LISTEN", result{"", "Wrong device name\n", 1})
	expect(t, host, "rdma resource show qp", result{"", "rdma: not simulated in the lab: rdma resource show qp\n", 1})
}

// Each kind of card brings its own kind of device.
func TestRDMACards(t *testing.T) {
	sp := spec(t, "s")
	sp.Interfaces[1].Fabric, sp.Interfaces[2].Fabric = "iwarp", "infiniband"
	s := server(t, network(t), sp)
	links := local(t, s, "root", "rdma link show")
	if !regexp.MustCompile("^link iwp65s0f0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0 \nlink ibp65s0f1/1 subnet_prefix fe80:0000:0000:0000 lid [1-9][0-9]* sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP \n$").MatchString(links.out) {
		t.Errorf("rdma link show: %+v", links)
	}
	got := local(t, s, "root", "rdma dev show")
	if !strings.HasPrefix(got.out, "0: iwp65s0f0: node_type rnic fw ") || !strings.Contains(got.out, "\n1: ibp65s0f1: node_type ca fw ") {
		t.Errorf("rdma dev show: %+v", got)
	}
}

// configfs shows what the connection manager keeps once another process has made the
// directory; the values outlive it.
func TestConnectionManager(t *testing.T) {
	s := server(t, network(t), spec(t, "s"))
	const dir = "/sys/kernel/config/rdma_cm/rocep65s0f0"
	for _, c := range []struct {
		line string
		want result
	}{
		{"ls /sys/kernel/config/rdma_cm", result{}},
		{"mkdir " + dir + " && cat " + dir + "/ports/1/default_roce_mode " + dir + "/ports/1/default_roce_tos", result{"RoCE v2\n0\n", "", 0}},
		{"mkdir " + dir, result{"", "mkdir: cannot create directory '" + dir + "': File exists\n", 1}},
		{"mkdir -p " + dir, result{}},
		{"mkdir /sys/kernel/config/rdma_cm/nope", result{"", "mkdir: cannot create directory '/sys/kernel/config/rdma_cm/nope': No such device\n", 1}},
		{"mkdir /sys/kernel/nope", result{"", "mkdir: cannot create directory '/sys/kernel/nope': Operation not permitted\n", 1}},
		{"echo 104 >" + dir + "/ports/1/default_roce_tos; echo IB/RoCE v1 >" + dir + "/ports/1/default_roce_mode; rmdir " + dir, result{}},
		{"ls /sys/kernel/config/rdma_cm; mkdir " + dir + "; cat " + dir + "/ports/1/default_roce_mode " + dir + "/ports/1/default_roce_tos", result{"IB/RoCE v1\n104\n", "", 0}},
		{"rmdir " + dir + "/ports", result{"", "rmdir: failed to remove '" + dir + "/ports': Operation not permitted\n", 1}},
		{"modprobe -r mlx5_ib; echo 0 2>/dev/null >" + dir + "/ports/1/default_roce_tos; modprobe mlx5_ib; cat " + dir + "/ports/1/default_roce_tos", result{"104\n", "", 0}},
	} {
		expect(t, s, c.line, c.want)
	}
	for _, line := range []string{"echo 256 >" + dir + "/ports/1/default_roce_tos", "echo v3 >" + dir + "/ports/1/default_roce_mode", "echo x >/sys/class/net/ens1f0np0/mtu"} {
		if got := local(t, s, "root", line); got.status == 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if got := local(t, s, "weft", "echo 0 >"+dir+"/ports/1/default_roce_tos"); got.status == 0 {
		t.Errorf("without root: %+v", got)
	}
	s.Reboot()
	expect(t, s, "ls /sys/kernel/config/rdma_cm; mkdir "+dir+"; cat "+dir+"/ports/1/default_roce_tos", result{"0\n", "", 0})
}

// Congestion control stands in sysfs, as with MLNX_OFED, and is on at boot.
func TestECN(t *testing.T) {
	s := server(t, network(t), spec(t, "s"))
	const dir = "/sys/class/net/ens1f0np0/ecn"
	for _, c := range []struct {
		line string
		want result
	}{
		{"cd " + dir + "; cat roce_np/enable/3 roce_rp/enable/7 roce_np/cnp_dscp roce_np/cnp_802p_prio", result{"1\n1\n48\n6\n", "", 0}},
		{"cd " + dir + "; echo 0 >roce_rp/enable/3; echo 46 >roce_np/cnp_dscp; cat roce_np/enable/3 roce_rp/enable/3 roce_np/cnp_dscp", result{"1\n0\n46\n", "", 0}},
		{"cd " + dir + "; echo 2 >roce_rp/enable/3", result{"", "echo: write error: Invalid argument\n", 1}},
		{"cd " + dir + "; echo 64 >roce_np/cnp_dscp", result{"", "echo: write error: Invalid argument\n", 1}},
		{"ls /sys/class/net/eno1/ecn", result{"", "ls: cannot access '/sys/class/net/eno1/ecn': No such file or directory\n", 2}},
	} {
		expect(t, s, c.line, c.want)
	}
	s.Reboot()
	expect(t, s, "cat "+dir+"/roce_rp/enable/3", result{"1\n", "", 0})
}
