package linux

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"weft/internal/pattern"
	"weft/modules/host"
	"weft/modules/linux/see"
)

// system takes a line of a file that systemScript printed; false: it is none of those.
func (r *healthRead) system(path, value string) bool {
	p := strings.Split(path, "/")
	last := p[len(p)-1]
	switch {
	case strings.HasPrefix(path, "/sys/devices/system/cpu/vulnerabilities/"), path == "/sys/devices/system/cpu/smt/active":
		note(&r.Flaws, last, value)
	case strings.HasPrefix(path, "/sys/devices/system/cpu/cpu0/cpuidle/state"):
		r.sleep(p[len(p)-2], last, value)
	case path == "/sys/kernel/security/lockdown":
		r.Lockdown = value
	case strings.HasPrefix(path, "/sys/module/") && last == "version":
		note(&r.Versions, p[3], value)
	case path == "/sys/module/ko2iblnd/parameters/tos":
		r.LNetToS = value
	case path == "/sys/module/nvidia_fs/parameters/rw_stats_enabled":
		r.gpus().Counts = value
	case path == "/proc/driver/nvidia/version":
		if g := r.gpus(); g.Driver == "" {
			g.Driver = value
		}
	case path == "/proc/driver/nvidia-fs/version":
		r.gpus().FS = value
	case path == "/proc/fs/nfsd/portlist":
		r.NFSPorts = append(r.NFSPorts, value)
	case path == "/proc/stat":
		r.Ticks = ticksOf(value)
	case path == "/proc/mounts":
		if w := strings.Fields(value); len(w) >= 4 {
			r.Mounts = append(r.Mounts, host.Mount{Device: w[0], Dir: w[1], Type: w[2], Options: w[3]})
		}
	case path == "/proc/self/mountstats":
		if w := strings.Fields(value); len(w) > 4 { // xprt: rdma port binds connects
			if n, err := strconv.Atoi(w[4]); err == nil {
				r.NFSRDMA = append(r.NFSRDMA, n)
			}
		}
	case strings.HasPrefix(path, pciDevices) && last == "l1_aspm":
		note(&r.aspm, strings.Split(strings.TrimPrefix(path, pciDevices), "/")[0], value)
	case strings.HasPrefix(path, pciDevices) && last == "local_cpulist":
		note(&r.local, strings.Split(strings.TrimPrefix(path, pciDevices), "/")[0], value)
	case strings.HasPrefix(path, rdmaDevices) && len(p) > 8 && p[7] == "counters":
		add(r.hardware, p[4], last, value)
	case strings.HasPrefix(path, rdmaDevices) && len(p) > 8 && p[7] == "gids":
		if a, err := netip.ParseAddr(value); err == nil {
			note(&r.gids, p[4]+"/"+p[6]+"/"+last, a)
		}
	case strings.HasPrefix(path, rdmaDevices) && len(p) > 9 && p[8] == "types":
		note(&r.gidTypes, p[4]+"/"+p[6]+"/"+last, value)
	default:
		return false
	}
	return true
}

func note[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

func (r *healthRead) gpus() *host.GPUs {
	if r.GPUs == nil {
		r.GPUs = &host.GPUs{Paths: map[string]string{}}
	}
	return r.GPUs
}

// sleep takes a file of an idle state.
func (r *healthRead) sleep(state, file, value string) {
	i := slices.Index(r.states, state)
	if i < 0 {
		i = len(r.states)
		r.states, r.Idle = append(r.states, state), append(r.Idle, host.IdleState{})
	}
	switch s := &r.Idle[i]; file {
	case "name":
		s.Name = value
	case "latency":
		s.Latency, _ = strconv.Atoi(value)
	case "disable":
		s.Off = value != "0"
	}
}

// ticksOf reads the first line of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq, steal.
func ticksOf(line string) *host.Ticks {
	w := strings.Fields(line)
	if len(w) < 9 {
		return nil
	}
	t := &host.Ticks{}
	for i, text := range w[1:9] {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil
		}
		t.All += n
		if i == 7 {
			t.Stolen = n
		}
	}
	return t
}

var exported = pattern.New(`^/sys/kernel/config/nvmet/subsystems/(.+?)/(?:(attr_[a-z_]+)|namespaces/([0-9]+)/([a-z_]+)):(.*)$`)

// export takes a line about the kernel's target, whose paths hold colons; false: it is
// none.
func (r *healthRead) export(line string) bool {
	m := exported.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	nqn, value := printable(m[1]), printable(m[5])
	e := r.exportOf(nqn)
	switch m[2] {
	case "attr_allow_any_host":
		e.AnyHost = value
	case "attr_cntlid_min":
		e.CntlidMin = value
	case "attr_cntlid_max":
		e.CntlidMax = value
	case "":
		n := slices.IndexFunc(e.Namespaces, func(x host.ExportNamespace) bool { return x.ID == m[3] })
		if n < 0 {
			n = len(e.Namespaces)
			e.Namespaces = append(e.Namespaces, host.ExportNamespace{ID: m[3], Values: map[string]string{}})
		}
		e.Namespaces[n].Values[m[4]] = value
	}
	return true
}

// exportOf is the subsystem of that name, which is made where it is new.
func (r *healthRead) exportOf(nqn string) *host.Export {
	i := slices.IndexFunc(r.Exports, func(e host.Export) bool { return e.NQN == nqn })
	if i < 0 {
		i = len(r.Exports)
		r.Exports = append(r.Exports, host.Export{NQN: nqn})
	}
	return &r.Exports[i]
}

// rest sorts out what tools said that are asked once.
func (r *healthRead) rest() {
	one := func(what string) (string, bool) {
		text, ok := r.said[[2]string{what, ""}]
		return text, ok
	}
	if text, ok := one("df"); ok {
		r.Full = fullness(text)
	}
	if text, ok := one("units"); ok {
		if w := strings.Fields(text); len(w) == 2 {
			r.Units = map[string]string{"lldpad": printable(w[0]), "nvmet": printable(w[1])}
		}
	}
	if text, ok := one("links"); ok {
		r.Netdevs = netdevs(text)
	}
	if text, ok := one("rules"); ok {
		var rules []json.RawMessage
		if see.JSON([]byte(text), &rules) == nil {
			n := len(rules)
			r.Rules = &n
		}
	}
	r.network(one)
	r.storage(one)
	if text, ok := one("lnet"); ok {
		r.LNet = lnet(text)
	}
	if text, ok := one("lfs"); ok {
		r.Lustre = lustre(text)
	}
	if text, ok := one("weka"); ok {
		r.Weka = weka(text)
	}
	if r.GPUs == nil {
		return
	}
	if text, ok := one("cufile"); ok {
		r.GPUs.Config, r.GPUs.Lists = cufile(text)
	}
	if text, ok := one("p2pdma"); ok && text != "" {
		on := strings.HasSuffix(strings.TrimSpace(text), "=y")
		r.GPUs.Peering = &on
	}
	for at, text := range r.said {
		if at[1] == "gpu" {
			r.GPUs.Paths[at[0]] = printable(strings.TrimSpace(text))
		}
	}
}

// fullness reads df -P: percent by where it is mounted.
func fullness(text string) map[string]int {
	var out map[string]int
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 6 {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSuffix(w[4], "%")); err == nil {
			note(&out, printable(w[5]), n)
		}
	}
	return out
}

// netdevs reads ip -j -d addr show; nil: it was not understood.
func netdevs(text string) (out []host.Netdev) {
	var links []struct {
		Name  string `json:"ifname"`
		MAC   string `json:"address"`
		Below string `json:"link"`
		Of    string `json:"master"`
		MTU   int    `json:"mtu"`
		Info  struct {
			Kind string `json:"info_kind"`
			In   string `json:"info_slave_kind"`
		} `json:"linkinfo"`
		Addrs []struct {
			Local netip.Addr `json:"local"`
			Bits  int        `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if see.JSON([]byte(text), &links) != nil {
		return nil
	}
	out = []host.Netdev{}
	for _, l := range links {
		d := host.Netdev{Name: printable(l.Name), Below: printable(l.Below), Kind: printable(l.Info.Kind), MAC: printable(l.MAC), MTU: l.MTU}
		if l.Info.In == "bond" {
			d.Bond = printable(l.Of)
		}
		for _, a := range l.Addrs {
			if p := netip.PrefixFrom(a.Local, a.Bits); p.IsValid() && !a.Local.IsLinkLocalUnicast() && !a.Local.IsLoopback() {
				d.Addresses = append(d.Addresses, p)
			}
		}
		out = append(out, d)
	}
	return out
}

// lnet reads lnetctl net show -v 4, which is YAML; nil: it was not understood.
func lnet(text string) *host.LNet {
	type document struct {
		Net []struct {
			Type string `yaml:"net type"`
			NIs  []struct {
				NID    string `yaml:"nid"`
				Status string `yaml:"status"`
				Health struct {
					Value    *int `yaml:"health value"`
					Timeouts *int `yaml:"timeouts"`
				} `yaml:"health stats"`
				Tunables struct {
					Credits *int `yaml:"peer_credits"`
				} `yaml:"tunables"`
			} `yaml:"local NI(s)"`
		} `yaml:"net"`
	}
	var down struct {
		Show []struct {
			Net struct {
				Errno int    `yaml:"errno"`
				Descr string `yaml:"descr"`
			} `yaml:"net"`
		} `yaml:"show"`
	}
	if yaml.Unmarshal([]byte(text), &down) == nil && len(down.Show) > 0 {
		return &host.LNet{Down: printable(fmt.Sprintf("%s (%d)", down.Show[0].Net.Descr, down.Show[0].Net.Errno))}
	}
	var doc document
	if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Net) == 0 {
		return nil
	}
	told := func(n *int) int {
		if n == nil {
			return -1
		}
		return *n
	}
	out := &host.LNet{}
	for _, n := range doc.Net {
		for _, ni := range n.NIs {
			out.NIs = append(out.NIs, host.LNetNI{Net: printable(n.Type), NID: printable(ni.NID), Status: printable(ni.Status),
				Health: told(ni.Health.Value), Credits: told(ni.Tunables.Credits), Timeouts: told(ni.Health.Timeouts)})
		}
	}
	return out
}

// lustre reads lfs check servers: "NAME active."; nil: nothing was understood.
func lustre(text string) map[string]string {
	var out map[string]string
	for line := range strings.Lines(text) {
		if name, state, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Contains(name, "-") {
			note(&out, printable(strings.TrimSuffix(name, ":")), printable(strings.Trim(state, " .")))
		}
	}
	return out
}

// weka reads weka status --json: what of it is judged; empty: it was not understood.
func weka(text string) map[string]string {
	var doc struct {
		Status string `json:"status"`
		IO     string `json:"io_status"`
		Time   struct {
			Skew *float64 `json:"allowed_clock_skew_secs"`
		} `json:"time"`
	}
	out := map[string]string{}
	if see.JSON([]byte(text), &doc) != nil {
		return out
	}
	for key, value := range map[string]string{"status": doc.Status, "io_status": doc.IO} {
		if value != "" {
			out[key] = printable(value)
		}
	}
	if doc.Time.Skew != nil {
		out["skew"] = strconv.FormatFloat(*doc.Time.Skew, 'f', -1, 64)
	}
	return out
}

var (
	cufileWord = pattern.New(`^\s*"(\w+)"\s*:\s*(true|false)`)
	cufileList = pattern.New(`"(rdma_dev_addr_list)"\s*:\s*\[([^\]]*)\]`)
	comment    = pattern.New(`(?m)^\s*//.*$`)
)

// cufile reads cufile.json, which is JSON with comments.
func cufile(text string) (words map[string]string, lists map[string][]string) {
	text = comment.ReplaceAllString(text, "")
	words = map[string]string{}
	for line := range strings.Lines(text) {
		if m := cufileWord.FindStringSubmatch(line); m != nil {
			words[m[1]] = m[2]
		}
	}
	for _, m := range cufileList.FindAllStringSubmatch(text, -1) {
		for _, word := range strings.Split(m[2], ",") {
			if word = printable(strings.Trim(strings.TrimSpace(word), `"`)); word != "" {
				if lists == nil {
					lists = map[string][]string{}
				}
				lists[m[1]] = append(lists[m[1]], word)
			}
		}
	}
	return words, lists
}
