package storage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/plan"
)

// VolumeGroup keeps the drives of a pool together as one group of lvm2. Only
// drives that hold nothing are ever taken.
type VolumeGroup struct {
	Name   string
	Owner  string
	Drives []string // names below /dev/disk/by-id; of those that nobody declared, paths

	Keep  bool `json:"-"` // a group of that name that weft did not make is taken over as it is
	Later bool `json:"-"` // the server's own blocks install lvm2

	Served *Served `json:"-"` // who hands its volumes on in blocks of a size; nil: nobody
}

// A Served says in which blocks the volumes of a group are handed on. A drive with larger
// ones cannot keep them.
type Served struct {
	Block int    // bytes
	By    string // the target, and where it stands in the files
	Hint  string // what to do where a drive has larger blocks
}

// VolumeGroupKind is the kind volume_group.
func VolumeGroupKind() *host.Kind[VolumeGroup] {
	return &host.Kind[VolumeGroup]{
		Name: "volume_group", Stays: true,
		Looks: (*VolumeGroup).Looks, Parse: (*VolumeGroup).Parse, Diff: (*VolumeGroup).Diff, Steps: (*VolumeGroup).Steps,
		Advice: (*VolumeGroup).Advice, Self: (*VolumeGroup).Self, All: (*VolumeGroup).All,
	}
}

// groupName is that of a pool's group.
func GroupName(owner, pool string) string { return LVMName("weft-" + owner + "-" + pool) }

// driveScript says of the drive $1 what it is and what uses it: the device, a
// line for each thing that is on it or holds it, its size, and that of its blocks.
const driveScript = `[ -e "$1" ] || exit 3; d=$(readlink -f "$1"); [ -b "$d" ] || exit 4; n=${d##*/}; echo "device $d"; ` +
	`blkid -p -o export "$d" | while IFS='=' read -r k v; do case $k in TYPE|PTTYPE) echo "holds $v";; esac; done; ` +
	`for h in "/sys/class/block/$n/holders/"* "/sys/class/block/$n/$n"*/holders/*; do if [ -e "$h" ]; then echo "held ${h##*/}"; fi; done; ` +
	`while read -r what where rest; do case $what in "$d"|"$d"[0-9]*|"$d"p[0-9]*) echo "mounted $where";; esac; done </proc/self/mounts; ` +
	`while read -r what rest; do case $what in "$d"|"$d"[0-9]*|"$d"p[0-9]*) echo "swap";; esac; done </proc/swaps; ` +
	`read -r sectors <"/sys/class/block/$n/size"; echo "bytes $((sectors * 512))"; ` +
	`for q in "/sys/class/block/$n/queue" "/sys/class/block/$n/../queue"; do if [ -e "$q/logical_block_size" ]; then read -r b <"$q/logical_block_size"; echo "blocks $b"; break; fi; done; ` +
	`for at in 0 $(((sectors / 2048 - 1) * 1048576)); do cmp -s -n 1048576 -i "$at:0" "$d" /dev/zero || echo "data $at"; done`

func drivePath(id string) string { return "/dev/disk/by-id/" + id }

func driveLook(id string) remote.Look {
	return remote.Look{Root: true, Own: true, Args: []string{"sh", "-c", driveScript, "sh", drivePath(id)}}
}

// A drive is what driveScript saw.
type drive struct {
	device string
	used   []string // by what, in words
	holds  string   // signature: LVM2_member, ext4, gpt
	bytes  int64    // 0: not known
	block  int      // logical, bytes; 0: not known
}

func parseDrive(s remote.Seen, id string) (drive, error) {
	got := s.Of(driveLook(id))
	switch got.Code {
	case 3:
		return drive{}, hint.Wrap(fmt.Errorf("there is no %s", drivePath(id)), "list the drives with: ls -l /dev/disk/by-id")
	case 4:
		return drive{}, fmt.Errorf("%s is no block device", drivePath(id))
	}
	if got.Err != nil {
		return drive{}, got.Err
	}
	var d drive
	for line := range strings.Lines(string(got.Content)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "device":
			d.device = rest
		case "holds":
			d.holds = rest
			d.used = append(d.used, "it holds "+rest)
		case "bytes":
			d.bytes, _ = strconv.ParseInt(rest, 10, 64) // else it is not known
		case "blocks":
			d.block, _ = strconv.Atoi(rest) // else it is not known
		case "held":
			d.used = append(d.used, rest+" is built on it")
		case "mounted":
			d.used = append(d.used, "it is mounted on "+rest)
		case "swap":
			d.used = append(d.used, "it is swap")
		case "data":
			d.used = append(d.used, "it is not empty at byte "+rest)
		}
	}
	return d, nil
}

func (g *VolumeGroup) Looks() []remote.Look {
	looks := []remote.Look{pvsLook(), vgsLook()}
	looks = append(looks, slice.Map(g.ids(), driveLook)...)
	return looks
}

// ids are the drives that have a stable name.
func (g *VolumeGroup) ids() []string {
	return slices.DeleteFunc(slices.Clone(g.Drives), func(id string) bool { return strings.HasPrefix(id, "/") })
}

// Parse: a drive that is not in the group yet and holds
// anything is refused.
func (g *VolumeGroup) Parse(s remote.Seen) (*VolumeGroup, error) {
	if g.Later && s.Of(pvsLook()).Code == 127 {
		return nil, nil
	}
	pvs, err := lvmRows(s, pvsLook())
	if err != nil {
		return nil, err
	}
	vgs, err := lvmRows(s, vgsLook())
	if err != nil {
		return nil, err
	}
	in := map[string]string{}
	for _, row := range pvs {
		in[row["pv_name"]] = row["vg_name"]
	}
	var have *VolumeGroup
	for _, row := range vgs {
		if row["vg_name"] != g.Name {
			continue
		}
		have = &VolumeGroup{Name: g.Name, Owner: g.Owner}
		if !tagged(row["vg_tags"], g.Owner) && !g.Keep {
			return nil, hint.Wrap(fmt.Errorf("there is a volume group %s that weft did not make", g.Name),
				`to use it as it is, write on_existing_data = "keep" in the pool`)
		}
	}
	for _, id := range g.ids() {
		d, err := parseDrive(s, id)
		if err != nil {
			return nil, err
		}
		switch {
		case g.Served != nil && d.block > g.Served.Block:
			return nil, hint.Wrap(fmt.Errorf("%s (%s) has blocks of %d bytes, and %s serves it in blocks of %d", drivePath(id), d.device, d.block, g.Served.By, g.Served.Block), "%s", g.Served.Hint)
		case have != nil && in[d.device] == g.Name:
			have.Drives = append(have.Drives, id)
		case len(d.used) > 0:
			return nil, hint.Wrap(fmt.Errorf("%s (%s) is not taken: %s", drivePath(id), d.device, strings.Join(d.used, ", ")),
				"if nothing on it is needed, empty it yourself: wipefs -a %s; blkdiscard %s", d.device, d.device)
		}
		delete(in, d.device)
	}
	if have != nil {
		for device, group := range in {
			if group == g.Name {
				have.Drives = append(have.Drives, device)
			}
		}
		slices.Sort(have.Drives)
	}
	return have, nil
}

func (g *VolumeGroup) Diff(have *VolumeGroup) []plan.Change {
	return plan.Changed("drives", strings.Join(slices.Sorted(slices.Values(host.Some(have).Drives)), " "),
		strings.Join(slices.Sorted(slices.Values(host.Some(g).Drives)), " "), plan.ImpactNone)
}

// Steps: no command is told to go on over what it asks about:
// where one would ask, it fails.
func (g *VolumeGroup) Steps(have *VolumeGroup) []remote.Step {
	switch {
	case have == nil:
		return []remote.Step{host.Run(append([]string{"vgcreate", "--physicalextentsize", "4m", "--addtag", lvmTag(g.Owner), g.Name}, paths(g.Drives)...)...)}
	case g == nil:
		return append([]remote.Step{host.Run("vgremove", have.Name)}, release(have.Drives)...)
	}
	var steps []remote.Step
	if more := missingFrom(have.Drives, g.Drives); len(more) > 0 {
		steps = append(steps, host.Run(append([]string{"vgextend", g.Name}, paths(more)...)...))
	}
	if fewer := missingFrom(g.Drives, have.Drives); len(fewer) > 0 {
		steps = append(steps, host.Run(append([]string{"vgreduce", g.Name}, paths(fewer)...)...))
		steps = append(steps, release(fewer)...)
	}
	return steps
}

// missingFrom lists what of other is not in list.
func missingFrom(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(other), func(s string) bool { return slices.Contains(list, s) })
}

func paths(drives []string) []string {
	var list []string
	for _, d := range drives {
		if !strings.HasPrefix(d, "/") {
			d = drivePath(d)
		}
		list = append(list, d)
	}
	return list
}

// release leaves drives as empty as they were found: lvm2 itself leaves its
// text behind.
func release(drives []string) []remote.Step {
	steps := []remote.Step{host.Run(append([]string{"pvremove"}, paths(drives)...)...)}
	steps = append(steps, slice.Map(paths(drives), emptied)...)
	return steps
}

// emptied empties the first MiB of a device.
func emptied(path string) remote.Step {
	return host.Run("dd", "if=/dev/zero", "of="+path, "bs=1M", "count=1", "conv=notrunc,fsync")
}

func (g *VolumeGroup) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "logical volume"), strings.Contains(reply, "still in use"):
		return "volumes are on it that weft does not remove: lvs " + g.Name
	case strings.Contains(reply, "excluded by a filter"), strings.Contains(reply, "devices file"):
		return "lvm2 on the server is configured not to use the drive: see filter and use_devicesfile in /etc/lvm/lvm.conf"
	}
	return ""
}

func (g *VolumeGroup) Self(remote.Seen) []host.Object {
	return []host.Object{{Kind: "volume_group", Name: g.Name}}
}

func (g *VolumeGroup) All(s remote.Seen) (list []host.Object) {
	rows, err := lvmRows(s, vgsLook())
	if err != nil {
		return nil
	}
	list = slice.Map(rows, func(row map[string]string) host.Object {
		return host.Object{Kind: "volume_group", Name: row["vg_name"]}
	})
	return list
}
