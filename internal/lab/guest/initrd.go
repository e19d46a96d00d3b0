package guest

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A seedFile is a file that a guest finds on its disk when it starts.
type seedFile struct {
	path string // absolute, in the guest
	mode uint32 // permissions
	text []byte
}

// seed packs files as an archive in cpio's "newc" format, which the kernel
// unpacks after those of the initrd it is appended to. Init copies what is
// below /seed to the disk.
func seed(files []seedFile) []byte {
	var b bytes.Buffer
	ino := 0
	add := func(name string, mode uint32, text []byte) {
		ino++
		// magic, inode, mode, uid, gid, links, mtime, size, and the numbers of
		// devices, which files do not have; then the name's length and a checksum
		// that this format leaves 0.
		fmt.Fprintf(&b, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
			ino, mode, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(name)+1, 0)
		b.WriteString(name + "\x00")
		pad(&b)
		b.Write(text)
		pad(&b)
	}
	const folder, file = 0o040755, 0o100000
	var made []string
	for _, f := range files {
		var above []string
		for dir := path.Dir("seed" + f.path); dir != "."; dir = path.Dir(dir) {
			above = append(above, dir)
		}
		slices.Reverse(above)
		for _, dir := range above {
			if !slices.Contains(made, dir) {
				made = append(made, dir)
				add(dir, folder, nil)
			}
		}
		add(strings.TrimPrefix("seed"+f.path, "/"), file|f.mode, f.text)
	}
	add("TRAILER!!!", 0, nil)
	return b.Bytes()
}

// pad fills up to a multiple of four bytes.
func pad(b *bytes.Buffer) {
	for b.Len()%4 != 0 {
		b.WriteByte(0)
	}
}
