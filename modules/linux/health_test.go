package linux

import (
	"reflect"
	"testing"
	"time"
)

// What a machine answers, SYNTHETIC in the layout of sysfs, dcb and ethtool: one NIC that
// tells all, one whose tools fail.
const healthText = `/sys/bus/pci/devices/0000:41:00.0/uevent:DRIVER=mlx5_core
/sys/bus/pci/devices/0000:41:00.0/vendor:0x15b3
/sys/bus/pci/devices/0000:41:00.0/device:0x1021
/sys/bus/pci/devices/0000:41:00.0/net/ens1/address:02:00:00:00:00:01
/sys/bus/pci/devices/0000:41:00.0/net/ens1/mtu:9000
/sys/bus/pci/devices/0000:42:00.0/vendor:0x8086
/sys/bus/pci/devices/0000:42:00.0/net/ens2/address:02:00:00:00:00:02
/sys/bus/pci/devices/0000:41:00.0/net/ens1/carrier_changes:7
/sys/bus/pci/devices/0000:41:00.0/aer_dev_nonfatal:Undefined 1
/sys/bus/pci/devices/0000:41:00.0/aer_dev_nonfatal:TOTAL_ERR_NONFATAL 3
/proc/cmdline:ro iommu=pt
/proc/uptime:3600.50 7000.00
/proc/swaps:Filename				Type		Size		Used		Priority
/proc/swaps:/dev/vda2                               partition	1048572		512		-2
/proc/sys/kernel/hostname:st1
/proc/sys/net/ipv4/conf/ens1/rp_filter:1
/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor:powersave
/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor:powersave
/sys/devices/system/edac/mc/mc0/ue_count:0
/sys/devices/system/edac/mc/mc1/ue_count:2
/sys/module/nvme_core/parameters/multipath:Y
/sys/module/nvme_tcp/initstate:live
/sys/class/nvme-subsystem/nvme-subsys1/subsysnqn:nqn.x:a
/sys/class/nvme-subsystem/nvme-subsys1/iopolicy:numa
/sys/class/nvme/nvme1/transport:rdma
/sys/class/nvme/nvme1/address:traddr=10.0.0.1,trsvcid=4420
/sys/class/nvme/nvme1/state:live
/sys/class/nvme/nvme1/ctrl_loss_tmo:600
= clock
1790000000.500000000
= ens1 pfc
{"pfc_cap":8,"prio_pfc":[false,false,false,true,false,false,false,false]}
= ens1 app
{"dscp_prio":[[26,3],[48,6]]}
= ens1 ets
{"willing":false,"tc_tsa":["ets","strict","ets","ets","ets","ets","ets","ets"],"tc_bw":[50,0,0,50,0,0,0,0]}
= ens1 pause
Pause parameters for ens1:
Autonegotiate:	off
RX:		on
TX:		off
= ens1 fec
FEC parameters for ens1:
Active FEC encoding: RS
= ens1 count
NIC statistics:
     rx_crc_errors_phy: 4
= ens1 optics
	Vendor PN                                 : Q28-SR4
	Rcvr signal avg optical power(Channel 1)  : 0.0100 mW / -20.00 dBm
	Laser rx power low alarm   (Channel 1)    : On
	Rx power low alarm : On
	Rx power high alarm : Off
= ens2 pfc
sh: dcb: not found
= ens2 fec
netlink error: Operation not supported
`

func TestParseHealth(t *testing.T) {
	h := parseHealth([]byte(healthText))
	if len(h.NICs) != 2 || len(h.Controllers) != 1 || len(h.Subsystems) != 1 {
		t.Fatalf("%+v", h)
	}
	one, two := h.NICs[0], h.NICs[1]
	for what, pair := range map[string][2]any{
		"uptime":   {h.Uptime, 3600500 * time.Millisecond},
		"clock":    {h.Clock.UnixMilli(), int64(1790000000500)},
		"name":     {h.Name, "st1"},
		"kernel":   {*h.Cmdline, "ro iommu=pt"},
		"swap":     {*h.Swaps, 512},
		"governor": {h.Governors, []string{"powersave"}},
		"memory":   {*h.MemoryErrs, 2},
		"modules":  {h.Modules, map[string]int{"nvme_tcp": 1}},
		"sysctl":   {h.Sysctls["net/ipv4/conf/ens1/rp_filter"], 1},
		"paths":    {h.Multipath + " " + h.Subsystems[0].Policy + " " + h.Controllers[0].State + " " + h.Controllers[0].Values["ctrl_loss_tmo"], "Y numa live 600"},
		"address":  {h.Controllers[0].Address, "traddr=10.0.0.1,trsvcid=4420"},
		"flaps":    {*one.Flaps, 7},
		"aer":      {one.AER, map[string]uint64{"nonfatal": 3}},
		"pfc":      {one.PFC, []int{3}},
		"dscp":     {one.DSCP, map[int]int{26: 3, 48: 6}},
		"ets":      {[8]int(*one.ETS), [8]int{50, -1, 0, 50, 0, 0, 0, 0}},
		"pause":    {one.Pause.RX && !one.Pause.TX, true},
		"fec":      {one.FEC, "RS"},
		"count":    {one.Count["rx_crc_errors_phy"], uint64(4)},
		"optics":   {one.Optics.Model, "Q28-SR4"},
		"alarms":   {one.Optics.Alarms, []string{"Laser rx power low alarm   (Channel 1)", "Rx power low alarm"}},
		"power":    {*one.Optics.RxDBm, -20.0},
		"silent":   {two.PFC == nil && two.FEC == "" && two.Optics == nil && two.Pause == nil, true},
		"why":      {two.Silent["pfc"], "sh: dcb: not found"},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
}

func FuzzParseHealth(f *testing.F) {
	f.Add([]byte(healthText))
	f.Add([]byte(systemText))
	f.Fuzz(func(_ *testing.T, text []byte) { parseHealth(text) })
}
