package esxi

import (
	"strings"
	"testing"

	"weft/internal/hint"
)

// A NIC under PFC is given no global pause, and what a host says of that is explained.
func TestPauseBesidePFC(t *testing.T) {
	for _, test := range []struct {
		p    Pause
		want string
	}{
		{Pause{Lossless: "fabric.roce", RX: true}, "fabric.roce has PFC for this NIC"},
		{Pause{Lossless: "fabric.roce", TX: true}, "exclude each other"},
		{Pause{Lossless: "fabric.roce"}, ""},
		{Pause{RX: true, TX: true}, ""},
	} {
		err := test.p.check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || hint.Of(err) == "") {
			t.Errorf("%+v: %v, want %q", test.p, err, test.want)
		}
	}
	if got := (&Pause{}).Advice("Unable to complete Sysinfo operation.  Please see the VMkernel log"); !strings.Contains(got, "vmkernel.log") {
		t.Errorf("advice: %q", got)
	}
	if got := (&Pause{}).Advice("Invalid nic name: vmnic9"); got != "" {
		t.Errorf("advice: %q", got)
	}
}
