package linux

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/modules/linux/see"
)

// storageScript asks who is connected to the kernel's target and where it listens, how full thin pools are, how
// RoCE is marked by default, what is below mirrors of md, what weft's agents may lock, and on
// machines with GPUs for hooks of nvidia-fs and ACS.
const storageScript = `g=/sys/kernel/config/nvmet; for f in $g/subsystems/*/allowed_hosts/*; do if [ -e "$f" ]; then echo "$f:"; fi; done
grep -sH "" $g/ports/*/addr_trtype $g/ports/*/addr_trsvcid
if [ -d /sys/kernel/debug/nvmet ]; then echo "/sys/kernel/debug/nvmet:"; grep -sH "" /sys/kernel/debug/nvmet/*/ctrl*/hostnqn; fi
echo "= rocetos"; grep -sH "" /sys/kernel/config/rdma_cm/*/ports/1/default_roce_tos
if [ -d $g/ports ]; then echo "= exported"; for l in $g/ports/*/subsystems/*; do if [ -e "$l" ]; then l=${l%/*}; l=${l%/*}
echo "$(cat $l/addr_trtype) $(cat $l/addr_traddr) $(cat $l/addr_trsvcid)"; fi; done
echo "= listens"; rdma resource show cm_id 2>&1; echo "rc $?"; fi
echo "= mirrored"; for m in /sys/block/md*; do case $(cat $m/md/level 2>/dev/null) in raid1|raid10) for s in $m/slaves/nvme*; do
grep -sh "" $s/device/subsysnqn $s/../device/subsysnqn; done;; esac; done
echo "= agents"; for c in $(grep -lsx -e weft-target -e weft-initiator /proc/[0-9]*/comm); do
echo "$(cat $c) $(grep -s "^Max locked memory" ${c%/*}/limits) $(grep -s "^CapEff" ${c%/*}/status)"; done
if [ -e /sys/module/dm_thin_pool ]; then echo "= thin"; lvs --reportformat json -o vg_name,lv_name,data_percent,metadata_percent -S lv_layout=~pool 2>/dev/null; fi
if [ -e /proc/driver/nvidia/version ]; then echo "= hooks"; grep -o "[a-z_0-9]*register_nvfs_dma_ops" /proc/kallsyms 2>&1; echo .
if command -v setpci >/dev/null 2>&1; then for d in $b $(ls /proc/driver/nvidia/gpus 2>/dev/null); do u=$(readlink -f $p/$d); u=${u%/*}
while [ -e "$u/current_link_width" ]; do echo "= ${u##*/} acs"; setpci -s "${u##*/}" ECAP_ACS+0x6.w 2>&1; u=${u%/*}; done; done; fi; fi`

var (
	allowed   = pattern.New(`^/sys/kernel/config/nvmet/subsystems/(.+?)/allowed_hosts/(.+):$`)
	connected = pattern.New(`^/sys/kernel/debug/nvmet/(.+)/ctrl[0-9]+/hostnqn:(.*)$`)
	listener  = pattern.New(`^/sys/kernel/config/nvmet/ports/([^/]+)/addr_(trtype|trsvcid):(.*)$`)
	tosFile   = pattern.New(`^/sys/kernel/config/rdma_cm/([^/]+)/ports/1/default_roce_tos:(.*)$`)
)

// target takes a line about whom the kernel's target lets in and has; false: it is none.
func (r *healthRead) target(line string) bool {
	if line == "/sys/kernel/debug/nvmet:" {
		r.Sessions = true
		return true
	}
	if m := allowed.FindStringSubmatch(line); m != nil {
		e := r.exportOf(printable(m[1]))
		e.Allowed = append(e.Allowed, printable(m[2]))
		return true
	}
	if m := connected.FindStringSubmatch(line); m != nil {
		e, who := r.exportOf(printable(m[1])), printable(m[2])
		if !slices.Contains(e.Connected, who) {
			e.Connected = append(e.Connected, who)
		}
		return true
	}
	if m := listener.FindStringSubmatch(line); m != nil {
		p := r.ports[m[1]]
		p[map[string]int{"trtype": 0, "trsvcid": 1}[m[2]]] = printable(m[3])
		note(&r.ports, m[1], p)
		return true
	}
	return false
}

// storage sorts out what storageScript printed.
func (r *healthRead) storage(one func(string) (string, bool)) {
	for _, p := range r.ports {
		if p[0] != "" && p[1] != "" {
			r.Listens = append(r.Listens, p[0]+" "+p[1])
		}
	}
	slices.Sort(r.Listens)
	if text, ok := one("rocetos"); ok {
		for line := range strings.Lines(text) {
			if m := tosFile.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				note(&r.RoCEToS, printable(m[1]), printable(m[2]))
			}
		}
	}
	if text, ok := one("thin"); ok {
		r.Thin = thinPools(text)
	}
	if text, ok := one("exported"); ok {
		r.exported(text)
	}
	if text, ok := one("listens"); ok {
		r.listeners(text)
	}
	if text, ok := one("mirrored"); ok {
		r.Mirrored = []string{}
		r.Mirrored = append(r.Mirrored, slice.Map(strings.Fields(text), printable)...)
	}
	if text, ok := one("agents"); ok {
		for line := range strings.Lines(text) {
			if a, ok := agentLimits(line); ok {
				r.Agents = append(r.Agents, a)
			}
		}
	}
	if r.GPUs == nil {
		return
	}
	if text, ok := one("hooks"); ok && strings.HasSuffix(strings.TrimSpace(text), ".") && !strings.Contains(text, "grep:") {
		r.GPUs.Hooks = []string{}
		for _, name := range strings.Fields(text) {
			if name != "." && !slices.Contains(r.GPUs.Hooks, printable(name)) {
				r.GPUs.Hooks = append(r.GPUs.Hooks, printable(name))
			}
		}
	}
	for at, text := range r.said {
		if at[1] != "acs" {
			continue
		}
		text = strings.TrimSpace(text)
		switch {
		case len(text) == 4 && strings.Trim(text, "0123456789abcdef") == "":
			note(&r.GPUs.ACS, printable(at[0]), text)
		case strings.Contains(text, "not found"):
			note(&r.GPUs.ACS, printable(at[0]), "")
		}
	}
}

// exported reads at which ports the kernel's target is to serve a subsystem.
func (r *healthRead) exported(text string) {
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) != 3 {
			continue
		}
		if at := printable(w[0] + " " + net.JoinHostPort(w[1], w[2])); !slices.Contains(r.Exported, at) {
			r.Exported = append(r.Exported, at)
		}
	}
}

// listeners reads which addresses the connection manager of RDMA listens at, if it answered.
func (r *healthRead) listeners(text string) {
	if strings.HasSuffix(strings.TrimSpace(text), "rc 0") {
		r.CMListens = append([]string{}, slice.Map(see.CMListeners(text), printable)...)
	}
}

// mayLock is CAP_IPC_LOCK: whoever has it locks what it will.
const mayLock = 1 << 14

// agentLimits reads what a process is called and may lock: its soft limit, in bytes.
//
//	weft-target Max locked memory  8388608  8388608  bytes CapEff:	000001ffffffffff
func agentLimits(line string) (host.AgentLimits, bool) {
	w := strings.Fields(line)
	if len(w) == 0 {
		return host.AgentLimits{}, false
	}
	a := host.AgentLimits{Name: printable(w[0])}
	if len(w) == 9 && w[7] == "CapEff:" {
		if caps, err := strconv.ParseUint(w[8], 16, 64); err == nil {
			a.Lock = printable(w[4])
			a.Free = caps&mayLock != 0
		}
	}
	return a, true
}

// thinPools reads lvs in JSON; nil: it was not understood.
func thinPools(text string) []host.ThinPool {
	var doc struct {
		Report []struct {
			LV []struct {
				VG       string `json:"vg_name"`
				Name     string `json:"lv_name"`
				Data     string `json:"data_percent"`
				Metadata string `json:"metadata_percent"`
			} `json:"lv"`
		} `json:"report"`
	}
	if see.JSON([]byte(text), &doc) != nil || doc.Report == nil {
		return nil
	}
	out := []host.ThinPool{}
	for _, r := range doc.Report {
		for _, l := range r.LV {
			data, ok := percent(l.Data)
			meta, also := percent(l.Metadata)
			if ok && also {
				out = append(out, host.ThinPool{Name: printable(l.VG + "/" + l.Name), Data: data, Metadata: meta})
			}
		}
	}
	return out
}

// percent reads what lvm2 writes as one.
func percent(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil
}

// withNamespace adds what a file says of a namespace.
func withNamespace(list []host.Namespace, disk, attr, value string) []host.Namespace {
	i := slices.IndexFunc(list, func(n host.Namespace) bool { return n.Disk == disk })
	if i < 0 {
		i, list = len(list), append(list, host.Namespace{Disk: disk})
	}
	if attr == "ana_state" {
		list[i].State = value
	}
	return list
}
