//go:build unix

package simserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

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
		r.file(dir+"/queue/logical_block_size", strconv.Itoa(max(s.blocks[d.ID], 512)))
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

// Blocks gives a drive logical blocks of a size, bytes.
func (s *Server) Blocks(id string, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.spec.Drives, func(d Drive) bool { return d.ID == id }) {
		return fmt.Errorf("blocks: there is no drive %q", id)
	}
	if s.blocks == nil {
		s.blocks = map[string]int{}
	}
	s.blocks[id] = size
	return nil
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
		return x.fail(32, "mount: %s: special device %s does not exist.", x.args[1], x.args[0])
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
		return x.fail(32, "umount: %s: not mounted.", x.args[0])
	}
	x.server.mounts = left
	return 0
}
