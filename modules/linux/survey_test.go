package linux

import (
	"fmt"
	"strings"
	"testing"

	"weft/modules/host"
)

func TestParseAddresses(t *testing.T) {
	have, of, err := parseAddresses([]byte(`[{"ifname":"ens2","master":"bond0","flags":["SLAVE","UP"]},{"ifname":"ens3","master":"br0","flags":["UP"]},{"ifname":"bond0","flags":["MASTER"],"addr_info":[{"local":"10.0.1.1","prefixlen":24}]},
		{"ifname":"lo","addr_info":[{"local":"127.0.0.1","prefixlen":8}]},
		{"ifname":"ens1","addr_info":[{"local":"10.0.0.1","prefixlen":24},{"local":"fe80::1","prefixlen":64},{"local":"fd00::1","prefixlen":64},{}]},{"addr_info":[{"local":"10.0.0.2","prefixlen":99}]}]`))
	if err != nil || fmt.Sprint(have) != "map[bond0:[10.0.1.1/24] ens1:[10.0.0.1/24 fd00::1/64] lo:[127.0.0.1/8]]" {
		t.Errorf("%v %v", have, err)
	}
	nics := []host.NICFacts{{Interface: "ens1"}, {Interface: "ens2"}, {Interface: "ens3"}}
	if got := fmt.Sprint(bundles(nics, have, of)); got != "[{bond0 true [ens2] [10.0.1.1/24]} {br0 false [ens3] []}]" {
		t.Errorf("bundles %s", got)
	}
	if _, _, err := parseAddresses([]byte("Object")); err == nil {
		t.Error("what is no JSON is an error")
	}
}

func TestParseNVMe(t *testing.T) {
	f := parseNVMe([]byte(`/sys/class/nvme/nvme0/subsysnqn:nqn.2014-08.org.nvmexpress:uuid:x
/sys/class/nvme/nvme0/transport:rdma
/sys/class/nvme/nvme0/address:traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.2
/sys/class/nvme/nvme1/subsysnqn:nqn.local
/sys/class/nvme/nvme1/transport:pcie
/sys/kernel/config/nvmet/ports/1/addr_trtype:tcp
/sys/kernel/config/nvmet/ports/1/addr_traddr:fd00::1
/sys/kernel/config/nvmet/ports/1/addr_trsvcid:4420
/sys/kernel/config/nvmet/subsystems/nqn.a:b
/sys/kernel/config/nvmet/subsystems/nqn.c
/sys/kernel/config/nvmet/ports/1/subsystems/nqn.a:b
no such line
/sys/class/nvme/nvme2/subsysnqn:nqn.1992-08.com.example:sn.aa:subsystem.s1
/sys/class/nvme/nvme2/transport:fc
/sys/class/nvme/nvme2/address:traddr=nn-0x202400a098000001:pn-0x202500a098000001,host_traddr=nn-0x200000109b000001:pn-0x100000109b000001
/sys/class/nvme/nvme2/cntrltype:io
/sys/class/nvme/nvme3/subsysnqn:nqn.2026-11.net.example:loop
/sys/class/nvme/nvme3/transport:loop
/sys/class/nvme/nvme3/address:
/sys/class/nvme/nvme4/subsysnqn:nqn.2014-08.org.nvmexpress.discovery
/sys/class/nvme/nvme4/transport:rdma
/sys/class/nvme/nvme4/address:traddr=10.0.0.1,trsvcid=4420
/sys/class/nvme/nvme5/subsysnqn:nqn.1992-08.com.example:sn.aa:discovery
/sys/class/nvme/nvme5/transport:tcp
/sys/class/nvme/nvme5/address:traddr=10.0.0.1,trsvcid=8009
/sys/class/nvme/nvme5/cntrltype:discovery
`))
	want := "{[{nqn.a:b [{tcp [fd00::1]:4420}]} {nqn.c []}] [{nqn.2014-08.org.nvmexpress:uuid:x {rdma 10.0.0.1:4420}} {nqn.1992-08.com.example:sn.aa:subsystem.s1 {fc nn-0x202400a098000001:pn-0x202500a098000001}} {nqn.2026-11.net.example:loop {loop }}]}"
	if got := fmt.Sprint(*f); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// In the layout of tests/integration/test_lldpcli.py of lldpd.
func TestParseHeard(t *testing.T) {
	heard, err := parseHeard([]byte(`{"lldp": [{"interface": [
		{"name": "eth0", "via": "LLDP", "rid": "1", "age": "0 day, 00:00:05",
		 "chassis": [{"id": [{"type": "mac", "value": "00:00:00:00:00:02"}], "name": [{"value": "ns-2.example.com"}], "descr": [{"value": "Linux"}],
		              "mgmt-ip": [{"value": "fe80::200:ff:fe00:2"}], "capability": [{"type": "Bridge", "enabled": false}]}],
		 "port": [{"id": [{"type": "mac", "value": "00:00:00:00:00:03"}], "descr": [{"value": "eth1"}], "ttl": [{"value": "120"}]}]},
		{"name": "eth0", "via": "LLDP", "chassis": [{"id": [{"type": "local", "value": "x"}]}], "port": [{"id": [{"type": "ifname", "value": "Ethernet1/1"}]}]},
		{"name": "eth1", "via": "CDPv2", "chassis": [{"name": [{"value": "old"}]}], "port": [{"id": [{"value": "Ethernet1/2"}]}]},
		{"name": "eth2", "via": "LLDP", "chassis": [{}]}]}]}`))
	want := "map[eth0:[{ns-2.example.com 00:00:00:00:00:02 00:00:00:00:00:03 eth1} { x Ethernet1/1 }] eth2:[{   }]]" // somebody, who does not say who
	if got := fmt.Sprint(heard); got != want || err != nil {
		t.Errorf("%s, want %s: %v", got, want, err)
	}
	for text, nobody := range map[string]bool{
		`{"lldp": [{}]}`: true, `{"lldp": [{"interface": []}]}`: true,
		"": false, "{}": false, `{"lldp": {"interface": []}}`: false, `{"lldp": [{"interface": [`: false,
		"sh: lldpcli: command not found": false, "[WARN/lldpctl] timed out": false,
	} {
		if heard, err := parseHeard([]byte(text)); len(heard) > 0 || (err == nil) != nobody {
			t.Errorf("%q: %v: %v", text, heard, err)
		}
	}
}

func FuzzParseHeard(f *testing.F) {
	f.Add([]byte(`{"lldp":[{"interface":[{"name":"eth0","via":"LLDP","chassis":[{"id":[{"value":"x"}]}],"port":[{"id":[]}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		heard, _ := parseHeard(text)
		for name, list := range heard {
			if len(list) == 0 {
				t.Errorf("%q is there and hears nobody", name)
			}
		}
	})
}

// As smpquery 44.0 of infiniband-diags printed it on a subnet of ibsim 0.10: a switch; then,
// with another type, a card.
func TestParseSubnet(t *testing.T) {
	const node = `# Node info: DR path slid 65535; dlid 65535; 0,1
BaseVers:........................1
NodeType:........................Switch
NumPorts:........................8
Guid:............................0x0000000000200000
PortGuid:........................0x0000000000200000
LocalPort:.......................3
VendorId:........................0x000000
Node Description:.............................sw1
`
	plugged := parseSubnet([]byte("port ibsim0 1\n" + node + "port ibsim1 2\n" + strings.ReplaceAll(node, "Switch", "Channel Adapter") + "port ibsim2 1\n"))
	if got := fmt.Sprint(plugged); got != "map[{ibsim0 1}:{sw1 0x0000000000200000 3 }]" {
		t.Error(got)
	}
	if plugged := parseSubnet([]byte(node)); len(plugged) > 0 {
		t.Errorf("of no port: %v", plugged)
	}
}
