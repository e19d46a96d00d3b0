//go:build unix

package simesxi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

func aboutNVMe() []command {
	return []command{
		{words: "nvme info get", source: nvmeGuide, run: func(h *Host, _ map[string]string) (string, error) {
			u := h.uuid
			return structure("NvmeInfo", "HostNQN", "nqn.2014-08.org.nvmexpress:uuid:"+strings.Join([]string{u[:8], u[8:12], u[12:16], u[16:20], u[20:]}, "-")), nil
		}},
		{words: "nvme adapter list", source: nvmeGuide, run: adapterList},
		{words: "nvme controller list", source: nvmeGuide, run: controllerList},
		{words: "nvme namespace list", source: nvmeGuide, run: namespaceList},
		{words: "storage hpp path list", source: reference + "; NetApp, ontap-sanhost, nvme-esxi-8", run: hppList},
		{words: "storage vmfs extent list", source: reference, run: extentList},
		{words: "nvme fabrics enable", options: map[string]string{"p": "protocol", "d": "device"}, needed: "pd", changes: true, source: nvmeGuide + "; " + ciscoVIC, run: fabricsEnable},
		{words: "nvme fabrics connect", options: map[string]string{"a": "adapter", "i": "ip-address", "p": "port-number", "s": "subsystem-nqn"}, needed: "aips", changes: true, source: nvmeGuide, run: fabricsConnect},
		{words: "nvme fabrics disconnect", options: map[string]string{"a": "adapter", "s": "subsystem-nqn", "n": "controller-number"}, needed: "a", changes: true, source: nvmeGuide, run: fabricsDisconnect},
	}
}

// uplinkOf is the NIC that a device of NVMe runs on.
func (h *Host) uplinkOf(device string) string {
	for _, n := range h.nics {
		if device == n.name || device == h.rdma(n.name) && device != "" {
			return n.name
		}
	}
	return ""
}

func adapterList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, a := range h.now.adapters {
		on := []string{a.device}
		if up := h.uplinkOf(a.device); up != a.device {
			on = append(on, up)
		}
		rows = append(rows, structure("NvmeAdapter", "Adapter", a.name, "AdapterQualifiedName", "aqn:nvme"+strings.ToLower(a.transport)+":SIMULATED-"+a.device, "AssociatedDevices", strings.Join(on, ", "),
			"Driver", "nvme"+strings.ToLower(a.transport), "TransportType", a.transport))
	}
	return list(rows...), nil
}

func fabricsEnable(h *Host, o map[string]string) (string, error) {
	up := h.uplinkOf(o["d"])
	rdma := strings.HasPrefix(o["d"], "vmrdma")
	if up == "" || o["p"] != "RDMA" && o["p"] != "TCP" || (o["p"] == "RDMA") != rdma {
		return "", says("Unable to enable NVMe on %s", o["d"])
	}
	for _, a := range h.now.adapters {
		if a.device == o["d"] {
			return "", says("NVMe already enabled on %s", o["d"])
		}
	}
	h.now.adapters = append(h.now.adapters, adapter{fmt.Sprintf("vmhba%d", 64+len(h.now.adapters)), o["p"], o["d"]})
	return "true", nil
}

func controllerList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, c := range h.now.controllers {
		rows = append(rows, structure("NvmeController", "Adapter", c.adapter, "ControllerNumber", c.number, "IsOnline", !c.offline, "IsVVOL", false,
			"Name", c.nqn+"#"+c.adapter+"#"+c.address, "TransportType", h.transportOf(c.adapter)))
	}
	return list(rows...), nil
}

func (h *Host) transportOf(name string) string {
	for _, a := range h.now.adapters {
		if a.name == name {
			return a.transport
		}
	}
	return ""
}

func namespaceList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, c := range h.now.controllers {
		rows = append(rows, structure("NvmeNamespace", "BlockSize", cmp.Or(c.blocks, 512), "CapacityinMB", 10240, "ControllerNumber", c.number, "Name", c.dev, "NamespaceID", 1))
	}
	return list(rows...), nil
}

// hppList: a controller that is not online has no path that is active.
func hppList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for i, c := range h.now.controllers {
		state := "active"
		if c.offline {
			state = "dead"
		}
		rows = append(rows, structure("HppPath", "Device", c.dev, "DeviceDisplayName", "NVMe "+h.transportOf(c.adapter)+" Disk ("+c.dev+")", "PathState", state,
			"PathConfig", "{ANA_GRP_id=1,ANA_GRP_state=AO,health=UP}", "RuntimeName", fmt.Sprintf("%s:C0:T%d:L0", c.adapter, i)))
	}
	return list(rows...), nil
}

func extentList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	seen := map[string]bool{}
	for _, c := range h.now.controllers {
		if c.extent != "" && !seen[c.dev] {
			seen[c.dev] = true
			rows = append(rows, structure("VMFSExtent", "DeviceName", c.dev, "ExtentNumber", 0, "Partition", 1, "VMFSUUID", "SIMULATED", "VolumeName", c.extent))
		}
	}
	return list(rows...), nil
}

// fabricsConnect: a vmkernel port on the adapter's NIC must have the tag of the
// transport and an address in the target's subnet. Whether a target answers there is
// not simulated.
func fabricsConnect(h *Host, o map[string]string) (string, error) {
	i := slices.IndexFunc(h.now.adapters, func(a adapter) bool { return a.name == o["a"] })
	if i < 0 {
		return "", says("Unable to find adapter %s", o["a"])
	}
	to, err := netip.ParseAddrPort(o["i"] + ":" + o["p"])
	if err != nil || !strings.HasPrefix(o["s"], "nqn.") {
		return "", says("Invalid data constraint for parameter 'ip-address'.")
	}
	a := h.now.adapters[i]
	if !h.reaches(a, to.Addr()) {
		return "", says("Unable to connect to controller: no vmkernel port of %s is tagged for it and reaches %s (SIMULATED)", a.device, to.Addr())
	}
	for _, c := range h.now.controllers {
		if c.adapter == a.name && c.nqn == o["s"] && c.address == to.String() {
			return "", says("Controller already connected")
		}
	}
	sum := sha256.Sum256([]byte(o["s"]))
	number := 256
	for _, c := range h.now.controllers {
		number = max(number, c.number+1)
	}
	h.now.controllers = append(h.now.controllers, controller{number: number, nqn: o["s"], adapter: a.name, address: to.String(), dev: "uuid." + hex.EncodeToString(sum[:16]), blocks: h.sizes[o["s"]]})
	return "", nil
}

func (h *Host) reaches(a adapter, to netip.Addr) bool {
	up, tag := h.uplinkOf(a.device), map[string]string{"RDMA": "NVMeRDMA", "TCP": "NVMeTCP"}[a.transport]
	for _, v := range h.now.vmks {
		g := h.now.groups[v.group]
		links := h.now.switches[g.on].uplinks
		switch {
		case v.dvs != "":
			links = []string{v.nic}
		case g.override:
			links = g.active
		}
		if slices.Contains(links, up) && slices.Contains(v.tags, tag) && v.contains(to) {
			return true
		}
	}
	return false
}

// fabricsDisconnect ends all connections of an adapter to a subsystem, or one of them.
func fabricsDisconnect(h *Host, o map[string]string) (string, error) {
	if (o["s"] == "") == (o["n"] == "") {
		return "", says("Missing required parameter -s|--subsystem-nqn or -n|--controller-number (SIMULATED)")
	}
	left := slices.DeleteFunc(slices.Clone(h.now.controllers), func(c controller) bool {
		return c.adapter == o["a"] && (c.nqn == o["s"] || fmt.Sprint(c.number) == o["n"])
	})
	if len(left) == len(h.now.controllers) {
		return "", says("Unable to find controller of %s", cmp.Or(o["s"], o["n"]))
	}
	h.now.controllers = left
	return "", nil
}
