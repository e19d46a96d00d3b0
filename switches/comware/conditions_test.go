package comware

import (
	"testing"

	"weft/internal/require"
)

func TestTranscriptsConditions(t *testing.T) {
	list, ok := boards(require.Transcript(t, "hp_comware/display_device/h3c_cw7_cmdref_doc_sample.txt"))
	if !ok || len(list) == 0 || list[0].Part != "subslot 3" || list[0].Text != "it is Fault" {
		t.Errorf("%v %+v", ok, list)
	}
	for _, x := range list {
		if x.Text != "it is Fault" {
			t.Errorf("%+v", x)
		}
	}
	if _, ok := boards("Error: Unrecognized command"); ok {
		t.Error("it understands anything")
	}
}
