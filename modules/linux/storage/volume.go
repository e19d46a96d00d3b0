package storage

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// Volume keeps one volume of a group of lvm2. It grows and never shrinks.
type Volume struct {
	Group string
	Name  string
	Owner string
	Bytes int64 // a multiple of the group's extents
	Half  bool  `json:",omitempty"` // of a mirror that a host keeps, which takes only what is empty

	// Rule has the server's udev leave alone what hosts keep on the volume.
	Rule string `json:",omitempty"`

	Keep  bool  `json:"-"` // a volume of that name that weft did not make is taken over as it is
	Later bool  `json:"-"` // the server's own blocks install lvm2
	Among *Room `json:"-"` // what else is to be in its group; nil: that is not looked at

	bad error // why its rule cannot be written
}

// VolumeKind is the kind volume.
func VolumeKind() *host.Kind[Volume] {
	return &host.Kind[Volume]{
		Name: "volume", Stays: true,
		Looks: (*Volume).Looks, Parse: (*Volume).Parse, Diff: (*Volume).Diff, Steps: (*Volume).Steps,
		Check: (*Volume).unwritable, Advice: (*Volume).Advice, Self: (*Volume).Self,
		All:     (*Volume).All,
		Special: host.Special[Volume]{Refuse: (*Volume).Refuse},
	}
}

// path is that of its block device.
func (v *Volume) Path() string { return "/dev/" + v.Group + "/" + v.Name }

// rule is the Rule of a volume. What a host has made of it, half of an array of
// md for one, is the host's: a server that puts it together, as udev does of
// itself when the server starts or another process closes the volume, writes to it and
// keeps weft-target from opening it. What the volume holds is found out by rules
// up to 60 and acted on by those from 64 on (Debian 13).
func (v *Volume) rule() (string, error) {
	return put.UdevRule("weft "+v.Owner+": what is on this volume is for the hosts that use it, not for this server.",
		[]put.Property{{Name: "DM_VG_NAME", Value: v.Group}, {Name: "DM_LV_NAME", Value: v.Name}}, put.Property{Name: "ID_FS_TYPE"})
}

func (v *Volume) unwritable() error { return v.bad }

func (v *Volume) rulePath() string {
	return "/etc/udev/rules.d/62-" + v.Group + "-" + v.Name + ".rules"
}

func (v *Volume) ruleLook() remote.Look { return remote.Look{File: v.rulePath(), Root: true} }

func (v *Volume) Looks() []remote.Look {
	looks := []remote.Look{lvsLook(), v.ruleLook()}
	if v.Among != nil {
		looks = append(looks, vgsLook(), pvsLook())
		looks = append(looks, slice.Map(v.Among.Drives, driveLook)...)
	}
	return looks
}

func (v *Volume) Parse(s remote.Seen) (*Volume, error) {
	if v.Later && s.Of(lvsLook()).Code == 127 {
		return nil, nil
	}
	rows, err := lvmRows(s, lvsLook())
	if err == nil && v.Among != nil {
		err = v.fits(s, rows)
	}
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row["vg_name"] != v.Group || row["lv_name"] != v.Name {
			continue
		}
		if !tagged(row["lv_tags"], v.Owner) && !v.Keep {
			return nil, hint.Wrap(fmt.Errorf("%s has a volume %s that weft did not make", v.Group, v.Name),
				`call the one in the files something else, or, to use this one as it is, write on_existing_data = "keep" in the pool`)
		}
		have := &Volume{Group: v.Group, Name: v.Name, Owner: v.Owner}
		have.Bytes, err = lvmBytes(row["lv_size"])
		if err != nil {
			return nil, err
		}
		rule, err := see.File(s, v.ruleLook())
		have.Rule = string(rule.Content)
		return have, err
	}
	return nil, nil
}

// Refuse: a volume never shrinks, and what serves it would
// refuse to serve less of it.
func (v *Volume) Refuse(have *Volume) error {
	if have != nil && have.Bytes > v.Bytes {
		return hint.Wrap(fmt.Errorf("it is of %s, and %s is declared: weft never shrinks a volume, that would cost data", exactly(have.Bytes), exactly(v.Bytes)),
			`declare size = "%s"; if what it holds is not needed, take the block out, apply with --allow-destroy, and declare it anew`, exactly(have.Bytes))
	}
	return nil
}

// Diff: one that is larger than wanted was refused before.
func (v *Volume) Diff(have *Volume) []plan.Change {
	switch {
	case have == nil:
		return []plan.Change{{Path: "size", After: exactly(v.Bytes)}}
	case v == nil:
		return []plan.Change{{Path: "size", Before: exactly(have.Bytes), Impact: plan.ImpactDataLoss}}
	}
	var out []plan.Change
	if have.Bytes < v.Bytes {
		out = plan.Changed("size", exactly(have.Bytes), exactly(v.Bytes), plan.ImpactNone)
	}
	return append(out, put.FileChanges("udev", have.Rule, v.Rule, nil, plan.ImpactNone)...)
}

// exactly writes bytes as files do, in the unit that gives the shortest exact
// number.
func exactly(bytes int64) string {
	best := fmt.Sprintf("%dB", bytes)
	for _, u := range []struct {
		name string
		size int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}} {
		if text := fmt.Sprintf("%d%s", bytes/u.size, u.name); bytes%u.size == 0 && bytes != 0 && len(text) < len(best) {
			best = text
		}
	}
	return best
}

// revalidate tells the kernel's target, if it exports the device $1, that it
// has grown.
const revalidate = `for n in ` + NVMeT + `/subsystems/*/namespaces/*; do if [ -e "$n/device_path" ]; then read -r p <"$n/device_path"; ` +
	`if [ "$p" = "$1" ]; then echo 1 >"$n/revalidate_size"; fi; fi; done`

// Steps: what an earlier volume left in the same place is
// wiped as far as it could be taken for a file system.
func (v *Volume) Steps(have *Volume) []remote.Step {
	if len(v.Diff(have)) == 0 {
		return nil
	}
	switch {
	case have == nil:
		steps := append(v.ruled(""), host.Run("lvcreate", "--yes", "--wipesignatures", "y", "--zero", "y", "--addtag", lvmTag(v.Owner),
			"--size", fmt.Sprintf("%db", v.Bytes), "--name", v.Name, v.Group))
		if v.Half {
			steps = append(steps, emptied(v.Path()))
		}
		return steps
	case v == nil:
		gone := &Volume{Group: have.Group, Name: have.Name}
		return append([]remote.Step{host.Run("lvremove", "--yes", have.Group+"/"+have.Name)}, gone.ruled(have.Rule)...)
	}
	steps := v.ruled(have.Rule)
	if have.Bytes < v.Bytes {
		steps = append(steps, host.Run("lvextend", "--size", fmt.Sprintf("%db", v.Bytes), v.Group+"/"+v.Name),
			host.Run("sh", "-c", revalidate, "sh", v.Path()))
	}
	return steps
}

// ruled turns the rule that is there into its own.
func (v *Volume) ruled(have string) []remote.Step {
	switch v.Rule {
	case have:
		return nil
	case "":
		return []remote.Step{{Del: v.rulePath()}}
	}
	return []remote.Step{{Put: &remote.File{Path: v.rulePath(), Mode: 0o644, Content: []byte(v.Rule)}}}
}

func (v *Volume) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "insufficient free space"), strings.Contains(reply, "free extents"):
		return "the pool is full: vgs " + v.Group + "; give it another drive, or declare smaller volumes"
	case strings.Contains(reply, "in use"), strings.Contains(reply, "open"):
		return "something has it open: lsblk " + v.Path()
	}
	return ""
}

func (v *Volume) Self(remote.Seen) []host.Object {
	return []host.Object{{Kind: "volume", Name: v.Group + "/" + v.Name}}
}

func (v *Volume) All(s remote.Seen) (list []host.Object) {
	rows, err := lvmRows(s, lvsLook())
	if err != nil {
		return nil
	}
	for _, row := range rows {
		list = append(list, host.Object{Kind: "volume", Name: row["vg_name"] + "/" + row["lv_name"]})
	}
	return list
}

// newVolume is a volume of a group for a name of the files.
func NewVolume(group, name, owner string, size int64) *Volume {
	v := &Volume{Group: group, Name: LVMName(name), Owner: owner, Bytes: Extents(size)}
	v.Rule, v.bad = v.rule()
	return v
}
