package linux

import (
	"encoding/json"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/modules/linux/see"
)

func tellHealth(s remote.Seen) (*host.Health, error) {
	text, err := see.Output(s, healthLook())
	if err != nil {
		return nil, err
	}
	return parseHealth(text), nil
}

// A healthRead is what healthScript printed, sorted out.
type healthRead struct {
	*host.Health
	changes   map[string]int               // of carriers, by interface
	hardware  map[string]map[string]uint64 // counters of RDMA devices, by device
	aer       map[string]map[string]uint64 // by PCI address
	controls  map[string]*host.Controller
	paths     map[string]*host.Subsystem
	governors map[string]bool
	said      map[[2]string]string // by interface and what was asked
	states    []string             // of idle CPUs, as in Idle
	aspm      map[string]string    // by PCI address
	local     map[string]string    // CPUs, by PCI address
	gids      map[string]netip.Addr
	gidTypes  map[string]string    // by device/port/index
	ports     map[string][2]string // of the kernel's target, by id: transport and service
}

// parseHealth reads what healthScript printed. Lines that it does not know are left
// out.
func parseHealth(text []byte) *host.Health {
	facts := parseFacts(text)
	r := &healthRead{Health: &host.Health{Sysctls: map[string]int{}, Memory: map[string]int{}}, changes: map[string]int{},
		hardware: map[string]map[string]uint64{}, aer: map[string]map[string]uint64{}, controls: map[string]*host.Controller{},
		paths: map[string]*host.Subsystem{}, governors: map[string]bool{}, said: map[[2]string]string{}}
	var at [2]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if head, ok := strings.CutPrefix(line, "= "); ok {
			at[0], at[1], _ = strings.Cut(head, " ")
			r.said[at] += ""
			continue
		}
		if at[0] != "" {
			r.said[at] += line + "\n"
		} else if r.export(line) || r.target(line) {
			continue
		} else if path, value, ok := cutFile(line); ok && !r.system(path, printable(value)) {
			r.file(path, printable(value))
		}
	}
	r.clock()
	if list, asked := r.said[[2]string{"disks", ""}]; asked {
		r.Disks = append([]string{}, strings.Fields(printable(strings.ReplaceAll(list, "\n", " ")))...)
	}
	for _, pci := range slices.Sorted(maps.Keys(facts.devices)) {
		for _, place := range facts.places(pci) {
			n := facts.nic("", place)
			if n.Interface == "" && len(n.RDMA) == 0 {
				continue
			}
			r.Facts.NICs = append(r.Facts.NICs, n)
			r.NICs = append(r.NICs, r.nic(n))
		}
	}
	nics := r.Facts.NICs
	r.Facts = facts.server
	r.Facts.NICs = nics
	r.rest()
	for _, name := range slices.Sorted(maps.Keys(r.controls)) {
		r.controls[name].Smart = smart(r.said[[2]string{name, "smart"}])
		r.Controllers = append(r.Controllers, *r.controls[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.paths)) {
		r.Subsystems = append(r.Subsystems, *r.paths[name])
	}
	r.Governors = slices.Sorted(maps.Keys(r.governors))
	return r.Health
}

// cutFile cuts a line of grep; addresses of PCI devices hold colons, too.
func cutFile(line string) (path, value string, ok bool) {
	if !strings.HasPrefix(line, "/") {
		return "", "", false
	}
	if i := strings.Index(line, pciDevices); i == 0 {
		rest := line[len(pciDevices):]
		pci, file, found := strings.Cut(rest, "/")
		if !found {
			return "", "", false
		}
		name, value, ok := strings.Cut(file, ":")
		return pciDevices + pci + "/" + name, value, ok
	}
	return strings.Cut(line, ":")
}

// file takes one line of a file.
func (r *healthRead) file(path, value string) {
	p := strings.Split(path, "/")
	last := p[len(p)-1]
	switch {
	case last == "carrier_changes":
		if n, err := strconv.Atoi(value); err == nil {
			r.changes[p[len(p)-2]] = n
		}
	case strings.HasPrefix(last, "aer_dev_"):
		r.errors(p[len(p)-2], strings.TrimPrefix(last, "aer_dev_"), value)
	case strings.HasPrefix(path, rdmaDevices) && len(p) > 7 && p[7] == "hw_counters":
		add(r.hardware, p[4], last, value)
	case path == "/proc/cmdline":
		r.Cmdline = &value
	case path == "/proc/uptime":
		first, _, _ := strings.Cut(value, " ")
		if s, err := strconv.ParseFloat(first, 64); err == nil && s < 1e9 {
			r.Uptime = time.Duration(s * float64(time.Second))
		}
	case path == "/proc/swaps":
		r.swap(value)
	case path == "/proc/sys/kernel/hostname":
		r.Name = value
	case strings.HasPrefix(path, "/proc/sys/"):
		if n, err := strconv.Atoi(value); err == nil {
			r.Sysctls[strings.TrimPrefix(path, "/proc/sys/")] = n
		}
	case path == "/proc/meminfo":
		key, amount, _ := strings.Cut(value, ":")
		if w := strings.Fields(amount); len(w) > 0 {
			if n, err := strconv.Atoi(w[0]); err == nil {
				r.Memory[key] = n
			}
		}
	case last == "scaling_governor":
		r.governors[value] = true
	case last == "ue_count":
		if n, err := strconv.Atoi(value); err == nil {
			sum := n
			if r.MemoryErrs != nil {
				sum += *r.MemoryErrs
			}
			r.MemoryErrs = &sum
		}
	case last == "initstate":
		if r.Modules == nil {
			r.Modules = map[string]int{}
		}
		r.Modules[p[3]]++
	case path == "/sys/module/nvme_core/parameters/multipath":
		r.Multipath = value
	case strings.HasPrefix(path, "/sys/class/nvme-subsystem/"):
		r.subsystem(p[4], last, value)
	case strings.HasPrefix(path, "/sys/class/nvme/"):
		r.controller(p[4], strings.Join(p[5:], "/"), value)
	}
}

// subsystem takes a file of an NVMe subsystem: its policy, or its NQN.
func (r *healthRead) subsystem(name, file, value string) {
	s := r.paths[name]
	if s == nil {
		s = &host.Subsystem{}
		r.paths[name] = s
	}
	if file == "iopolicy" {
		s.Policy = value
	} else {
		s.NQN = value
	}
}

// errors takes a file of PCIe errors: the sums of them, not each kind.
func (r *healthRead) errors(pci, kind, line string) {
	w := strings.Fields(line)
	if len(w) != 2 {
		return
	}
	if strings.HasPrefix(w[0], "TOTAL_ERR_") {
		add(r.aer, pci, kind, w[1])
	}
}

func add(all map[string]map[string]uint64, of, name, value string) {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
	if err != nil {
		return
	}
	if all[of] == nil {
		all[of] = map[string]uint64{}
	}
	all[of][name] += n
}

// swap takes a line of /proc/swaps; its head is one, too.
func (r *healthRead) swap(line string) {
	used := 0
	if r.Swaps != nil {
		used = *r.Swaps
	}
	if w := strings.Fields(line); len(w) == 5 && w[0] != "Filename" {
		n, err := strconv.Atoi(w[3])
		if err != nil {
			return
		}
		used += n
	}
	r.Swaps = &used
}

func (r *healthRead) controller(name, file, value string) {
	c := r.controls[name]
	if c == nil {
		c = &host.Controller{Name: name, Values: map[string]string{}}
		r.controls[name] = c
	}
	if path, attr, ok := strings.Cut(file, "/"); ok && strings.HasPrefix(path, "nvme") {
		c.Namespaces = withNamespace(c.Namespaces, nvme.HeadOf(path), attr, value)
		return
	}
	switch file {
	case "namespaces": // they were looked for
		if c.Namespaces == nil {
			c.Namespaces = []host.Namespace{}
		}
	case "model":
		c.Model = value
	case "firmware_rev":
		c.Firmware = value
	case "transport":
		c.Transport = value
	case "state":
		c.State = value
	case "address":
		c.Address = value
	case "subsysnqn":
		c.NQN = value
	case "hostnqn":
		c.HostNQN = value
	default:
		c.Values[file] = value
	}
}

func (r *healthRead) clock() {
	text := strings.TrimSpace(r.said[[2]string{"clock", ""}])
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e11 {
		whole, part := math.Modf(s)
		t := time.Unix(int64(whole), int64(part*1e9))
		r.Clock = &t
	}
}

// nic puts together what was said of an interface.
func (r *healthRead) nic(f host.NICFacts) host.NICHealth {
	n := host.NICHealth{NICFacts: f, Count: map[string]uint64{}, Silent: map[string]string{}, AER: r.aer[f.PCI]}
	if flaps, ok := r.changes[f.Interface]; ok {
		n.Flaps = &flaps
	}
	for _, p := range f.RDMA {
		maps.Copy(n.Count, r.hardware[p.Device])
	}
	for _, ask := range []struct {
		what string
		take func(*host.NICHealth, string) bool
	}{{"pfc", takePFC}, {"app", takeDSCP}, {"ets", takeETS}, {"pause", takePause}, {"fec", takeFEC}, {"dcbx", takeDCBX}, {"flags", takeFlags}, {"count", takeCounters}, {"optics", takeOptics}} {
		said := r.said[[2]string{f.Interface, ask.what}]
		if !ask.take(&n, said) {
			n.Silent[ask.what] = printable(strings.TrimSpace(said))
		}
	}
	takeLost(&n, r.said[[2]string{f.Interface, "fec"}])
	takePriorities(&n, r.said[[2]string{f.Interface, "ets"}])
	takeECN(&n, r.said[[2]string{f.Interface, "ecn"}])
	r.card(&n)
	return n
}

func takePFC(n *host.NICHealth, said string) bool {
	var got struct {
		Prio []bool `json:"prio_pfc"`
	}
	if see.JSON([]byte(said), &got) != nil || len(got.Prio) != traffic.Priorities {
		return false
	}
	n.PFC = []int{}
	for p, on := range got.Prio {
		if on {
			n.PFC = append(n.PFC, p)
		}
	}
	return true
}

func takeDSCP(n *host.NICHealth, said string) bool {
	var got struct {
		Entries [][]json.RawMessage `json:"dscp_prio"`
	}
	if see.JSON([]byte(said), &got) != nil {
		return false
	}
	n.DSCP = map[int]int{}
	for _, e := range got.Entries {
		var dscp, priority int
		if len(e) < 2 || json.Unmarshal(e[0], &dscp) != nil && !quotedNumber(e[0], &dscp) || json.Unmarshal(e[1], &priority) != nil {
			continue
		}
		n.DSCP[dscp] = priority
	}
	return true
}

func quotedNumber(raw json.RawMessage, n *int) bool {
	v, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	*n = v
	return err == nil
}

func takeETS(n *host.NICHealth, said string) bool {
	var got struct {
		TSA   []string `json:"tc_tsa"`
		Share []int    `json:"tc_bw"`
	}
	if see.JSON([]byte(said), &got) != nil || len(got.TSA) != traffic.Priorities || len(got.Share) != traffic.Priorities {
		return false
	}
	n.ETS = &host.Shares{}
	for tc, how := range got.TSA {
		n.ETS[tc] = got.Share[tc]
		if how != "ets" {
			n.ETS[tc] = -1
		}
	}
	return true
}

func takePause(n *host.NICHealth, said string) bool {
	if strings.Contains(said, "Operation not supported") {
		n.Pause = &host.GlobalPause{} // a driver that knows none
		return true
	}
	p, seen := host.GlobalPause{}, 0
	for line := range strings.Lines(said) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		on := strings.TrimSpace(value) == "on"
		switch key {
		case "RX":
			p.RX = on
		case "TX":
			p.TX = on
		default:
			continue
		}
		seen++
	}
	if seen == 2 {
		n.Pause = &p
	}
	return seen == 2
}

func takeFEC(n *host.NICHealth, said string) bool {
	for line := range strings.Lines(said) {
		for _, key := range []string{"Active FEC encoding:", "Active FEC encodings:"} {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), key); ok {
				n.FEC = printable(strings.TrimSpace(value))
			}
		}
	}
	return n.FEC != ""
}

func takeCounters(n *host.NICHealth, said string) bool {
	found := false
	for line := range strings.Lines(said) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if v, err := strconv.ParseUint(value, 10, 64); ok && err == nil {
			n.Count[key] = v
			found = true
		}
	}
	return found
}
