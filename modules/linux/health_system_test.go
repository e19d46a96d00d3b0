package linux

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/modules/host"
)

// What a machine with all of it answers, SYNTHETIC in the layouts of the kernel's files,
// of iproute2, nvme-cli and lnetctl.
const systemText = `/sys/bus/pci/devices/0000:41:00.0/uevent:DRIVER=mlx5_core
/sys/bus/pci/devices/0000:41:00.0/vendor:0x15b3
/sys/bus/pci/devices/0000:41:00.0/device:0x1021
/sys/bus/pci/devices/0000:41:00.0/net/ens1/address:02:00:00:00:00:01
/sys/bus/pci/devices/0000:41:00.0/net/ens1/bonding_slave/perm_hwaddr:02:00:00:00:00:09
/sys/bus/pci/devices/0000:41:00.0/infiniband/mlx5_0/node_type:1: CA
/sys/bus/pci/devices/0000:41:00.0/infiniband/mlx5_0/ports/1/link_layer:Ethernet
/sys/devices/system/cpu/vulnerabilities/meltdown:Mitigation: PTI
/sys/devices/system/cpu/smt/active:1
/sys/devices/system/cpu/cpu0/cpuidle/state0/name:POLL
/sys/devices/system/cpu/cpu0/cpuidle/state0/latency:0
/sys/devices/system/cpu/cpu0/cpuidle/state0/disable:0
/sys/devices/system/cpu/cpu0/cpuidle/state1/name:C6
/sys/devices/system/cpu/cpu0/cpuidle/state1/latency:133
/sys/devices/system/cpu/cpu0/cpuidle/state1/disable:1
/sys/kernel/security/lockdown:none [integrity] confidentiality
/sys/module/mlx5_core/version:24.10-1.1.4
/sys/module/ko2iblnd/parameters/tos:-1
/sys/module/nvidia_fs/parameters/rw_stats_enabled:0
/proc/driver/nvidia/version:NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15
/proc/driver/nvidia-fs/version:version: 2.24
/proc/fs/nfsd/portlist:rdma 20049
/proc/fs/nfsd/portlist:tcp 2049
/sys/kernel/config/nvmet/subsystems/nqn.2014-08.org.x:a/attr_allow_any_host:1
/sys/kernel/config/nvmet/subsystems/nqn.2014-08.org.x:a/attr_cntlid_min:1
/sys/kernel/config/nvmet/subsystems/nqn.2014-08.org.x:a/attr_cntlid_max:100
/sys/kernel/config/nvmet/subsystems/nqn.2014-08.org.x:a/namespaces/1/device_path:/dev/nvme0n1
/sys/kernel/config/nvmet/subsystems/nqn.2014-08.org.x:a/namespaces/1/enable:1
/sys/class/infiniband/mlx5_0/ports/1/gids/3:0000:0000:0000:0000:0000:ffff:0a28:0115
/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3:RoCE v2
/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:2
/proc/stat:cpu  100 0 50 800 10 0 5 35 0 0
/proc/mounts:10.40.1.11:/srv /mnt nfs4 rw,proto=tcp,port=2049 0 0
/proc/self/mountstats:	xprt:	rdma 0 0 3 0 0 80 80 0
/sys/bus/pci/devices/0000:41:00.0/link/l1_aspm:1
/sys/bus/pci/devices/0000:41:00.0/local_cpulist:0-3
/sys/class/nvme/nvme0/transport:pcie
/sys/class/nvme/nvme0/hwmon3/temp1_input:41000
= exported
rdma 10.40.1.11 4420
tcp fd00::11 4420
= listens
link rxe0/- cm-idn 0 state LISTEN ps TCP comm [rpcrdma] src-addr 0.0.0.0:20049
link rxe0/- cm-idn 1 state LISTEN ps TCP comm [rpcrdma] src-addr :::20049
link rxe0/1 cm-idn 2 state CONNECT ps TCP comm [nvme_rdma] src-addr 10.40.1.11:4420 dst-addr 10.40.1.21:4420
rc 0
= mirrored
nqn.2026-11.net.example:a
= agents
weft-target Max locked memory         8388608              8388608              bytes      CapEff:	000001ffffffffff
weft-initiator Max locked memory         unlimited            unlimited            bytes      CapEff:	0000000000000000
weft-initiator
= 0000:41:00.0 path
/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0
= 0000:41:00.0 above
/sys/devices/pci0000:40/0000:40:01.0/current_link_speed:8.0 GT/s PCIe
/sys/devices/pci0000:40/0000:40:01.0/current_link_width:8
/sys/devices/pci0000:40/0000:40:01.0/max_link_speed:32.0 GT/s PCIe
/sys/devices/pci0000:40/0000:40:01.0/max_link_width:16
= 0000:41:00.0 irqs
/proc/irq/120/effective_affinity_list:1
/proc/irq/121/effective_affinity_list:9
= 0000:41:00.0 config
 b3 15 21 10 06 04 10 00 00 00 07 02 08 00 00 00
 0c 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
 00 00 00 00 00 00 00 00 00 00 00 00 b3 15 05 00
 00 00 00 00 60 00 00 00 00 00 00 00 ff 01 00 00
 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
 10 00 02 00 e2 8f 00 10 5f 59 00 00 03 f1 43 00
= 0000:81:00.0 gpu
/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0
= nvme0 smart
{"critical_warning":0,"percent_used":3,"media_errors":"2"}
= df
Filesystem     1024-blocks     Used Available Capacity Mounted on
/dev/vda1         10000000  9600000    400000      96% /
= units
active
inactive
= links
[{"ifname":"lo","mtu":65536,"addr_info":[{"local":"127.0.0.1","prefixlen":8}]},{"ifname":"ens1","mtu":1500,"addr_info":[{"local":"10.40.1.21","prefixlen":24}]},{"ifname":"ens1.100","link":"ens1","mtu":9000,"linkinfo":{"info_kind":"vlan"},"addr_info":[]},{"ifname":"ens2","master":"bond0","mtu":1500,"linkinfo":{"info_slave_kind":"bond"}},{"ifname":"ens3","master":"br0","mtu":1500,"linkinfo":{"info_slave_kind":"bridge"}}]
= rules
[{"priority":0},{"priority":32766},{"priority":32767}]
= cufile
{
  // "allow_compat_mode": false,
    "properties": {
        "allow_compat_mode": true,
        "rdma_dev_addr_list": [ "10.40.1.21", "10.40.2.21" ]
    }
}
= p2pdma
/boot/config-6.14:CONFIG_PCI_P2PDMA=y
= lnet
net:
    - net type: o2ib
      local NI(s):
        - nid: 10.40.1.21@o2ib
          status: down
          health stats:
              health value: 900
              timeouts: 7
          tunables:
              peer_credits: 32
= lfs
x-MDT0000-mdc-ffff88003bfbd000 active.
x-OST0001-osc-ffff88003bfbd000 inactive.
= weka
{"status":"OK","io_status":"STARTED","time":{"allowed_clock_skew_secs":60}}
= ens1 fec
FEC parameters for ens1:
Active FEC encoding: RS
Statistics:
  corrected_blocks: 100
  uncorrectable_blocks: 5
= ens1 dcbx
{"host":true,"ieee":true}
= ens1 flags
Private flags for ens1:
fw-lldp-agent: on
= ens1 ets
{"willing":false,"prio_tc":[0,0,0,3,0,0,0,0],"tc_tsa":["ets","ets","ets","ets","ets","ets","ets","ets"],"tc_bw":[50,0,0,50,0,0,0,0]}
`

func TestParseHealthOfSystem(t *testing.T) {
	h := parseHealth([]byte(systemText))
	if len(h.NICs) != 1 || h.GPUs == nil || h.LNet == nil || len(h.Exports) != 1 || len(h.Netdevs) != 5 || h.Rules == nil {
		t.Fatalf("%+v", h)
	}
	n, g, e := h.NICs[0], h.GPUs, h.Exports[0]
	for what, pair := range map[string][2]any{
		"flaws":      {h.Flaws, map[string]string{"meltdown": "Mitigation: PTI", "active": "1"}},
		"idle":       {h.Idle, []host.IdleState{{Name: "POLL"}, {Name: "C6", Latency: 133, Off: true}}},
		"lockdown":   {h.Lockdown, "none [integrity] confidentiality"},
		"versions":   {h.Versions, map[string]string{"mlx5_core": "24.10-1.1.4"}},
		"lnet tos":   {h.LNetToS, "-1"},
		"gpu":        {strings.Contains(g.Driver, "Open Kernel Module") && g.FS != "" && g.Counts == "0" && *g.Peering, true},
		"gpu path":   {g.Paths, map[string]string{"0000:81:00.0": "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0"}},
		"cufile":     {g.Config, map[string]string{"allow_compat_mode": "true"}},
		"list":       {g.Lists["rdma_dev_addr_list"], []string{"10.40.1.21", "10.40.2.21"}},
		"nfs":        {h.NFSPorts, []string{"rdma 20049", "tcp 2049"}},
		"nfs rdma":   {h.NFSRDMA, []int{3}},
		"mount":      {h.Mounts, []host.Mount{{Device: "10.40.1.11:/srv", Dir: "/mnt", Type: "nfs4", Options: "rw,proto=tcp,port=2049"}}},
		"export":     {e.NQN + " " + e.AnyHost + " " + e.CntlidMin + "-" + e.CntlidMax + " " + e.Namespaces[0].Values["device_path"], "nqn.2014-08.org.x:a 1 1-100 /dev/nvme0n1"},
		"gids":       {len(n.GIDs) == 1 && n.GIDs[0].Type == "RoCE v2" && n.GIDs[0].Address.Unmap().String() == "10.40.1.21", true},
		"downed":     {n.Count["link_downed"], uint64(2)},
		"ticks":      {*h.Ticks, host.Ticks{Stolen: 35, All: 1000}},
		"aspm":       {n.ASPM, "1"},
		"path":       {n.Path, "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0"},
		"above":      {n.Above, []host.Bridge{{Now: host.Lanes{Speed: 8, Width: 8}, Max: host.Lanes{Speed: 32, Width: 16}}}},
		"interrupts": {*n.Vector, host.Vectors{All: 2, Off: 1, Node: "0-3"}},
		"requests":   {n.Read, 4096},
		"smart":      {*h.Controllers[0].Smart, host.Smart{Used: 3, Errors: 2}},
		"hot":        {h.Controllers[0].Values["hwmon3/temp1_input"], "41000"},
		"full":       {h.Full, map[string]int{"/": 96}},
		"units":      {h.Units, map[string]string{"lldpad": "active", "nvmet": "inactive"}},
		"vlan":       {h.Netdevs[2].Below + " " + h.Netdevs[2].Kind, "ens1 vlan"},
		"bond":       {h.Netdevs[3].Bond + " " + h.Netdevs[4].Bond + n.Permanent, "bond0 02:00:00:00:00:09"},
		"rules":      {*h.Rules, 3},
		"exported":   {h.Exported, []string{"rdma 10.40.1.11:4420", "tcp [fd00::11]:4420"}},
		"listens":    {h.CMListens, []string{"0.0.0.0:20049", "[::]:20049"}},
		"mirrored":   {h.Mirrored, []string{"nqn.2026-11.net.example:a"}},
		"agents":     {h.Agents, []host.AgentLimits{{Name: "weft-target", Lock: "8388608", Free: true}, {Name: "weft-initiator", Lock: "unlimited"}, {Name: "weft-initiator"}}},
		"ni":         {h.LNet.NIs, []host.LNetNI{{Net: "o2ib", NID: "10.40.1.21@o2ib", Status: "down", Health: 900, Credits: 32, Timeouts: 7}}},
		"lustre":     {h.Lustre, map[string]string{"x-MDT0000-mdc-ffff88003bfbd000": "active", "x-OST0001-osc-ffff88003bfbd000": "inactive"}},
		"weka":       {h.Weka, map[string]string{"status": "OK", "io_status": "STARTED", "skew": "60"}},
		"fec":        {*n.Lost, uint64(5)},
		"dcbx":       {*n.DCBX, host.DCBX{Host: true, IEEE: true}},
		"flags":      {n.Flags, map[string]string{"fw-lldp-agent": "on"}},
		"classes":    {*n.Classes, [8]int{3: 3}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
}

// Recorded output of file systems and of GPUs is understood.
func TestTranscriptsOfFileSystems(t *testing.T) {
	read := func(pattern string) string {
		names, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "transcripts", filepath.FromSlash(pattern)))
		if len(names) == 0 {
			require.Missing(t, require.Transcripts, "missing transcript: %s", pattern)
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if n := lnet(read("fs/lnetctl_net_show_-v_4*")); n == nil || len(n.NIs) != 1 || n.NIs[0].Health != 1000 || n.NIs[0].Credits != 32 {
		t.Errorf("%+v", n)
	}
	if n := lnet(read("fs/lnetctl_net_show_down*")); n == nil || !strings.Contains(n.Down, "-100") {
		t.Errorf("%+v", n)
	}
	if l := lustre(read("fs/lfs_check_servers*")); len(l) < 3 {
		t.Errorf("%v", l)
	}
	if w := weka(read("fs/weka_status_--json*")); w["status"] == "" || w["io_status"] == "" {
		t.Errorf("%v", w)
	}
}

// The script runs in a real shell, and what a real machine says is understood.
func TestHealthScriptHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not on Linux")
	}
	look := healthLook()
	out, err := exec.Command(look.Args[0], look.Args[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	h := parseHealth(out)
	if h.Uptime == 0 || h.Clock == nil || h.Ticks == nil || h.Ticks.All == 0 || h.Facts.Kernel == "" {
		t.Errorf("%+v", h)
	}
	if _, err := exec.LookPath("df"); err == nil && h.Full["/"] == 0 && h.Full == nil {
		t.Errorf("df was not understood: %v", h.Full)
	}
	if _, err := exec.LookPath("ip"); err == nil && h.Netdevs == nil {
		t.Error("ip was not understood")
	}
}
