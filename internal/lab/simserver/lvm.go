//go:build unix

package simserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Volumes are cut by lvm2. What its tools take here is a part of what they
// take: whole drives, linear volumes, sizes in bytes. Drives and volumes are
// sparse files below /dev, which stat as block devices.

// A volumeGroup is one group with its drives and volumes. It outlasts reboots.
type volumeGroup struct {
	tags    []string
	drives  []string
	volumes map[string]*logicalVolume
}

type logicalVolume struct {
	size int64
	tags []string
}

const lvmExtent = 4 << 20

// free is what is left of a group, without what each drive keeps for lvm2. The
// caller holds s.mu.
func (s *Server) free(g *volumeGroup) int64 {
	var n int64
	for _, d := range g.drives {
		if info, err := s.rootView().Stat(d); err == nil {
			n += (info.Size() - 1<<20) / lvmExtent * lvmExtent
		}
	}
	for _, v := range g.volumes {
		n -= v.size
	}
	return n
}

// groupOf is the group that a drive is in, by path. The caller holds s.mu.
func (s *Server) groupOf(device string) string {
	for name, g := range s.groups {
		if slices.Contains(g.drives, device) {
			return name
		}
	}
	return ""
}

// lvmReport is pvs, vgs and lvs, in the form that weft asks for.
func lvmReport(x *call) int {
	columns, ok := "", len(x.args) == 7
	if ok && strings.Join(x.args[:6], " ") == "--reportformat json --units b --nosuffix -o" {
		columns = x.args[6]
	}
	if columns == "" {
		return x.notSimulated(3)
	}
	if !x.user.root {
		return x.errorf("WARNING: Running as a non-root user. Functionality may be unavailable.")
	}
	s := x.server
	s.mu.RLock()
	defer s.mu.RUnlock()
	rows := []map[string]string{}
	row := func(values map[string]string) bool {
		one := map[string]string{}
		for c := range strings.SplitSeq(columns, ",") {
			v, known := values[c]
			if !known {
				return false
			}
			one[c] = v
		}
		rows = append(rows, one)
		return true
	}
	ok = true
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[name]
		switch x.name {
		case "vgs":
			ok = row(map[string]string{"vg_name": name, "vg_tags": strings.Join(g.tags, ","),
				"pv_count": strconv.Itoa(len(g.drives)), "vg_free": strconv.FormatInt(s.free(g), 10)}) && ok
		case "pvs":
			for _, d := range g.drives {
				ok = row(map[string]string{"pv_name": d, "vg_name": name}) && ok
			}
		case "lvs":
			for _, v := range slices.Sorted(maps.Keys(g.volumes)) {
				ok = row(map[string]string{"vg_name": name, "lv_name": v, "lv_size": strconv.FormatInt(g.volumes[v].size, 10), "lv_tags": strings.Join(g.volumes[v].tags, ",")}) && ok
			}
		}
	}
	if !ok {
		return x.notSimulated(3)
	}
	list := map[string]string{"pvs": "pv", "vgs": "vg", "lvs": "lv"}[x.name]
	out, err := json.MarshalIndent(map[string]any{"report": []any{map[string]any{list: rows}}}, "", "  ")
	if err != nil {
		return x.errorf("%v", err)
	}
	fmt.Fprintf(x.stdout, "%s\n", out)
	return 0
}

// freeDrives is what lvm2 says against taking devices; "": they are free.
func (x *call) freeDrives(names []string) string {
	for _, d := range names {
		info, err := x.view().Stat(d)
		switch {
		case err != nil:
			return "No device found for " + d + "."
		case info.Mode()&fs.ModeDevice == 0:
			return fmt.Sprintf("Cannot use %s: device is not a block device", d)
		}
		if g := x.server.groupOf(d); g != "" {
			return fmt.Sprintf("Physical volume '%s' is already in volume group '%s'", d, g)
		}
		if signature, _ := x.signature(d); signature != "" {
			return fmt.Sprintf("WARNING: %s signature detected on %s. Wipe it? [y/n]: [n]\n  Aborted wiping of %s.", signature, d, signature)
		}
	}
	return ""
}

// lvmGroups are the tools that change groups.
func lvmGroups(x *call) int {
	if !x.user.root {
		return x.errorf("Can't run without root: Permission denied")
	}
	short, names := "", long(nil)
	if x.name == "vgcreate" {
		short, names = "s:T:", long{"physicalextentsize": 's', "addtag": 'T'}
	}
	opts, args, ok := x.options(short, names)
	tag := opts.last('T')
	if opts.has('s') && opts.last('s') != "4m" {
		ok = false
	}
	if !ok || len(args) == 0 {
		return x.notSimulated(3)
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[args[0]]
	if x.name != "vgcreate" && x.name != "pvremove" && g == nil {
		return x.fail(5, "  Volume group \"%s\" not found", args[0])
	}
	switch x.name {
	case "vgcreate":
		if g != nil {
			return x.fail(5, "  A volume group called %s already exists.", args[0])
		}
		if no := x.freeDrives(args[1:]); no != "" {
			return x.fail(5, "  %s", no)
		}
		s.groups[args[0]] = &volumeGroup{tags: []string{tag}, drives: slices.Clone(args[1:]), volumes: map[string]*logicalVolume{}}
		fmt.Fprintf(x.stdout, "  Volume group \"%s\" successfully created\n", args[0])
		return s.mark(x, args[1:])
	case "vgextend":
		if no := x.freeDrives(args[1:]); no != "" {
			return x.fail(5, "  %s", no)
		}
		g.drives = append(g.drives, args[1:]...)
		return s.mark(x, args[1:])
	case "vgreduce":
		for _, d := range args[1:] {
			rest := &volumeGroup{drives: without(g.drives, d), volumes: g.volumes}
			if len(rest.drives) == len(g.drives) || s.free(rest) < 0 {
				return x.fail(5, "  Physical volume \"%s\" still in use", d)
			}
			g.drives = rest.drives
		}
	case "vgremove":
		if len(g.volumes) > 0 {
			return x.fail(5, "  Do you really want to remove volume group \"%s\" containing %d logical volumes? [y/n]: n", args[0], len(g.volumes))
		}
		delete(s.groups, args[0])
	case "pvremove":
		return x.unmark(args)
	}
	return 0
}

// unmark takes lvm2's label off drives. The caller holds s.mu.
func (x *call) unmark(drives []string) int {
	for _, d := range drives {
		if in := x.server.groupOf(d); in != "" {
			return x.fail(5, "  PV %s is used by VG %s so please use vgreduce first.", d, in)
		}
		if err := x.overwrite(d, make([]byte, 1024)); err != nil {
			return x.fail(5, "  %v", err)
		}
	}
	return 0
}

// mark writes what lvm2 writes on a drive: its label, and text after it.
func (s *Server) mark(x *call, drives []string) int {
	for _, d := range drives {
		if err := x.overwrite(d, append(make([]byte, 512), "LABELONE LVM2 001"...)); err != nil {
			return x.errorf("%v", err)
		}
	}
	return 0
}

func (x *call) overwrite(device string, data []byte) error {
	f, err := x.view().Open(device, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// lvmVolumes are the tools that change volumes.
func lvmVolumes(x *call) int {
	if !x.user.root {
		return x.errorf("Can't run without root: Permission denied")
	}
	opts, args, ok := x.options("yW:Z:T:L:n:", long{"yes": 'y', "wipesignatures": 'W', "zero": 'Z', "addtag": 'T', "size": 'L', "name": 'n'})
	if !ok || len(args) != 1 {
		return x.notSimulated(3)
	}
	group, name, _ := strings.Cut(args[0], "/")
	if x.name == "lvcreate" {
		name = opts.last('n')
	}
	var size int64
	if x.name != "lvremove" {
		n, err := strconv.ParseInt(strings.TrimSuffix(opts.last('L'), "b"), 10, 64)
		if err != nil || !strings.HasSuffix(opts.last('L'), "b") {
			return x.notSimulated(3)
		}
		size = (n + lvmExtent - 1) / lvmExtent * lvmExtent
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[group]
	if g == nil {
		return x.fail(5, "  Volume group \"%s\" not found", group)
	}
	if no := s.volumeRefusal(x.name, group, name, size, opts.has('y')); no != "" {
		return x.fail(5, "  %s", no)
	}
	device := "/dev/" + group + "/" + name
	if x.name == "lvremove" {
		delete(g.volumes, name)
		if err := x.view().Remove(device); err != nil {
			return x.fail(5, "  %v", err)
		}
		return 0
	}
	if x.name == "lvcreate" {
		g.volumes[name] = &logicalVolume{tags: opts['T']}
	}
	g.volumes[name].size = size
	return x.shape(device, size)
}

// volumeRefusal is what lvm2 says against a change of a volume; "": nothing.
// The caller holds s.mu.
func (s *Server) volumeRefusal(tool, group, name string, size int64, yes bool) string {
	g := s.groups[group]
	v := g.volumes[name]
	switch {
	case tool == "lvcreate" && v != nil:
		return fmt.Sprintf("Logical Volume \"%s\" already exists in volume group \"%s\"", name, group)
	case tool == "lvcreate" && size > s.free(g):
		return fmt.Sprintf("Volume group \"%s\" has insufficient free space (%d extents): %d required.", group, s.free(g)/lvmExtent, size/lvmExtent)
	case tool != "lvcreate" && v == nil:
		return fmt.Sprintf("Failed to find logical volume \"%s/%s\"", group, name)
	case tool == "lvremove" && s.exported("/dev/"+group+"/"+name):
		return fmt.Sprintf("Logical volume %s/%s in use.", group, name)
	case tool == "lvremove" && !yes:
		return fmt.Sprintf("Do you really want to remove active logical volume %s/%s? [y/n]: [n]", group, name)
	case tool == "lvextend" && size-v.size > s.free(g):
		return fmt.Sprintf("Insufficient free space: %d extents needed, but only %d available", (size-v.size)/lvmExtent, s.free(g)/lvmExtent)
	case tool == "lvextend" && size <= v.size:
		return fmt.Sprintf("New size given (%d extents) not larger than existing size (%d extents)", size/lvmExtent, v.size/lvmExtent)
	}
	return ""
}

// shape makes the file of a volume, or gives it another size.
func (x *call) shape(device string, size int64) int {
	err := x.view().MkdirAll(path.Dir(device), 0o755)
	if err == nil {
		var f *os.File
		if f, err = x.server.tree.root.OpenFile(below(device), os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			err = errors.Join(f.Truncate(size), f.Close())
		}
	}
	if err != nil {
		return x.fail(5, "  %v", err)
	}
	return 0
}

// exported reports whether the kernel's target has a device open. The caller
// holds s.mu.
func (s *Server) exported(device string) bool {
	for _, sub := range s.nvmet.subsystems {
		for _, ns := range sub.namespaces {
			if ns.enabled && ns.path == device {
				return true
			}
		}
	}
	return false
}
