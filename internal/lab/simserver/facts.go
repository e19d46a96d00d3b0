//go:build unix

package simserver

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// A card is a kind of network card.
type card struct {
	vendor, device string
	driver         string
	firmware       string
	pcie           string // speed of its lanes, as sysfs prints it
	lanes          int
	rdma           string // how the names of its RDMA devices begin; "": it has none
	node, layer    string // node_type and link_layer of those
	hca            string
}

// kind is the card behind an interface: one that speaks what its fabric does.
func (i *iface) kind() card {
	switch {
	case i.Plain:
		return card{vendor: "0x8086", device: "0x1521", driver: "igb", firmware: "1.63, 0x800009fa", pcie: "5.0 GT/s PCIe", lanes: 4}
	case i.NoRDMA:
		return card{vendor: "0x8086", device: "0x10fb", driver: "ixgbe", firmware: "0x800003df", pcie: "5.0 GT/s PCIe", lanes: 8}
	case i.Fabric == "iwarp":
		return card{vendor: "0x1425", device: "0x640d", driver: "cxgb4", firmware: "1.27.5.0", pcie: "8.0 GT/s PCIe", lanes: 16,
			rdma: "iw", node: "4: RNIC", layer: "Ethernet", hca: "T6"}
	case i.Fabric == "infiniband":
		return card{vendor: "0x15b3", device: "0x1021", driver: "mlx5_core", firmware: "28.43.1014", pcie: "32.0 GT/s PCIe", lanes: 16,
			rdma: "ib", node: "1: CA", layer: "InfiniBand", hca: "MT4129"}
	}
	return card{vendor: "0x15b3", device: "0x1021", driver: "mlx5_core", firmware: "28.43.1014", pcie: "32.0 GT/s PCIe", lanes: 16,
		rdma: "roce", node: "1: CA", layer: "Ethernet", hca: "MT4129"}
}

// Narrow lets the cards of the server run with half of their PCIe lanes, or
// with all of them.
func (s *Server) Narrow(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.ifaces {
		i.narrow = on
	}
}

// renderMachine shows what the machine says of itself.
func (s *Server) renderMachine(r rendered) {
	for name, value := range map[string]string{
		"sys_vendor": "weft", "product_name": "lab server (SIMULATED)", "bios_version": "0.0", "bios_date": "11/20/2026",
	} {
		r.file("/sys/class/dmi/id/"+name, value)
	}
	sum := sha256.Sum256([]byte("serial " + s.spec.Name))
	r["/sys/class/dmi/id/product_serial"] = node{mode: 0o400, content: fmt.Sprintf("SIM%X\n", sum[:4])}
	r.file("/sys/devices/system/cpu/online", "0-63")
	r.file("/sys/devices/system/node/online", "0-1")
	r.file("/sys/devices/system/node/node0/cpulist", "0-31")
	r.file("/sys/devices/system/node/node1/cpulist", "32-63")
	r.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance")
	r.file("/sys/devices/system/edac/mc/mc0/ue_count", "0")
	r.file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz-"+kernelRelease+" root=/dev/vda1 ro iommu=pt")
	r.file("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority")
	r.file("/proc/meminfo", "MemTotal:       263856248 kB\nMemFree:        251042516 kB\nMemAvailable:   259102344 kB")
	r.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: weft\nmodel name\t: weft lab CPU (SIMULATED)\n")
}

// card renders what stands in the folder of a PCI device.
func (r rendered) card(at string, i *iface) {
	c := i.kind()
	lanes := c.lanes
	if i.narrow {
		lanes /= 2
	}
	for name, value := range map[string]string{
		"vendor": c.vendor, "device": c.device, "subsystem_vendor": c.vendor, "subsystem_device": c.device,
		"class": "0x020000", "numa_node": "0",
		"current_link_speed": c.pcie, "max_link_speed": c.pcie,
		"current_link_width": strconv.Itoa(lanes), "max_link_width": strconv.Itoa(c.lanes),
	} {
		r.file(at+"/"+name, value)
	}
	for file, kind := range map[string]string{"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"} { // Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats
		r.file(at+"/aer_dev_"+file, "Undefined 0\nTOTAL_ERR_"+kind+" 0")
	}
	id := strings.ToUpper(c.vendor[2:] + ":" + c.device[2:])
	r.file(at+"/uevent", "DRIVER="+c.driver+"\nPCI_CLASS=20000\nPCI_ID="+id+"\nPCI_SUBSYS_ID="+id+"\nPCI_SLOT_NAME="+i.PCI)
	r.dir("/sys/bus/pci/drivers/" + c.driver)
	r.link(at+"/driver", "../../../bus/pci/drivers/"+c.driver)
	r.link("/sys/bus/pci/devices/"+i.PCI, "../../../"+strings.TrimPrefix(at, "/sys/"))
	if c.rdma != "" && !i.unbound {
		r.rdma(at, i, c)
	}
}

// rdma renders the RDMA device of a port, as the drivers and the names of
// rdma-core have it.
func (r rendered) rdma(at string, i *iface, c card) {
	name := rdmaName(c.rdma, i.PCI)
	dev := at + "/infiniband/" + name
	r.link("/sys/class/infiniband/"+name, "../.."+strings.TrimPrefix(dev, "/sys"))
	r.link(dev+"/device", "../../../"+i.PCI)
	state, phys := "1: DOWN", "3: Disabled"
	if i.up {
		state, phys = "4: ACTIVE", "5: LinkUp"
	}
	for file, value := range map[string]string{
		"node_type": c.node, "fw_ver": c.firmware, "hca_type": c.hca, "node_guid": i.guid(),
		"ports/1/state": state, "ports/1/phys_state": phys, "ports/1/link_layer": c.layer, "ports/1/rate": rdmaRate(i.Speed),
	} {
		r.file(dev+"/"+file, value)
	}
	if i.infiniBand() {
		r.subnetPort(dev+"/ports/1", i)
	} else {
		r.file(dev+"/ports/1/gid_attrs/ndevs/0", i.Name)
	}
	if c.driver == "mlx5_core" {
		for _, name := range hardware() {
			r.file(dev+"/ports/1/hw_counters/"+name, "0")
		}
	}
}

// rdmaName names a device after its PCI address, 0000:c1:00.0 → rocep193s0f0.
func rdmaName(kind, pci string) string {
	var domain, bus, slot, function int
	if n, err := fmt.Sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function); n < 4 || err != nil {
		return kind + "0"
	}
	return fmt.Sprintf("%sp%ds%df%d", kind, bus, slot, function)
}

// rdmaRate is the rate of a port as sysfs prints it.
func rdmaRate(bits int64) string {
	names := map[int64]string{10: "1X QDR", 25: "1X EDR", 40: "4X QDR", 50: "1X HDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR"}
	if name := names[bits/1e9]; name != "" {
		return fmt.Sprintf("%d Gb/sec (%s)", bits/1e9, name)
	}
	return fmt.Sprintf("%d Gb/sec", bits/1e9)
}
