package see

import (
	"strings"
	"testing"

	"weft/internal/hint"
)

func TestMessagesInJSON(t *testing.T) {
	for name, out := range map[string]string{
		"none":             `{"report":[{"vg":[{"vg_name":"vg0"}]}]}`,
		"in the middle":    "  {\n      \"report\": [\n  Consider pruning vg0 VG archive with more then 6 MiB in 8206 files (see archiving settings in lvm.conf).\n          {\n              \"vg\": [\n                  {\"vg_name\":\"vg0\"}\n              ]\n          }\n      ]\n  }\n",
		"before":           "WARNING: locking is off\n{\"report\":[{\"vg\":[{\"vg_name\":\"vg0\"}]}]}\n",
		"after":            "{\"report\":[{\"vg\":[{\"vg_name\":\"vg0\"}]}]}\nFile descriptor 7 leaked\n",
		"with words alone": "{\"on\":[\ntrue,\nnull\n],\nnote: this\n\"report\":[{\"vg\":[{\"vg_name\":\"vg0\"}]}]}\n",
	} {
		var got struct {
			Report []map[string][]map[string]string
		}
		if err := JSON([]byte(out), &got); err != nil || len(got.Report) != 1 || got.Report[0]["vg"][0]["vg_name"] != "vg0" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	err := JSON([]byte("{\"report\":[\n  Volume group lock failed\n"), new(any))
	if err == nil || !strings.Contains(hint.Of(err), "Volume group lock failed") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}
