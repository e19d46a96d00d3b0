package modules

import (
	"fmt"
	"strconv"

	"weft/internal/hint"
	"weft/internal/remote"
)

// Room is what is declared of a group of lvm2.
type Room struct {
	Drives  int              // of its pool
	Volumes map[string]int64 // bytes by name
}

// fits refuses a volume that is to grow, or to be made, in a group that has no
// room for all that is declared in it. How much room there will be is not known
// before the group has all its drives.
func (v *Volume) fits(s remote.Seen, volumes []map[string]string) error {
	groups, err := lvmRows(s, vgsLook())
	if err != nil {
		return err
	}
	for _, row := range groups {
		if drives, err := strconv.Atoi(row["pv_count"]); row["vg_name"] != v.Group || err != nil || drives < v.Among.Drives {
			continue
		}
		free, err := lvmBytes(row["vg_free"])
		if err != nil {
			return err
		}
		return v.fitsIn(free, volumes)
	}
	return nil
}

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
			free += size // it is taken back
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
