//go:build unix

package simserver

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A raid is an array of md over namespaces of targets: level 1, two halves,
// both there. Its superblocks outlast reboots, as those on the targets' drives
// would. What mdadm takes, prints and refuses is what mdadm 4.4 of Debian 13 was
// seen to do over Linux 6.12; a half that is lost is not simulated.
type raid struct {
	uuid, name string
	halves     []string // UUIDs of namespaces, in order
	device     string   // md127; "": it does not run
}

// raidOf is the array that a namespace is half of. The caller holds s.mu.
func (s *Server) raidOf(namespace string) *raid {
	for _, r := range s.raids {
		if slices.Contains(r.halves, namespace) {
			return r
		}
	}
	return nil
}

// disks are the block devices of namespaces, by the UUID of each, with its size
// in sectors. The caller holds s.mu.
func (s *Server) disks() map[string]disk {
	list := map[string]disk{}
	for _, c := range s.controllers {
		for id, sectors := range c.namespaces {
			if uuid := c.uuids[id]; uuid != "" {
				list[uuid] = disk{c.disk(id), sectors}
			}
		}
	}
	return list
}

type disk struct{ name, sectors string }

// disk is the name of the device of a namespace.
func (c *controller) disk(id string) string {
	return "nvme" + strings.TrimPrefix(c.subsystem, "nvme-subsys") + "n" + id
}

// assemble starts what udev starts when all halves are there. The caller holds
// s.mu.
func (s *Server) assemble() {
	there := s.disks()
	for _, uuid := range slices.Sorted(maps.Keys(s.raids)) {
		r := s.raids[uuid]
		if r.device == "" && !slices.ContainsFunc(r.halves, func(h string) bool { return there[h].name == "" }) {
			s.activate(r)
		}
	}
}

// activate gives an array the first free device, counting down as the kernel does.
// The caller holds s.mu.
func (s *Server) activate(r *raid) {
	for n := 127; r.device == ""; n-- {
		name := "md" + strconv.Itoa(n)
		if !slices.ContainsFunc(slices.Collect(maps.Values(s.raids)), func(o *raid) bool { return o.device == name }) {
			r.device = name
		}
	}
}

// dataOffset is where the data of a half begins, sectors.
const dataOffset = 2048

// renderMD shows disks by their names, and arrays. The caller holds s.mu.
func (s *Server) renderMD(r rendered) {
	there := s.disks()
	for uuid, d := range there {
		r["/dev/disk/by-id/nvme-uuid."+uuid] = node{mode: linkMode, content: "../../" + d.name}
		if m := s.raidOf(uuid); m != nil && m.device != "" {
			r.link("/sys/block/"+d.name+"/holders/"+m.device, "../../"+m.device)
		}
	}
	for _, m := range s.raids {
		if m.device == "" {
			continue
		}
		dir := "/sys/block/" + m.device
		r.dir(dir + "/holders")
		size := int64(0)
		for slot, half := range m.halves {
			d := there[half]
			sectors, _ := strconv.ParseInt(d.sectors, 10, 64)
			size = (sectors - dataOffset) / 2
			for name, value := range map[string]string{"state": "in_sync", "slot": strconv.Itoa(slot), "offset": strconv.Itoa(dataOffset)} {
				r.file(dir+"/md/dev-"+d.name+"/"+name, value)
			}
		}
		for name, value := range map[string]string{"level": "raid1", "array_state": "clean", "sync_action": "idle", "sync_completed": "none",
			"degraded": "0", "component_size": strconv.FormatInt(size, 10)} {
			r.file(dir+"/md/"+name, value)
		}
		r["/dev/"+m.device] = node{mode: fs.ModeDevice | 0o660}
		r["/dev/md"] = node{mode: dirMode}
		r["/dev/md/"+m.name] = node{mode: linkMode, content: "../" + m.device}
	}
}

// mdadm is a part of mdadm.
func mdadm(x *call) int {
	opts, args, ok := x.options("DEYCASl:n:e:b:H:N:u:R", long{"detail": 'D', "examine": 'E', "export": 'Y', "create": 'C', "assemble": 'A', "stop": 'S',
		"level": 'l', "raid-devices": 'n', "metadata": 'e', "bitmap": 'b', "homehost": 'H', "name": 'N', "uuid": 'u', "run": 'R'})
	if !ok {
		return 2
	}
	if !x.user.root {
		return x.fail(1, "mdadm: must be super-user to perform this action")
	}
	form := ""
	for _, letter := range "DEYCASlnebHNuR" {
		if opts.has(letter) {
			form += string(letter)
		}
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case form == "DY" && len(args) == 1:
		return x.mdDetail(args[0])
	case form == "EY" && len(args) == 1:
		return x.mdExamine(args[0])
	case form == "ClnebHNu" && len(args) == 3 && opts.last('l')+opts.last('n')+opts.last('e')+opts.last('b')+opts.last('H') == "121.2internalany" &&
		args[0] == "/dev/md/"+opts.last('N'):
		return x.mdCreate(opts.last('N'), opts.last('u'), args[1:])
	case form == "AuR" && len(args) == 3:
		return x.mdAssemble(path.Base(args[0]), opts.last('u'))
	case form == "S" && len(args) == 1:
		return x.mdStop(args[0])
	}
	return x.notSimulated(2)
}

// running is an array by its device or its name.
func (x *call) running(device string) *raid {
	for _, r := range x.server.raids {
		if r.device != "" && (device == "/dev/"+r.device || device == "/dev/md/"+r.name) {
			return r
		}
	}
	return nil
}

// namespaceOf is the UUID of the namespace behind a device.
func (x *call) namespaceOf(device string) string {
	for uuid, d := range x.server.disks() {
		if device == "/dev/"+d.name || device == "/dev/disk/by-id/nvme-uuid."+uuid {
			return uuid
		}
	}
	return ""
}

func (x *call) mdDetail(device string) int {
	r := x.running(device)
	if r == nil {
		return x.fail(1, "mdadm: cannot open %s: No such file or directory", device)
	}
	fmt.Fprintf(x.stdout, "MD_LEVEL=raid1\nMD_DEVICES=2\nMD_METADATA=1.2\nMD_UUID=%s\nMD_DEVNAME=%s\nMD_NAME=any:%s\n", r.uuid, r.name, r.name)
	return 0
}

func (x *call) mdExamine(device string) int {
	r := x.server.raidOf(x.namespaceOf(device))
	if r == nil {
		return x.fail(1, "mdadm: No md superblock detected on %s.", device)
	}
	fmt.Fprintf(x.stdout, "MD_LEVEL=raid1\nMD_DEVICES=2\nMD_NAME=any:%s\nMD_UUID=%s\n", r.name, r.uuid)
	return 0
}

func (x *call) mdCreate(name, uuid string, devices []string) int {
	s := x.server
	r := &raid{uuid: uuid, name: name}
	for _, d := range devices {
		namespace := x.namespaceOf(d)
		switch {
		case namespace == "":
			return x.fail(1, "mdadm: cannot open %s: No such file or directory", d)
		case s.raidOf(namespace) != nil:
			return x.fail(1, "mdadm: %s appears to be part of a raid array\nContinue creating array? mdadm: create aborted.", d)
		}
		r.halves = append(r.halves, namespace)
	}
	s.raids[uuid] = r
	s.activate(r)
	return x.fail(0, "mdadm: array /dev/md/%s started.", name)
}

func (x *call) mdAssemble(name, uuid string) int {
	s := x.server
	r, there := s.raids[uuid], s.disks()
	if r == nil || r.name != name || r.device != "" || slices.ContainsFunc(r.halves, func(h string) bool { return there[h].name == "" }) {
		return x.notSimulated(2)
	}
	s.activate(r)
	return x.fail(0, "mdadm: /dev/md/%s has been started with 2 drives.", name)
}

func (x *call) mdStop(device string) int {
	r := x.running(device)
	if r == nil {
		return x.fail(1, "mdadm: error opening %s: No such file or directory", device)
	}
	for _, m := range x.server.mounts {
		if m[0] == "/dev/"+r.device || m[0] == "/dev/md/"+r.name {
			return x.fail(1, "mdadm: Cannot get exclusive access to %s:Perhaps a running process, mounted filesystem or active volume group?", device)
		}
	}
	r.device = ""
	return x.fail(0, "mdadm: stopped %s", device)
}
