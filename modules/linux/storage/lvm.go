package storage

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/pattern"
	"weft/internal/remote"
	"weft/modules/linux/see"
)

// What lvm2 reports. Of a server all of it is read once, whatever the number
// of groups and volumes.
func pvsLook() remote.Look { return lvmLook("pvs", "pv_name,vg_name") }
func vgsLook() remote.Look { return lvmLook("vgs", "vg_name,vg_tags,pv_count,vg_free") }
func lvsLook() remote.Look { return lvmLook("lvs", "vg_name,lv_name,lv_size,lv_tags") }

func lvmLook(command, columns string) remote.Look {
	return remote.Look{Root: true, Args: []string{command, "--reportformat", "json", "--units", "b", "--nosuffix", "-o", columns}}
}

var errNoLVM = errors.New("lvm2 is not installed, which cuts volumes from drives")

// lvmRows reads a report: rows of columns, all of them text.
func lvmRows(s remote.Seen, look remote.Look) ([]map[string]string, error) {
	if s.Of(look).Code == 127 {
		return nil, hint.Wrap(errNoLVM, `install it, or have it installed: package "lvm2" {} in the server`)
	}
	out, err := see.Output(s, look)
	if err != nil {
		return nil, err
	}
	var report struct {
		Report []map[string][]map[string]string `json:"report"`
	}
	if err := see.JSON(out, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", look.Args[0], err)
	}
	var rows []map[string]string
	for _, r := range report.Report {
		for _, list := range r {
			rows = append(rows, list...)
		}
	}
	return rows, nil
}

// tagged reports whether a list of tags has that of an owner.
func tagged(tags, owner string) bool {
	for tag := range strings.SplitSeq(tags, ",") {
		if tag == lvmTag(owner) {
			return true
		}
	}
	return false
}

// lvmTag is what groups and volumes of an owner bear.
func lvmTag(owner string) string { return "weft-" + owner }

var NotLVM = pattern.New(`[^A-Za-z0-9+_.-]`)

// lvmName makes a name that lvm2 takes. One that had to be changed gets a
// number that follows from what it was, and stays apart from others.
func LVMName(name string) string {
	clean := NotLVM.ReplaceAllString(strings.TrimLeft(name, "-."), "_")
	if clean == name && len(name) <= 60 {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return fmt.Sprintf("%.50s_%08x", clean, h.Sum32())
}

// extent is what sizes of volumes are multiples of, bytes.
const extent = 4 << 20

// extents is a size as volumes can have it: not smaller.
func Extents(size int64) int64 { return (size + extent - 1) / extent * extent }

// lvmBytes reads a size of a report.
func lvmBytes(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("lvm2 reports the size %q", text)
	}
	return n, nil
}
