package linux

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/host"
)

// tell is what factsScript prints of files below PCI functions.
func tell(files string) []byte {
	var b strings.Builder
	for line := range strings.Lines(files) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "0000:") {
			line = pciDevices + line
		} else if line != "" {
			line = rdmaDevices + line
		}
		fmt.Fprintln(&b, line)
	}
	return []byte(b.String())
}

const switchdev = `
0000:41:00.0/uevent:DRIVER=mlx5_core
0000:41:00.0/net/enp65s0f0_0/address:06:00:00:00:00:10
0000:41:00.0/net/enp65s0f0_0/mtu:1500
0000:41:00.0/net/enp65s0f0_0/phys_port_name:pf0vf0
0000:41:00.0/net/enp65s0f0np0/address:b8:ce:f6:00:00:01
0000:41:00.0/net/enp65s0f0np0/mtu:9000
0000:41:00.0/net/enp65s0f0np0/phys_port_name:p0
0000:41:00.0/infiniband/mlx5_0/ports/1/link_layer:Ethernet
0000:41:00.0/infiniband/mlx5_0/ports/2/link_layer:Ethernet
0000:41:00.2/uevent:DRIVER=mlx5_core
0000:41:00.2/physfn/uevent:PCI_SLOT_NAME=0000:41:00.0
0000:41:00.2/net/enp65s0f0v0/address:06:00:00:00:00:11
0000:41:00.2/infiniband/mlx5_2/ports/1/link_layer:Ethernet
mlx5_0/ports/1/gid_attrs/ndevs/0:enp65s0f0np0
mlx5_0/ports/2/gid_attrs/ndevs/0:enp65s0f0_0
mlx5_2/ports/1/gid_attrs/ndevs/0:enp65s0f0v0
`

const lag = `
0000:41:00.0/uevent:DRIVER=mlx5_core
0000:41:00.0/net/ens1f0np0/address:b8:ce:f6:00:00:01
0000:41:00.0/net/ens1f0np0/bonding_slave/perm_hwaddr:b8:ce:f6:00:00:01
0000:41:00.0/net/ens1f0np0/master/uevent:DEVTYPE=bond
0000:41:00.0/net/ens1f0np0/master/uevent:INTERFACE=bond0
0000:41:00.0/infiniband/mlx5_bond_0/ports/1/link_layer:Ethernet
0000:41:00.0/infiniband/mlx5_bond_0/ports/1/state:4: ACTIVE
0000:41:00.1/uevent:DRIVER=mlx5_core
0000:41:00.1/net/ens1f1np1/address:b8:ce:f6:00:00:01
0000:41:00.1/net/ens1f1np1/bonding_slave/perm_hwaddr:b8:ce:f6:00:00:02
0000:41:00.1/net/ens1f1np1/master/uevent:DEVTYPE=bond
0000:41:00.1/net/ens1f1np1/master/uevent:INTERFACE=bond0
0000:42:00.1/uevent:DRIVER=mlx5_core
0000:42:00.1/net/ens2f1np1/master/uevent:DEVTYPE=bond
0000:42:00.1/net/ens2f1np1/master/uevent:INTERFACE=bond0
mlx5_bond_0/ports/1/gid_attrs/ndevs/0:bond0
`

const twoPorts = `
0000:41:00.0/uevent:DRIVER=mlx4_core
0000:41:00.0/net/eth2/address:02:00:00:00:00:02
0000:41:00.0/net/eth2/dev_port:0
0000:41:00.0/net/eth3/address:02:00:00:00:00:03
0000:41:00.0/net/eth3/dev_port:1
0000:41:00.0/infiniband/mlx4_0/ports/1/link_layer:Ethernet
0000:41:00.0/infiniband/mlx4_0/ports/2/link_layer:Ethernet
mlx4_0/ports/1/gid_attrs/ndevs/0:eth2
mlx4_0/ports/2/gid_attrs/ndevs/0:eth3
`

func TestPortsOfFunctions(t *testing.T) {
	for _, test := range []struct {
		name, files, place string
		want               string
	}{
		{"the port, not its representor", switchdev, "0000:41:00.0", "enp65s0f0np0 b8:ce:f6:00:00:01 9000 rdma mlx5_0/1 representors enp65s0f0_0"},
		{"virtual function", switchdev, "0000:41:00.2", "enp65s0f0v0 06:00:00:00:00:11 0 rdma mlx5_2/1 of 0000:41:00.0"},
		{"first port of a LAG", lag, "0000:41:00.0", "ens1f0np0 b8:ce:f6:00:00:01 0 rdma mlx5_bond_0/1 bond bond0"},
		{"second port of a LAG", lag, "0000:41:00.1", "ens1f1np1 b8:ce:f6:00:00:01 0 rdma mlx5_bond_0/1 bond bond0"},
		{"named by a port of the bond", strings.ReplaceAll(lag, "ndevs/0:bond0", "ndevs/0:ens1f0np0"), "0000:41:00.1", "ens1f1np1 b8:ce:f6:00:00:01 0 rdma mlx5_bond_0/1 bond bond0"},
		{"another card in the bond", lag, "0000:42:00.1", "ens2f1np1  0 bond bond0"},
		{"in no LAG", strings.ReplaceAll(lag, "DEVTYPE=bond", "DEVTYPE=bridge"), "0000:41:00.1", "ens1f1np1 b8:ce:f6:00:00:01 0"},
		{"several ports", twoPorts, "0000:41:00.0", "  0 unclear"},
		{"one of several", twoPorts, "0000:41:00.0@1", "eth3 02:00:00:00:00:03 0 rdma mlx4_0/2 port 1"},
		{"by MAC", twoPorts, "@02:00:00:00:00:02", "eth2 02:00:00:00:00:02 0 rdma mlx4_0/1 port 0"},
		{"InfiniBand numbers", strings.ReplaceAll(twoPorts, "/gid_attrs", "/none"), "0000:41:00.0@1", "eth3 02:00:00:00:00:03 0 rdma mlx4_0/2 port 1"},
	} {
		n := parseFacts(tell(test.files)).nic("", test.place)
		got := fmt.Sprintf("%s %s %d", n.Interface, n.MAC, n.MTU)
		for _, p := range n.RDMA {
			if n.Interface != "" {
				got += fmt.Sprintf(" rdma %s/%d", p.Device, p.Port)
			}
		}
		for _, part := range [][2]string{{" representors ", strings.Join(n.Representors, ",")}, {" of ", n.VirtualOf}, {" bond ", n.Bond}, {" port ", n.Port}} {
			if part[1] != "" {
				got += part[0] + part[1]
			}
		}
		if n.Unclear != nil && n.VirtualOf == "" {
			got += " unclear"
		}
		if got != test.want {
			t.Errorf("%s: %q; want %q", test.name, got, test.want)
		}
	}
}

// A survey lists every port of a function, and doctor judges all of them.
func TestPlacesOfFunctions(t *testing.T) {
	for files, want := range map[string][]string{
		switchdev: {"0000:41:00.0"},
		twoPorts:  {"0000:41:00.0@0", "0000:41:00.0@1"},
		strings.ReplaceAll(twoPorts, "dev_port:1", "dev_port:0"): {"0000:41:00.0@02:00:00:00:00:02", "0000:41:00.0@02:00:00:00:00:03"},
	} {
		if got := parseFacts(tell(files)).places("0000:41:00.0"); !slices.Equal(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
	health := parseHealth(tell(twoPorts))
	if len(health.NICs) != 2 || health.NICs[0].Interface != "eth2" || health.NICs[1].Interface != "eth3" {
		t.Errorf("doctor has %+v", health.NICs)
	}
}

// An interface that is not a port is refused where an rnic names it.
func TestUnmanagedNICs(t *testing.T) {
	for _, test := range []struct {
		files, place string
		says, hint   string
	}{
		{switchdev, "0000:41:00.2", "virtual function of 0000:41:00.0", `match = { pci = "0000:41:00.0" }`},
		{twoPorts, "0000:41:00.0", "several ports: eth2 (port 0, MAC 02:00:00:00:00:02) and eth3 (port 1, MAC 02:00:00:00:00:03)", `match = { pci = "0000:41:00.0", port = 1 } for eth3`},
	} {
		facts := parseFacts(tell(test.files))
		want := host.Expectation{RNIC: &inventory.RNIC{Name: "p0", PCI: test.place, Fabric: &inventory.Fabric{}}, Hardware: &catalogue.Catalogue{}}
		out := checkNIC(want, &facts.server, facts.nic("p0", test.place))
		if len(out) != 1 || !out[0].Refuses || !strings.Contains(out[0].Text, test.says) || !strings.Contains(out[0].Hint, test.hint) {
			t.Errorf("%s: %+v; want %q, %q", test.place, out, test.says, test.hint)
		}
		if text := hint.Of(unmanaged(facts.nic("p0", test.place))); text != out[0].Hint {
			t.Errorf("%s: %q", test.place, text)
		}
	}
}

const omnipath = `
0000:41:00.0/uevent:DRIVER=hfi1
0000:41:00.0/net/ib0/mtu:9000
0000:41:00.0/net/ib0/mode:datagram
0000:41:00.0/infiniband/hfi1_0/ports/1/state:4: ACTIVE
0000:41:00.0/infiniband/hfi1_0/ports/1/link_layer:InfiniBand
0000:41:00.0/infiniband/hfi1_0/ports/1/sm_lid:0x1
`

// Omni-Path is named and not managed, and opensm is not its fabric manager.
func TestOmniPath(t *testing.T) {
	facts := parseFacts(tell(omnipath))
	n := facts.nic("p0", "0000:41:00.0")
	if !n.OmniPath() || n.RDMA[0].Subnet != nil {
		t.Errorf("%+v", n.RDMA)
	}
	want := host.Expectation{Hardware: &catalogue.Catalogue{}, RNIC: &inventory.RNIC{Name: "p0", PCI: "0000:41:00.0",
		Fabric: &inventory.Fabric{Transport: "infiniband", HostMTU: 9000}}}
	out := checkNIC(want, &facts.server, n)
	if len(out) != 1 || !out[0].Refuses || !strings.Contains(out[0].Text, "ib0 is a port of Omni-Path (driver hfi1)") || strings.Contains(out[0].Text+out[0].Hint, "opensm") {
		t.Errorf("%+v", out)
	}
}

// An interface that has the MTU of its fabric already is not too small for it.
func TestDatagramThatIsLarge(t *testing.T) {
	for mtu, findings := range map[int]int{9000: 0, 4092: 1} {
		facts := parseFacts(tell(strings.ReplaceAll(strings.ReplaceAll(omnipath, "hfi1", "mlx5_core"), "mtu:9000", fmt.Sprint("mtu:", mtu))))
		want := host.Expectation{Hardware: &catalogue.Catalogue{}, RNIC: &inventory.RNIC{Name: "p0", PCI: "0000:41:00.0",
			Fabric: &inventory.Fabric{Transport: "infiniband", HostMTU: 9000}}}
		if out := checkNIC(want, &facts.server, facts.nic("p0", "0000:41:00.0")); len(out) != findings {
			t.Errorf("MTU %d: %+v", mtu, out)
		}
	}
}
