package language

import (
	"strings"

	"weft/inventory/problem"
)

// pvrdma is a virtual machine with an adapter that could carry RDMA, to be put before the
// rollout of base.
const pvrdma = vcenter + `
server "esx" {
  os   = "esxi"
  host = "esx.example.net"
  rnic "p2" {
    match   = { pci = "0000:42:00.0" }
    address = "10.1.0.98/24"
    fabric  = fabric.roce
  }
  advanced_option "/Net/PVRDMAVmknic" { value = "vmk2" }
  firewall_ruleset "pvrdma" {}
}
dvswitch "rdma" {
  vcenter = vcenter.dc1
  path    = "dc1/network/rdma"
  uplinks = [server.esx.rnic.p2]
  portgroup "storage" {}
}
vm "hpc" {
  path = "dc1/vm/hpc"
  pvrdma "eth1" {
    portgroup = dvswitch.rdma.portgroup.storage # on
  }
}
`

// onSwitch makes the NIC of pvrdma one with a port of the VMkernel.
func onSwitch(words string) []string {
	return []string{"    fabric  = fabric.roce\n  }\n  adv", "    fabric  = fabric.roce\n    vmk {\n      id = \"vmk2\" # port\n" + words + "    }\n  }\n  adv"}
}

const (
	onGroup = "      portgroup = dvswitch.rdma.portgroup.storage # in\n"
	ownHost = "  advanced_option \"/Net/PVRDMAVmknic\" { value = \"vmk2\" }\n  firewall_ruleset \"pvrdma\" {}\n"
)

// pvrdmaEdits are those of base, with pvrdma where texts stand in place of others.
func pvrdmaEdits(oldnew ...string) []string {
	return more(strings.NewReplacer(oldnew...).Replace(pvrdma))
}

func pvrdmaMistakes() []mistake {
	const path, eth1, match, other = `path = "dc1/vm/hpc"`, `pvrdma "eth1" {`, `    match   = { pci = "0000:42:00.0" }`, `
server "far" {
  os   = "esxi"
  host = "far.example.net"
  rnic "p2" {
    match   = { pci = "0000:42:00.0" }
    address = "10.2.0.99/24"
    fabric  = fabric.roce
  }
  advanced_option "/Net/PVRDMAVmknic" { value = "vmk2" }
  firewall_ruleset "pvrdma" {}
}
vm "hpc"`
	on := func(words string, oldnew ...string) []string {
		return pvrdmaEdits(append(onSwitch(words), oldnew...)...)
	}
	return []mistake{
		{"port on two switches", on(onGroup + "      vswitch = \"weft-a\"\n"), problem.Uplink, "# in", "vmk of server.esx.rnic.p2 also has vswitch"},
		{"port without a switch", on(""), problem.Uplink, "# port", "needs vswitch, a standard switch that weft creates, or portgroup"},
		{"NIC is not an uplink", on(onGroup, "uplinks = [server.esx.rnic.p2]", "uplinks = []"), problem.Uplink, "# in", "server.esx.rnic.p2 is not an uplink of the switch of that port group"},
		{"DirectPath I/O", pvrdmaEdits(path, path+"\n  directpath_io \"eth9\" {}"), problem.OtherWay, `directpath_io "eth9"`, "it assigns an adapter to one virtual machine and restricts vMotion"},
		{"SR-IOV", pvrdmaEdits(match, match+"\n    sriov = 8"), problem.OtherWay, "sriov = 8", "weft does not manage SR-IOV"},
		{"Fibre Channel", pvrdmaEdits(match, match+"\n    fc = true"), problem.FC, "fc = true", "weft does not manage Fibre Channel"},
		{"iSER", on(onGroup + "      services = [\"iser\"]\n"), problem.OtherWay, `services = ["iser"]`, "for NVMe over RDMA (7.0), use the service nvme-rdma"},
		{"hardware without PVRDMA", pvrdmaEdits(path, path+"\n  hardware_version = 12 # old"), problem.PVRDMA, "# old", "PVRDMA requires virtual hardware 13 or later (vSphere 6.5)"},
		{"hardware without RoCE v2", pvrdmaEdits(path, path+"\n  hardware_version = 13"), problem.PVRDMA, eth1, "RoCE v2 requires virtual hardware 14 (vSphere 6.7), but hardware_version is 13 (main.weft.hcl:"},
		{"host without a PVRDMA port", pvrdmaEdits(`"vmk2"`, `""`), problem.PVRDMA, "# on", `server.esx (main.weft.hcl:`},
		{"firewall blocks PVRDMA", pvrdmaEdits(`firewall_ruleset "pvrdma" {}`, ""), problem.PVRDMA, "# on", `has no firewall_ruleset "pvrdma" {}`},
		{"no fabric for RoCE", pvrdmaEdits("    fabric  = fabric.roce\n", ""), problem.PVRDMA, "# on", "so hosts would use TCP"},
		{"fabric without PFC", append(pvrdmaEdits(), "    pfc       = true\n", ""), problem.PVRDMA, "# on", "RoCE requires a lossless class"},
		{"RoCE v1 in two subnets", pvrdmaEdits(`vm "hpc"`, other, `[server.esx.rnic.p2]`, `[server.esx.rnic.p2, server.far.rnic.p2]`, "# on", "# on\n    protocol = \"rocev1\" # flat"), problem.PVRDMA, "# flat", "RoCE v1 is not routed: set rocev2"},
		{"another datacenter", pvrdmaEdits(path, `path = "dc2/vm/hpc"`), problem.PVRDMA, "# on", "vm.hpc is in dc2, and dvswitch.rdma is in dc1"},
		{"duplicate virtual machine", pvrdmaEdits(`vm "hpc"`, `vm "twin" {
  path = "dc1/vm/hpc"
  pvrdma "eth1" { portgroup = dvswitch.rdma.portgroup.storage }
}
vm "hpc"`, path, path+" # again"), problem.PVRDMA, "# again", "vm.twin (main.weft.hcl:"},
		{"virtual machine in two vCenters", pvrdmaEdits(`vm "hpc"`, `vcenter "dc2" {
  host       = "vc2.example.net"
  credential = credential.switch
}
dvswitch "other" {
  vcenter = vcenter.dc2
  path    = "dc1/network/other"
  uplinks = []
  portgroup "storage" {}
}
vm "hpc"`, "# on\n  }", "\n  }\n  pvrdma \"eth2\" {\n    portgroup = dvswitch.other.portgroup.storage # there\n  }"), problem.PVRDMA, "# there", "is in vcenter.dc1, and"},
	}
}
