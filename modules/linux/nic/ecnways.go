package nic

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/modules/linux/put"
)

// The ways to congestion control of RoCE.
const (
	wayOFED  = "mlnx-ofed" // mlx5 of MLNX_OFED or DOCA: sysfs of the network interface
	wayInbox = "mlx5"      // mlx5 of the kernel: debugfs, CNPs only
	wayBnxt  = "bnxt_re"   // Broadcom's own bnxt_re: configfs
)

const bnxtDir = "/sys/kernel/config/bnxt_re"

// ecnScript prints what there is of the ways for the interface $1 of the PCI
// device $2: the way, then an attribute and its value in each line.
const ecnScript = `show() { for f; do if [ -e "$f" ]; then echo "$f $(cat "$f")"; fi; done; }; ` +
	`if cd "/sys/class/net/$1/ecn" 2>/dev/null; then echo ` + wayOFED + `; ` +
	`show roce_np/enable/* roce_rp/enable/* roce_np/cnp_dscp roce_np/cnp_802p_prio; ` +
	`elif cd "/sys/kernel/debug/mlx5/$2/cc_params" 2>/dev/null; then echo ` + wayInbox + `; show np_cnp_dscp np_cnp_prio; ` +
	`elif cd ` + bnxtDir + ` 2>/dev/null; then echo ` + wayBnxt + `; ` +
	`show */ports/1/cc/ecn_enable */ports/1/cc/ecn_marking */ports/1/cc/*_prio */ports/1/cc/*_dscp; ` +
	`grep -s -H fw_service_prof_type_sup /sys/kernel/debug/bnxt_re/*/info; fi; exit 0`

// ecnByMAC is ecnScript for a port that is known by its MAC address.
const ecnByMAC = `b=$(readlink -f "/sys/class/net/$1/device"); set -- "$1" "${b##*/}"; ` + ecnScript

// wanted are the attributes that a declared state sets by a way.
func (e *ECN) wanted(way string) ecnValues {
	v := ecnValues{}
	switch way {
	case wayOFED:
		for _, p := range e.Priorities {
			v[fmt.Sprintf("roce_np/enable/%d", p)] = 1
			v[fmt.Sprintf("roce_rp/enable/%d", p)] = 1
		}
		if e.CNP != nil {
			v["roce_np/cnp_dscp"], v["roce_np/cnp_802p_prio"] = e.CNP.DSCP, e.CNP.Priority
		}
	case wayInbox:
		if e.CNP != nil {
			v["np_cnp_dscp"], v["np_cnp_prio"] = e.CNP.DSCP, e.CNP.Priority
		}
	case wayBnxt:
		if len(e.Priorities) > 0 {
			v["ecn_enable"], v["ecn_marking"] = 1, 1
		}
		if e.Storage != nil {
			v["roce_dscp"], v["roce_prio"] = e.Storage.DSCP, e.Storage.Priority
		}
		if e.CNP != nil {
			v["cnp_dscp"], v["cnp_prio"] = e.CNP.DSCP, e.CNP.Priority
		}
	}
	return v
}

// read takes what ecnScript printed about a port into an observed state.
func (e *ECN) read(text, driver string) error {
	way, rest, _ := strings.Cut(text, "\n")
	e.Values = ecnValues{}
	switch {
	case way == wayOFED:
		return e.readValues(way, rest, "")
	case way == wayInbox && driver == "mlx5_core":
		e.left = "whether its firmware answers marks for a priority is not visible without MLNX_OFED: by default it does, see " +
			"mlxconfig -d " + e.function + " query ROCE_CC_PRIO_MASK_P1; described, not yet managed"
		return e.readValues(way, rest, "")
	case way == wayBnxt && driver == "bnxt_en" && e.device != "":
		return e.readBnxt(rest)
	case driver == "mlx5_core":
		e.left = "mlx5 of the kernel is told about CNPs through debugfs, which is not there: it is not mounted, or the kernel is locked down; nothing is set"
	case driver == "bnxt_en":
		e.left = "bnxt_re of the kernel has no way to set congestion control that is known, Broadcom's own has; nothing is set: described, not yet managed"
	case driver == "":
		e.left = "its driver is unknown, and so is how congestion control is set: described, not yet managed"
	default:
		e.left = "with driver " + driver + " no way to set congestion control is known; nothing is set: described, not yet managed"
	}
	return nil
}

// readBnxt reads what Broadcom's driver shows of the device, if anything.
func (e *ECN) readBnxt(text string) error {
	dir := e.device + "/ports/1/cc/"
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 3 && strings.Contains(f[0], "/"+e.device+"/info:") && f[2] == "1" {
			e.left = "the firmware decides on the priorities and DSCPs of its RoCE traffic (service type 1); nothing is set: described, not yet managed"
			return nil
		}
	}
	if err := e.readValues(wayBnxt, text, dir); err != nil {
		return err
	}
	e.Hidden = len(e.Values) == 0
	return nil
}

// readValues reads lines of attributes whose names begin with a prefix.
func (e *ECN) readValues(way, text, prefix string) error {
	e.Way = way
	for line := range strings.Lines(text) {
		file, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, ours := strings.CutPrefix(file, prefix)
		if !ours || prefix == "" && strings.HasPrefix(name, "/") {
			continue
		}
		n, err := strconv.ParseInt(value, 0, 32)
		if err != nil {
			return fmt.Errorf("%s of %s is %q", file, e.Interface, value)
		}
		e.Values[name] = int(n)
	}
	return nil
}

// anyFunction stands for the PCI function of a NIC port in steps that become lines of a boot
// script.
const anyFunction = "weft-function"

// An ecnPlace is where the attributes of one NIC port are.
type ecnPlace struct{ netdev, pci, device string }

func (p ecnPlace) debug() string { return "/sys/kernel/debug/mlx5/" + p.pci + "/cc_params" }
func (p ecnPlace) bnxt() string  { return bnxtDir + "/" + p.device + "/ports/1/cc" }

// set gives attributes values. Broadcom's driver takes hexadecimal numbers, and
// all of them together at the end.
func (p ecnPlace) set(way string, values ecnValues) []remote.Step {
	dir, format := "/sys/class/net/"+p.netdev+"/ecn", "%d"
	switch way {
	case wayInbox:
		dir = p.debug()
	case wayBnxt:
		dir, format = p.bnxt(), "%#x"
	}
	names := slices.Sorted(maps.Keys(values))
	if way == wayBnxt {
		names = slices.DeleteFunc(bnxtAttributes(), func(a string) bool { _, set := values[a]; return !set })
	}
	steps := slice.Map(names, func(a string) remote.Step { return put.Set(dir+"/"+a, fmt.Sprintf(format, values[a])) })
	if way == wayBnxt && len(steps) > 0 {
		steps = append(steps, put.Set(dir+"/apply", "0x1"))
	}
	return steps
}

// reveal makes the directory in which Broadcom's driver shows the values, and
// writes them down.
func (p ecnPlace) reveal() []remote.Step {
	return []remote.Step{host.Run("mkdir", "-p", bnxtDir+"/"+p.device),
		put.KeepValues(p.bnxt(), put.KeptFile("ecn", p.device), bnxtAttributes()...)}
}

// bnxtAttributes are in the order in which Broadcom's own script sets them.
func bnxtAttributes() []string {
	return []string{"ecn_marking", "ecn_enable", "cnp_prio", "roce_prio", "roce_dscp", "cnp_dscp"}
}

// hide gives the values back that were written down, and takes the directory
// away.
func (p ecnPlace) hide() []remote.Step {
	return []remote.Step{put.RestoreValues(p.bnxt(), put.KeptFile("ecn", p.device), bnxtDir+"/"+p.device, "apply", "0x1")}
}
