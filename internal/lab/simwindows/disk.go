//go:build unix

package simwindows

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// A disk is the file system of a host: names have no case, and each call is one step that
// no other comes between.
type disk struct{ items map[string]*item }

type item struct {
	name string // as it was written
	data []byte
	dir  bool
	sddl string
	link bool // a reparse point
}

// inherited is the ACL of what has none of its own: users may make folders in ProgramData.
const inherited = "O:BAG:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIIOID;GA;;;CO)(A;OICIID;0x1200a9;;;BU)(A;CIID;DCLCRPCR;;;BU)"

func newDisk() *disk {
	d := &disk{items: map[string]*item{}}
	for _, name := range []string{`C:\`, `C:\ProgramData`} {
		d.items[key(name)] = &item{name: name, dir: true, sddl: inherited}
	}
	return d
}

func key(name string) string { return strings.TrimRight(strings.ToLower(name), `\`) }

func parent(name string) string {
	i := strings.LastIndex(name, `\`)
	if i < 0 {
		return ""
	}
	return name[:i]
}

func base(name string) string { return name[strings.LastIndex(name, `\`)+1:] }

// children are what a folder holds, by name.
func (d *disk) children(folder string) (list []*item) {
	for _, i := range d.items {
		if key(parent(i.name)) == key(folder) && key(i.name) != key(folder) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *item) int { return strings.Compare(key(a.name), key(b.name)) })
	return list
}

// below are all files in a folder and its folders.
func (d *disk) below(folder string) (list []*item) {
	for _, i := range d.children(folder) {
		list = append(list, i)
		if i.dir {
			list = append(list, d.below(i.name)...)
		}
	}
	return list
}

func (d *disk) mkdir(name, sddl string) {
	if name == "" || d.items[key(name)] != nil {
		return
	}
	d.mkdir(parent(name), "")
	if sddl == "" {
		sddl = "O:BAG:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)"
	}
	d.items[key(name)] = &item{name: name, dir: true, sddl: sddl}
}

// write makes a file; its folder must be there.
func (d *disk) write(name string, data []byte) error {
	if up := d.items[key(parent(name))]; up == nil || !up.dir {
		return raise("System.IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", name)
	}
	if old := d.items[key(name)]; old != nil {
		if old.dir {
			return raise("System.UnauthorizedAccessException", "Access to the path '%s' is denied.", name)
		}
		old.data = data
		return nil
	}
	d.items[key(name)] = &item{name: name, data: data}
	return nil
}

func (d *disk) read(name string) ([]byte, error) {
	i := d.items[key(name)]
	if i == nil || i.dir {
		return nil, raise("System.IO.FileNotFoundException", "Could not find file '%s'.", name)
	}
	return i.data, nil
}

// move gives a file or a folder another name: where there is one already, it fails.
func (d *disk) move(from, to string) error {
	i := d.items[key(from)]
	switch {
	case i == nil:
		return raise("System.IO.FileNotFoundException", "Could not find file '%s'.", from)
	case d.items[key(to)] != nil:
		return raise("System.IO.IOException", "Cannot create a file when that file already exists.")
	case d.items[key(parent(to))] == nil:
		return raise("System.IO.DirectoryNotFoundException", "Could not find a part of the path.")
	}
	for _, inner := range d.below(from) {
		delete(d.items, key(inner.name))
		inner.name = to + inner.name[len(from):]
		d.items[key(inner.name)] = inner
	}
	delete(d.items, key(from))
	i.name = to
	d.items[key(to)] = i
	return nil
}

func (d *disk) rmdir(name string, all bool) error {
	i := d.items[key(name)]
	if i == nil || !i.dir {
		return raise("System.IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", name)
	}
	inner := d.below(name)
	if len(inner) > 0 && !all {
		return raise("System.IO.IOException", "The directory is not empty.")
	}
	for _, x := range inner {
		delete(d.items, key(x.name))
	}
	delete(d.items, key(name))
	return nil
}

func like(pattern, name string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(name))
	return err == nil && ok
}

// A stream is a file that is open for writing, or standard output.
type stream struct{ name string }

// nullString is [NullString]::Value: $null would be an empty text.
type nullString struct{}

// A moment is a DateTime.
type moment struct{ time.Time }

// Stands is all that the host holds: each file with its ACL, what is set, and what runs later.
func (h *Host) Stands() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(h.disk.items)) {
		i := h.disk.items[k]
		fmt.Fprintf(&out, "%s %t %x %s\n", i.name, i.dir, sha256.Sum256(i.data), i.sddl)
	}
	for _, a := range h.adapters {
		fmt.Fprintf(&out, "%s up %t rdma %t %t qos %t %v %v, started %d times\n", a.name, a.up, a.rdma, a.rdmaSet, a.qos, a.values, a.force, a.restarts)
	}
	fmt.Fprintf(&out, "qos %t %+v\naddresses %v\nlater %v\n", h.dcb, h.qos, h.addresses, h.tasks)
	return out.String()
}
