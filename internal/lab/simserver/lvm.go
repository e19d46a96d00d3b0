//go:build unix

package simserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// blockInfo is a file below /dev, which is a block device.
type blockInfo struct{ fs.FileInfo }

func (b blockInfo) Mode() fs.FileMode { return b.FileInfo.Mode()&^fs.ModeType | fs.ModeDevice }

// renderBlocks shows drives and volumes in /sys.
func (s *Server) renderBlocks(r rendered) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r.dir("/sys/class/block")
	holders := map[string]string{}
	for name, g := range s.groups {
		for _, d := range g.drives {
			for volume := range g.volumes {
				holders[path.Base(d)] = strings.ReplaceAll(name, "-", "--") + "-" + volume
			}
		}
	}
	for _, d := range s.spec.Drives {
		dir := "/sys/class/block/" + d.ID
		r.file(dir+"/size", strconv.FormatInt(d.Size/512, 10))
		r.dir(dir + "/holders")
		if h := holders[d.ID]; h != "" {
			r.dir(dir + "/holders/" + h)
		}
	}
	var mounts strings.Builder
	for _, m := range s.mounts {
		fmt.Fprintf(&mounts, "%s %s ext4 rw,relatime 0 0\n", m[0], m[1])
	}
	r["/proc/self/mounts"] = node{mode: 0o444, content: mounts.String()}
	r["/proc/swaps"] = node{mode: 0o444, content: "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"}
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
			ok = row(map[string]string{"vg_name": name, "vg_tags": strings.Join(g.tags, ",")}) && ok
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
	short, long := "", map[string]rune(nil)
	if x.name == "vgcreate" {
		short, long = "s:T:", map[string]rune{"physicalextentsize": 's', "addtag": 'T'}
	}
	opts, args, ok := x.options(short, long)
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
	fail := func(format string, a ...any) int { fmt.Fprintf(x.stderr, "  "+format+"\n", a...); return 5 }
	if x.name != "vgcreate" && x.name != "pvremove" && g == nil {
		return fail("Volume group \"%s\" not found", args[0])
	}
	switch x.name {
	case "vgcreate":
		if g != nil {
			return fail("A volume group called %s already exists.", args[0])
		}
		if no := x.freeDrives(args[1:]); no != "" {
			return fail("%s", no)
		}
		s.groups[args[0]] = &volumeGroup{tags: []string{tag}, drives: slices.Clone(args[1:]), volumes: map[string]*logicalVolume{}}
		fmt.Fprintf(x.stdout, "  Volume group \"%s\" successfully created\n", args[0])
		return s.mark(x, args[1:])
	case "vgextend":
		if no := x.freeDrives(args[1:]); no != "" {
			return fail("%s", no)
		}
		g.drives = append(g.drives, args[1:]...)
		return s.mark(x, args[1:])
	case "vgreduce":
		for _, d := range args[1:] {
			rest := &volumeGroup{drives: without(g.drives, d), volumes: g.volumes}
			if len(rest.drives) == len(g.drives) || s.free(rest) < 0 {
				return fail("Physical volume \"%s\" still in use", d)
			}
			g.drives = rest.drives
		}
	case "vgremove":
		if len(g.volumes) > 0 {
			return fail("Do you really want to remove volume group \"%s\" containing %d logical volumes? [y/n]: n", args[0], len(g.volumes))
		}
		delete(s.groups, args[0])
	case "pvremove":
		for _, d := range args {
			if in := s.groupOf(d); in != "" {
				return fail("PV %s is used by VG %s so please use vgreduce first.", d, in)
			}
			if err := x.overwrite(d, make([]byte, 1024)); err != nil {
				return fail("%v", err)
			}
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
	opts, args, ok := x.options("yW:Z:T:L:n:", map[string]rune{"yes": 'y', "wipesignatures": 'W', "zero": 'Z', "addtag": 'T', "size": 'L', "name": 'n'})
	if !ok || len(args) != 1 {
		return x.notSimulated(3)
	}
	fail := func(format string, a ...any) int { fmt.Fprintf(x.stderr, "  "+format+"\n", a...); return 5 }
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
		return fail("Volume group \"%s\" not found", group)
	}
	v, device := g.volumes[name], "/dev/"+group+"/"+name
	switch {
	case x.name == "lvcreate" && v != nil:
		return fail("Logical Volume \"%s\" already exists in volume group \"%s\"", name, group)
	case x.name == "lvcreate" && size > s.free(g):
		return fail("Volume group \"%s\" has insufficient free space (%d extents): %d required.", group, s.free(g)/lvmExtent, size/lvmExtent)
	case x.name != "lvcreate" && v == nil:
		return fail("Failed to find logical volume \"%s/%s\"", group, name)
	case x.name == "lvremove" && s.exported(device):
		return fail("Logical volume %s/%s in use.", group, name)
	case x.name == "lvremove" && !opts.has('y'):
		return fail("Do you really want to remove active logical volume %s/%s? [y/n]: [n]", group, name)
	case x.name == "lvremove":
		delete(g.volumes, name)
		if err := x.view().Remove(device); err != nil {
			return fail("%v", err)
		}
		return 0
	case x.name == "lvextend" && size-v.size > s.free(g):
		return fail("Insufficient free space: %d extents needed, but only %d available", (size-v.size)/lvmExtent, s.free(g)/lvmExtent)
	case x.name == "lvextend" && size <= v.size:
		return fail("New size given (%d extents) not larger than existing size (%d extents)", size/lvmExtent, v.size/lvmExtent)
	case x.name == "lvcreate":
		v = &logicalVolume{tags: opts['T']}
		g.volumes[name] = v
	}
	v.size = size
	return x.shape(device, size)
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
		fmt.Fprintf(x.stderr, "  %v\n", err)
		return 5
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

// signature is what blkid finds on a device.
func (x *call) signature(device string) (kind string, err error) {
	f, err := x.view().Open(device, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 2048)
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	switch {
	case string(head[512:520]) == "LABELONE":
		return "LVM2_member", nil
	case head[1080] == 0x53 && head[1081] == 0xef:
		return "ext4", nil
	}
	return "", nil
}

// blkid is a part of util-linux's: blkid -p -o export DEVICE.
func blkid(x *call) int {
	opts, args, ok := x.options("po:", nil)
	if !ok || len(args) != 1 || opts.last('o') != "export" || !opts.has('p') {
		return x.notSimulated(4)
	}
	kind, err := x.signature(x.abs(args[0]))
	switch {
	case err != nil:
		return x.errorf("error: %s: %s", args[0], strerror(err))
	case kind == "":
		return 2
	}
	fmt.Fprintf(x.stdout, "DEVNAME=%s\nTYPE=%s\n", args[0], kind)
	return 0
}

// dd is a part of coreutils': the beginning of a device is filled with zeroes.
func dd(x *call) int {
	var to string
	for _, a := range x.args {
		if device, ok := strings.CutPrefix(a, "of="); ok {
			to = device
		} else if !slices.Contains([]string{"if=/dev/zero", "bs=1M", "count=1", "conv=notrunc,fsync"}, a) {
			return x.notSimulated(1)
		}
	}
	if to == "" || len(x.args) != 5 {
		return x.notSimulated(1)
	}
	if err := x.overwrite(x.abs(to), make([]byte, 1<<20)); err != nil {
		return x.errorf("failed to open '%s': %s", to, strerror(err))
	}
	return 0
}

// mount and umount know devices and directories, and nothing is in them: they
// are there so that devices can be in use.
func mount(x *call) int {
	if len(x.args) != 2 || !x.user.root {
		return x.notSimulated(32)
	}
	if info, err := x.view().Stat(x.args[0]); err != nil || info.Mode()&fs.ModeDevice == 0 {
		fmt.Fprintf(x.stderr, "mount: %s: special device %s does not exist.\n", x.args[1], x.args[0])
		return 32
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.server.mounts = append(x.server.mounts, [2]string{x.args[0], x.args[1]})
	return 0
}

func umount(x *call) int {
	if len(x.args) != 1 || !x.user.root {
		return x.notSimulated(32)
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(x.server.mounts), func(m [2]string) bool { return m[0] == x.args[0] || m[1] == x.args[0] })
	if len(left) == len(x.server.mounts) {
		fmt.Fprintf(x.stderr, "umount: %s: not mounted.\n", x.args[0])
		return 32
	}
	x.server.mounts = left
	return 0
}
