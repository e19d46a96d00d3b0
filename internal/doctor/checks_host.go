package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/nvme/names"
	"weft/internal/slice"
	"weft/inventory"
	"weft/modules/host"
	"weft/switches"
)

// A portOf is a port of a switch.
type portOf = switches.Port

func governor(h *Host, r *ruling) {
	if r.knows(len(h.Governors) > 0, h.place(), "its CPUs have no scaling_governor: a guest, or a driver without frequency scaling") {
		r.unless(!slices.Equal(h.Governors, []string{"performance"}), h.place(), "the frequency governor of its CPUs is %s", strings.Join(h.Governors, ", "))
	}
}

// serves reports whether a machine exports storage.
func (h *Host) serves(s *Site) bool {
	if s.Model != nil && h.Server != nil {
		for _, t := range s.Model.Targets {
			if t.Server == h.Server {
				return true
			}
		}
		return false
	}
	return h.Modules["nvmet"] > 0
}

func balancing(h *Host, r *ruling) {
	if !h.serves(r.site) {
		return
	}
	v, ok := h.Sysctls["kernel/numa_balancing"]
	if r.knows(ok, h.place(), "numa_balancing could not be read") {
		r.unless(v != 0, h.place(), "numa_balancing is %d on a target", v)
	}
}

func swapping(h *Host, r *ruling) {
	if !h.serves(r.site) {
		return
	}
	if r.knows(h.Swaps != nil, h.place(), "/proc/swaps could not be read") {
		r.unless(*h.Swaps > 0, h.place(), "%d KiB of swap are in use", *h.Swaps)
	}
}

func memory(h *Host, r *ruling) {
	if r.knows(h.MemoryErrs != nil, h.place(), "it has no EDAC driver: memory errors are not counted") {
		r.unless(*h.MemoryErrs > 0, h.place(), "%d uncorrected memory errors", *h.MemoryErrs)
	}
}

// mostSkew is how far a clock may be from those of others.
const mostSkew = time.Second

func clock(s *Site, r *ruling) {
	usual := s.usual()
	for _, h := range s.Hosts {
		if r.knows(h.Clock != nil, h.place(), "it does not report its time") {
			off := h.apart(usual)
			r.unless(off > mostSkew, h.place(), "its clock differs by at least %s from most others", off.Round(100*time.Millisecond))
		}
	}
}

// A fault is one of kernels.
type fault struct {
	from, to string // versions; to is the first without it
	module   string // that must be loaded; "": whichever
	text     string
	source   string
}

// faults are those of upstream kernels. Distributions mend theirs under older numbers.
func faults() []fault {
	return []fault{
		{"6.12", "6.12.106", "nvme_tcp", "page_frag_cache without locking while namespaces are scanned: memory corruption (up to at least 6.12.105)", "flatcar#2390"},
		{"0", "6.18.42", "nvmet_tcp", "use after free on a data digest mismatch", "CVE-2026-64535, CVE-2026-64534"},
		{"5.4", "5.5", "nvmet_tcp", "the target crashes on R2T for Connect", "spdk#1546"},
		{"5.8", "5.10.77", "nvme_tcp", "req->offset is corrupted", "Linux 5.10.77"},
		{"0", "5.10.70", "nvme_rdma", "a cm id is destroyed after its qp: use after free", "Linux 5.10.70"},
		{"5.11", "5.14.9", "nvme_rdma", "a cm id is destroyed after its qp: use after free", "Linux 5.14.9"},
	}
}

// faultList names them for readers.
func faultList() string {
	var list []string
	for _, f := range faults() {
		from := "of " + f.from + " and later, "
		if f.from == "0" {
			from = ""
		}
		list = append(list, fmt.Sprintf("%s %sbefore %s (%s)", f.module, from, f.to, f.source))
	}
	return "none of " + strings.Join(list, "; ")
}

func kernelFaults(h *Host, r *ruling) {
	switch v := version(h.Facts.Kernel); {
	case v == nil:
		r.unknown(h.place(), "its kernel is unknown")
	case h.Modules == nil:
		r.unknown(h.place(), "its modules are unknown")
	default:
		bad := false
		for _, f := range faults() {
			if slices.Compare(v, version(f.from)) >= 0 && slices.Compare(v, version(f.to)) < 0 && h.Modules[f.module] > 0 {
				bad = true
				r.bad(h.place(), "kernel %s with %s: %s (%s), unless its distribution has backported the fix", h.Facts.Kernel, f.module, f.text, f.source)
			}
		}
		if !bad {
			r.fine()
		}
	}
}

// version are the numbers that a kernel's begins with.
func version(text string) (list []int) {
	end := strings.IndexFunc(text, func(c rune) bool { return c != '.' && (c < '0' || c > '9') })
	if end >= 0 {
		text = text[:end]
	}
	for _, word := range strings.Split(text, ".") {
		if n, err := strconv.Atoi(word); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// role is what a machine is for, by its label; without one all are of one.
func (h *Host) role() string {
	if h.Server == nil {
		return ""
	}
	return h.Server.Labels["role"]
}

func kernels(s *Site, r *ruling) {
	for _, group := range slice.Group(s.Hosts, (*Host).role) {
		usual, alone := common(group, func(h *Host) string { return h.Facts.Kernel })
		for _, h := range group {
			if r.knows(h.Facts.Kernel != "", h.place(), "its kernel is unknown") {
				r.unless(h.Facts.Kernel != usual || !alone, h.place(), "kernel %s differs from other machines of its role", h.Facts.Kernel)
			}
		}
	}
}

// paths are the controllers of a machine that lead over a fabric.
func (h *Host) paths() []host.Controller {
	return slices.DeleteFunc(slices.Clone(h.Controllers), func(c host.Controller) bool {
		return c.Transport == "pcie" || c.Transport == "loop" || c.NQN == names.Discovery || c.Values["cntrltype"] == "discovery"
	})
}

func (h *Host) part(name string) Place {
	p := h.place()
	p.Part = name
	return p
}

func livePaths(h *Host, r *ruling) {
	for _, c := range h.paths() {
		if r.knows(c.State != "", h.part(c.Name), "its state could not be read") {
			r.unless(c.State != "live", h.part(c.Name), "the path to %s at %s is %s", c.NQN, c.Address, c.State)
		}
	}
}

// storage judges what live paths lead to. One path of the host that takes I/O is enough for a
// namespace; the others may be inaccessible.
func storage(h *Host, r *ruling) {
	live := slices.DeleteFunc(h.paths(), func(c host.Controller) bool { return c.State != "live" })
	serving := func(c host.Controller, disk string) bool {
		return slices.ContainsFunc(live, func(o host.Controller) bool {
			return o.NQN == c.NQN && o.HostNQN == c.HostNQN && slices.ContainsFunc(o.Namespaces, func(n host.Namespace) bool { return n.Disk == disk && host.Serves(n.State) })
		})
	}
	for _, c := range live {
		if !r.knows(c.Namespaces != nil, h.part(c.Name), "its namespaces could not be read") {
			continue
		}
		var states []string
		usable := false
		for _, n := range c.Namespaces {
			states = append(states, n.Disk+" is "+n.State)
			usable = usable || serving(c, n.Disk)
		}
		if len(c.Namespaces) == 0 {
			r.unless(true, h.part(c.Name), "%s at %s is connected, but shows %s no namespace", c.NQN, c.Address, cmp.Or(c.HostNQN, "this host"))
			continue
		}
		r.unless(!usable, h.part(c.Name), "%s at %s is connected, but no path of %s accepts I/O: %s", c.NQN, c.Address, cmp.Or(c.HostNQN, "this host"), strings.Join(states, ", "))
	}
}

func multipath(h *Host, r *ruling) {
	if len(h.paths()) == 0 {
		return
	}
	if r.knows(h.Multipath != "", h.place(), "nvme_core does not report it") {
		r.unless(h.Multipath != "Y", h.place(), "nvme_core.multipath is %s", h.Multipath)
	}
}

func ioPolicy(h *Host, r *ruling) {
	count := map[string]int{}
	for _, c := range h.paths() {
		count[c.NQN]++
	}
	for _, sub := range h.Subsystems {
		if count[sub.NQN] < 2 {
			continue
		}
		if r.knows(sub.Policy != "", h.part(sub.NQN), "its iopolicy could not be read") {
			r.unless(sub.Policy == "numa", h.part(sub.NQN), "%d paths, but iopolicy numa uses one", count[sub.NQN])
		}
	}
}

// leastLoss is how long a connection is to be tried again, in seconds.
const leastLoss = 60

func lossTimeout(h *Host, r *ruling) {
	for _, c := range h.paths() {
		text, ok := c.Values["ctrl_loss_tmo"]
		n, err := strconv.Atoi(text)
		switch {
		case text == "off":
			r.fine()
		case !ok || err != nil:
			r.unknown(h.part(c.Name), "its ctrl_loss_tmo could not be read")
		default:
			r.unless(n >= 0 && n < leastLoss, h.part(c.Name), "it is given up after only %d s", n)
		}
	}
}

func hostNQNs(s *Site, r *ruling) {
	first := map[string]*Host{}
	for _, h := range s.Hosts {
		seen := map[string]bool{}
		for _, c := range h.paths() {
			if !r.knows(c.HostNQN != "", h.part(c.Name), "its host NQN could not be read") {
				continue
			}
			if seen[c.HostNQN] {
				continue
			}
			seen[c.HostNQN] = true
			other := first[c.HostNQN]
			if other == nil {
				first[c.HostNQN] = h
			}
			r.unless(other != nil && other != h, h.place(), "%s uses the same host NQN: %s", nameOf(other), c.HostNQN)
		}
	}
}

func nameOf(h *Host) string {
	if h == nil {
		return ""
	}
	return h.Name
}

func fallback(s *Site, r *ruling) {
	if s.Model == nil || !slices.ContainsFunc(s.ends(), func(e end) bool { return e.fabric() != nil && e.fabric().Transport != "tcp" }) {
		return
	}
	tcp := map[string]bool{} // subsystems of which TCP is declared first: no path to them has fallen back
	for _, t := range s.Model.Targets {
		for _, sub := range t.Subsystems {
			tcp[sub.NQN] = len(t.Transport) > 0 && t.Transport[0] == inventory.TCP
		}
	}
	for _, h := range s.Hosts {
		for _, c := range h.paths() {
			switch c.Transport {
			case "":
				r.unknown(h.part(c.Name), "its transport could not be read")
			default:
				r.unless(c.Transport == "tcp" && !tcp[c.NQN], h.part(c.Name), "the path to %s at %s uses TCP", c.NQN, c.Address)
			}
		}
	}
}

func mixedPaths(h *Host, r *ruling) {
	for _, group := range slice.Group(h.paths(), func(c host.Controller) string { return c.NQN }) {
		kinds := map[string]bool{}
		for _, c := range group {
			kinds[c.Transport] = true
		}
		if r.knows(!kinds[""], h.part(group[0].NQN), "a transport could not be read") {
			r.unless(len(kinds) > 1, h.part(group[0].NQN), "its %d paths use %d transports", len(group), len(kinds))
		}
	}
}

func drives(h *Host, r *ruling) {
	local := slice.Filter(h.Controllers, func(c host.Controller) bool { return c.Transport == "pcie" })
	for _, group := range slice.Group(local, func(c host.Controller) string { return c.Model }) {
		usual, alone := common(group, func(c host.Controller) string { return c.Firmware })
		for _, c := range group {
			if r.knows(c.Firmware != "", h.part(c.Name), "its firmware could not be read") {
				r.unless(c.Firmware != usual || !alone, h.part(c.Name), "firmware %s differs from other %s of this machine", c.Firmware, c.Model)
			}
		}
	}
}
