package storage

import (
	"strings"
	"testing"
)

// What is declared of a group must fit into what lvm2 says is free in it.
func TestVolumeFits(t *testing.T) {
	rows := []map[string]string{
		{"vg_name": "g", "lv_name": "old", "lv_size": "1000", "lv_tags": "weft-o"},    // nobody declares it any more
		{"vg_name": "g", "lv_name": "theirs", "lv_size": "1000", "lv_tags": "weft-p"}, // of another owner
		{"vg_name": "g", "lv_name": "v", "lv_size": "1000", "lv_tags": "weft-o"},
		{"vg_name": "h", "lv_name": "w", "lv_size": "1000", "lv_tags": "weft-o"},
	}
	for name, c := range map[string]struct {
		free, v, w int64
		refused    string
	}{
		"both fit, as what is declared no more goes": {free: 500, v: 1500, w: 1000},
		"one byte too many":                          {free: 500, v: 1501, w: 1000, refused: "its pool has room for 1500B more, and the volumes that are declared in it take 1501B more"},
		"the other one is too large":                 {free: 500, v: 1000, w: 9000},
	} {
		v := &Volume{Group: "g", Name: "v", Owner: "o", Bytes: c.v, Among: &Room{Volumes: map[string]int64{"v": c.v, "w": c.w}}}
		switch err := v.fitsIn(c.free, rows); {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %s", name, err, c.refused)
		}
	}
}
