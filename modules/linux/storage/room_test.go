package storage

import (
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/internal/remote"
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

// Drives whose blocks are larger than those that a target serves are refused, taken or not;
// those that do not tell are not.
func TestLargeBlocks(t *testing.T) {
	for _, c := range []struct {
		served *Served
		blocks string
		in     string
		want   string
	}{
		{&Served{512, "target.t (main.weft.hcl:9)", "take another"}, "blocks 4096", "", "/dev/disk/by-id/nvme-eui.01 (/dev/nvme1n1) has blocks of 4096 bytes, and target.t (main.weft.hcl:9) serves it in blocks of 512"},
		{&Served{512, "target.t", "take another"}, "blocks 4096", "g", "has blocks of 4096 bytes"},
		{&Served{512, "target.t", "take another"}, "blocks 512", "", ""},
		{&Served{512, "target.t", "take another"}, "", "", ""},
		{nil, "blocks 4096", "", ""},
	} {
		g := &VolumeGroup{Name: "g", Owner: "o", Drives: []string{"nvme-eui.01"}, Served: c.served}
		pvs := `{"report":[{"pv":[{"pv_name":"/dev/nvme1n1","vg_name":"` + c.in + `"}]}]}`
		vgs := `{"report":[{"vg":[{"vg_name":"g","vg_tags":"` + lvmTag("o") + `"}]}]}`
		seen := remote.NewSeen(
			remote.Answer{Look: pvsLook(), Sight: remote.Sight{Content: []byte(pvs)}},
			remote.Answer{Look: vgsLook(), Sight: remote.Sight{Content: []byte(vgs)}},
			remote.Answer{Look: driveLook("nvme-eui.01"), Sight: remote.Sight{Content: []byte("device /dev/nvme1n1\nbytes 1024\n" + c.blocks + "\n")}},
		)
		_, err := g.Parse(seen)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) != "take another") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
