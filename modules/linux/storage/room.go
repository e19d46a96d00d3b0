package storage

import (
	"fmt"

	"weft/internal/hint"
	"weft/internal/remote"
)

// Room is what is declared of a group of lvm2.
type Room struct {
	Drives  []string         // of its pool, by id
	Volumes map[string]int64 // bytes by name
}

// fits refuses a volume that is to grow, or to be made, in a group that has no
// room for all that is declared in it. Drives that are not in the group yet count
// with the room that they will bring; where one cannot be read nothing is refused
// here: the group says what is wrong with it.
func (v *Volume) fits(s remote.Seen, volumes []map[string]string) error {
	groups, err := lvmRows(s, vgsLook())
	if err != nil {
		return err
	}
	drives, err := lvmRows(s, pvsLook())
	if err != nil {
		return err
	}
	var free int64
	for _, row := range groups {
		if row["vg_name"] == v.Group {
			if free, err = lvmBytes(row["vg_free"]); err != nil {
				return err
			}
		}
	}
	in := map[string]bool{}
	for _, row := range drives {
		in[row["pv_name"]] = row["vg_name"] == v.Group
	}
	for _, id := range v.Among.Drives {
		switch d, err := parseDrive(s, id); {
		case err != nil || d.bytes == 0:
			return nil
		case !in[d.device]:
			free += brings(d.bytes)
		}
	}
	return v.fitsIn(free, volumes)
}

// brings is the room that a drive adds to a group: what is left behind the first
// MiB, where lvm2 keeps its own data (lvm.conf(5), default_data_alignment), in
// whole extents.
func brings(drive int64) int64 { return max(0, (drive-1<<20)/extent*extent) }

// fitsIn is fits for a group that has so many bytes free.
func (v *Volume) fitsIn(free int64, volumes []map[string]string) error {
	have := map[string]int64{}
	for _, row := range volumes {
		if row["vg_name"] != v.Group {
			continue
		}
		size, err := lvmBytes(row["lv_size"])
		if err != nil {
			return err
		}
		have[row["lv_name"]] = size
		if _, declared := v.Among.Volumes[row["lv_name"]]; !declared && tagged(row["lv_tags"], v.Owner) {
			free += size // it is freed
		}
	}
	var more int64
	for name, size := range v.Among.Volumes {
		more += max(0, size-have[name])
	}
	if more <= free || v.Bytes <= have[v.Name] {
		return nil
	}
	return hint.Wrap(fmt.Errorf("its pool has room for %s more, and the volumes that are declared in it take %s more", exactly(max(free, 0)), exactly(more)),
		"give the pool another drive, or declare smaller volumes")
}
