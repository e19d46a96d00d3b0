package doctor

import (
	"net/netip"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/internal/text"
	"weft/modules/host"
)

// withGPUs are the machines that have a driver of NVIDIA's: the others are asked nothing
// about GPUs.
func (s *Site) withGPUs() (list []*Host) {
	return slice.Filter(s.Hosts, func(h *Host) bool { return h.GPUs != nil })
}

// direct are those of them that are set up for GPUDirect Storage: nvidia-fs or cufile.json
// is there.
func (s *Site) direct() (list []*Host) {
	return slice.Filter(s.withGPUs(), func(h *Host) bool { return h.GPUs.FS != "" || h.GPUs.Config != nil })
}

func (g *hostGPUs) open() bool { return strings.Contains(g.Driver, "Open Kernel Module") }

// hostGPUs are a machine's, with what follows from them.
type hostGPUs struct{ *host.GPUs }

func gpuDriver(h *Host, r *ruling) {
	g := hostGPUs{h.GPUs}
	if r.knows(g.Driver != "", h.place(), "the NVIDIA driver version could not be read") {
		r.unless(!g.open(), h.place(), "the driver does not use the open kernel modules: %s", g.Driver)
	}
}

func gpuPeer(h *Host, r *ruling) {
	g, v := hostGPUs{h.GPUs}, version(h.Facts.Kernel)
	if r.knows(h.Modules != nil && v != nil && g.Driver != "", h.place(), "its modules, kernel or driver are unknown") {
		dmabuf := g.open() && slices.Compare(v, []int{5, 12}) >= 0
		r.unless(h.Modules["nvidia_peermem"] == 0 && !dmabuf, h.place(), "nvidia_peermem is not loaded, and dma-buf needs the open driver and kernel 5.12: NICs cannot access GPU memory")
	}
}

func gpuLegacy(h *Host, r *ruling) {
	if r.knows(h.Modules != nil, h.place(), "its modules are unknown") {
		r.unless(h.Modules["nv_peer_mem"] > 0, h.place(), "nv_peer_mem is loaded; nvidia_peermem replaces it")
	}
}

// gpuFS: cufile.json is there and neither nvidia-fs nor PCI P2PDMA does the work.
func gpuFS(h *Host, r *ruling) {
	if h.GPUs.Config == nil {
		return
	}
	want, told := h.GPUs.Config["allow_compat_mode"]
	if r.knows(told || h.GPUs.FS != "", h.place(), "cufile.json does not set allow_compat_mode") {
		r.unless(h.GPUs.FS == "" && h.GPUs.Config["use_pci_p2pdma"] != "true", h.place(), "cufile.json exists, but nvidia-fs is not loaded (allow_compat_mode is %s)", want)
	}
}

func gpuCompat(h *Host, r *ruling) {
	if r.knows(h.GPUs.Config != nil, h.place(), "/etc/cufile.json could not be read") {
		r.unless(h.GPUs.Config["allow_compat_mode"] == "true" && h.GPUs.FS == "", h.place(), "allow_compat_mode hides the missing direct path")
	}
}

// bridge is how far two devices share their way in the tree of PCI: how many steps below
// the root.
func together(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}

// rootDepth is the depth of a root complex: /sys/devices/pci0000:40.
const rootDepth = 4

func gpuDistance(h *Host, r *ruling) {
	for bdf, at := range h.GPUs.Paths {
		nearest, known := 0, false
		for _, e := range r.site.of[h] {
			if e.nic.Path != "" {
				nearest, known = max(nearest, together(at, e.nic.Path)), true
			}
		}
		if r.knows(at != "" && known, h.part(bdf), "the PCI location of it or of an RDMA NIC could not be read") {
			r.unless(nearest < rootDepth, h.part(bdf), "no RDMA NIC is on the same PCI root")
		}
	}
}

func gpuIOMMU(h *Host, r *ruling) {
	if !r.knows(h.Cmdline != nil, h.place(), "/proc/cmdline could not be read") {
		return
	}
	w := strings.Fields(*h.Cmdline)
	on := slices.Contains(w, "intel_iommu=on") || slices.Contains(w, "amd_iommu=on")
	r.unless(on && !slices.Contains(w, "iommu=pt"), h.place(), "the IOMMU translates traffic between GPUs and NICs: %s", *h.Cmdline)
}

func gpuMultipath(h *Host, r *ruling) {
	p2p := h.GPUs.Config["use_pci_p2pdma"] == "true"
	several := false
	for _, group := range slice.Group(h.paths(), func(c host.Controller) string { return c.NQN }) {
		several = several || len(group) > 1
	}
	switch {
	case h.Multipath == "":
		r.unknown(h.place(), "nvme_core does not report its multipath setting")
	case p2p:
		r.unless(h.Multipath == "Y", h.place(), "use_pci_p2pdma excludes multipath of nvme_core (Y)")
	default:
		r.unless(several && h.Multipath == "N", h.place(), "it has several paths to a subsystem, but nvme_core.multipath is N")
	}
}

func gpuAddresses(h *Host, r *ruling) {
	list := h.GPUs.Lists["rdma_dev_addr_list"]
	if !r.knows(h.Netdevs != nil && h.GPUs.Config != nil, h.place(), "cufile.json or its addresses could not be read") {
		return
	}
	if len(list) == 0 {
		return
	}
	var stray []string
	for _, addr := range list {
		a, err := netip.ParseAddr(addr)
		has := err == nil && slices.ContainsFunc(r.site.of[h], func(e end) bool {
			return len(e.nic.RDMA) > 0 && slices.ContainsFunc(h.Netdevs, func(d host.Netdev) bool {
				return d.Name == e.nic.Interface && slices.ContainsFunc(d.Addresses, func(p netip.Prefix) bool { return p.Addr() == a })
			})
		})
		if !has {
			stray = append(stray, addr)
		}
	}
	r.unless(len(stray) > 0, h.place(), "rdma_dev_addr_list contains %s, which no RDMA NIC has", text.List(stray, mostPlaces))
}

func gpuKernel(h *Host, r *ruling) {
	if h.GPUs.Config["use_pci_p2pdma"] != "true" {
		return
	}
	if r.knows(h.GPUs.Peering != nil, h.place(), "the build configuration of its kernel could not be read") {
		r.unless(!*h.GPUs.Peering, h.place(), "use_pci_p2pdma is set, but the kernel was built without CONFIG_PCI_P2PDMA")
	}
}

func gpuTCP(h *Host, r *ruling) {
	for _, c := range h.paths() {
		if r.knows(c.Transport != "", h.part(c.Name), "its transport could not be read") {
			r.unless(c.Transport == "tcp", h.part(c.Name), "the path to %s uses TCP, which cannot access GPU memory directly", c.NQN)
		}
	}
}

func gpuCounters(h *Host, r *ruling) {
	if h.GPUs.FS == "" {
		return
	}
	if r.knows(h.GPUs.Counts != "", h.place(), "rw_stats_enabled of nvidia-fs could not be read") {
		r.unless(h.GPUs.Counts == "0", h.place(), "rw_stats_enabled is 0: a missing direct path stays unnoticed")
	}
}
