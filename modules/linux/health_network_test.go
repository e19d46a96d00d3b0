package linux

import (
	"reflect"
	"testing"

	"weft/modules/host"
)

// SYNTHETIC, in the layouts of libnftables-json(5), nmcli(1), lvs(8) and setpci(8).
const reachText = `/sys/kernel/config/nvmet/subsystems/nqn.x:a/allowed_hosts/nqn.h:1:
/sys/kernel/config/nvmet/subsystems/nqn.x:a/allowed_hosts/nqn.h:2:
/sys/kernel/config/nvmet/ports/1/addr_trtype:tcp
/sys/kernel/config/nvmet/ports/1/addr_trsvcid:4420
/sys/kernel/config/nvmet/ports/2/addr_trtype:rdma
/sys/kernel/config/nvmet/ports/2/addr_trsvcid:4421
/sys/kernel/debug/nvmet:
/sys/kernel/debug/nvmet/nqn.x:a/ctrl1/hostnqn:nqn.h:1
/sys/kernel/debug/nvmet/nqn.x:a/ctrl2/hostnqn:nqn.h:1
/proc/driver/nvidia/version:NVRM version: x
= neigh
[{"dst":"10.40.1.11","dev":"ens1","lladdr":"02:00:00:00:00:01","state":["REACHABLE"]},{"dst":"10.40.1.12","dev":"ens1","state":["FAILED"]}]
= nft
{"nftables":[{"metainfo":{"version":"1.1.3"}},{"chain":{"family":"inet","table":"f","name":"in","hook":"input","prio":0,"policy":"drop"}},
{"rule":{"expr":[{"match":{"op":"in","left":{"ct":{"key":"state"}},"right":["established","related"]}},{"accept":null}]}},
{"rule":{"expr":[{"match":{"op":"==","left":{"meta":{"key":"iifname"}},"right":"lo"}},{"accept":null}]}},
{"rule":{"expr":[{"match":{"op":"==","left":{"payload":{"protocol":"tcp","field":"dport"}},"right":{"set":[22,{"range":[4420,4421]}]}}},{"accept":null}]}},
{"rule":{"expr":[{"match":{"op":"==","left":{"payload":{"protocol":"udp","field":"dport"}},"right":4791}},{"counter":{"packets":9,"bytes":90}},{"drop":null}]}}]}
= keepers
networkd active
manager active
ens1:connected
eno1:connected (externally)
lo:unmanaged
ignore-carrier=interface-name:eno1
= ens2 networkd
/etc/systemd/network/ens2.network
ConfigureWithoutCarrier=yes
IgnoreCarrierLoss=no
= ens3 networkd
/etc/systemd/network/ens3.network
ConfigureWithoutCarrier=yes
= rocetos
/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos:104
= thin
{"report":[{"lv":[{"vg_name":"vg","lv_name":"pool","data_percent":"81.50","metadata_percent":"10.00"},{"vg_name":"vg","lv_name":"no","data_percent":"","metadata_percent":""}]}],"log":[]}
= hooks
nvme_rdma_v1_register_nvfs_dma_ops
nvme_rdma_v1_register_nvfs_dma_ops
.
= 0000:10:01.0 acs
001d
= 0000:10:02.0 acs
setpci: 0000:10:02.0: Instance #0 of Extended Capability 000d not found - there are no capabilities with that id.
= 0000:10:03.0 acs
setpci: cannot open
`

func TestParseHealthOfReach(t *testing.T) {
	h := parseHealth([]byte(reachText))
	if len(h.Exports) != 1 || h.Firewall == nil || h.GPUs == nil {
		t.Fatalf("%+v", h)
	}
	for what, pair := range map[string][2]any{
		"allowed":   {h.Exports[0].Allowed, []string{"nqn.h:1", "nqn.h:2"}},
		"connected": {h.Exports[0].Connected, []string{"nqn.h:1"}},
		"sessions":  {h.Sessions, true},
		"listens":   {h.Listens, []string{"rdma 4421", "tcp 4420"}},
		"met":       {h.Met, map[string]string{"10.40.1.11": "02:00:00:00:00:01"}},
		"firewall": {*h.Firewall, host.Firewall{Closed: true, Rules: []host.FirewallRule{{Protocol: "tcp", Low: 22, High: 22, Accepts: true},
			{Protocol: "tcp", Low: 4420, High: 4421, Accepts: true}, {Protocol: "udp", Low: 4791, High: 4791, Packets: 9}}}},
		"keepers": {h.Keepers, map[string]host.Keeper{"ens1": {Name: "NetworkManager"}, "eno1": {Name: "NetworkManager", Keeps: true},
			"ens2": {Name: "systemd-networkd"}, "ens3": {Name: "systemd-networkd", Keeps: true}}},
		"tos":   {h.RoCEToS, map[string]string{"mlx5_0": "104"}},
		"thin":  {h.Thin, []host.ThinPool{{Name: "vg/pool", Data: 81.5, Metadata: 10}}},
		"hooks": {h.GPUs.Hooks, []string{"nvme_rdma_v1_register_nvfs_dma_ops"}},
		"acs":   {h.GPUs.ACS, map[string]string{"0000:10:01.0": "001d", "0000:10:02.0": ""}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s is %+v, want %+v", what, pair[0], pair[1])
		}
	}
}

// Rules that are not about ports, and answers of tools that are not there, stand for
// nothing good.
func TestParseHealthOfReachUnknown(t *testing.T) {
	h := parseHealth([]byte("= neigh\nsh: ip: not found\n= nft\nOperation not permitted (you must be root)\n= keepers\nnetworkd sh: systemctl: not found\nmanager sh: systemctl: not found\n= rocetos\n= thin\n\n"))
	if h.Met != nil || h.Firewall != nil || h.Keepers != nil || h.RoCEToS != nil || h.Thin != nil || h.Sessions {
		t.Errorf("%+v", h)
	}
	for name, rule := range map[string]string{
		"another address": `{"match":{"op":"==","left":{"payload":{"protocol":"ip","field":"saddr"}},"right":"10.0.0.1"}},{"accept":null}`,
		"a jump":          `{"jump":{"target":"x"}}`,
		"iptables":        `{"xt":null}`,
	} {
		f := firewall(`{"nftables":[{"rule":{"expr":[` + rule + `]}}]}`)
		if f == nil || !f.Vague || f.Closed || f.Rules != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
