package modules

import (
	"net/netip"
	"testing"

	"weft/plan"
)

// Whoever was killed while it took something back left it in part as it was
// before: that is nobody else's change, and what is left is taken back, too.
func TestTakenBackHalfWay(t *testing.T) {
	whole := Boot{Script: "script", Unit: "unit", Enabled: true}
	former := Boot{Script: "older", Unit: "unit"}
	for _, test := range []struct {
		name   string
		former *Boot
		half   bool
		back   bool
		have   *Boot
		left   bool // it is left alone
		steps  bool
	}{
		{name: "as it was applied", back: true, have: &whole, steps: true},
		{name: "disabled already", back: true, have: &Boot{Script: "script", Unit: "unit"}, steps: true},
		{name: "only a part is there yet", back: true, have: &Boot{Unit: "unit"}, steps: true},
		{name: "nothing is", back: true},
		{name: "somebody wrote another script", back: true, have: &Boot{Script: "theirs", Unit: "unit", Enabled: true}, left: true},
		{name: "and disabled it", back: true, have: &Boot{Script: "theirs", Unit: "unit"}, left: true},
		{name: "a declaration goes", have: &Boot{Script: "script", Unit: "unit"}, left: true},
		{name: "which was half made", half: true, have: &Boot{Script: "script"}, steps: true},
		{name: "back to another one", former: &former, back: true, have: &whole, steps: true},
		{name: "which is there in part", former: &former, back: true, have: &Boot{Script: "older", Unit: "unit", Enabled: true}, steps: true},
		{name: "and is there", former: &former, back: true, have: &former},
		{name: "somebody removed it", former: &former, back: true, left: true},
		{name: "somebody changed what weft did not", former: &former, back: true, have: &Boot{Script: "older", Unit: "theirs", Enabled: true}, left: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &resource[Boot]{kind: BootKind(), want: test.former, kept: &kept[Boot]{last: &whole, half: test.half, back: test.back}}
			d := r.Diff(state(test.have))
			if (d.Left != "") != test.left || (len(d.Send) > 0) != test.steps || d.Err != nil {
				t.Errorf("%+v", d)
			}
		})
	}

	// A connection is there or not: what differs in one is somebody else's.
	at := netip.MustParseAddrPort("10.0.1.1:4420")
	made := &NVMeConnection{NQN: "nqn:t", Address: at, CtrlLoss: 600, ReconnectDelay: 10}
	theirs := *made
	theirs.CtrlLoss = -1
	r := &resource[NVMeConnection]{kind: NVMeConnectionKind(), kept: &kept[NVMeConnection]{last: made, back: true}}
	if d := r.Diff(&theirs); d.Left == "" {
		t.Errorf("a connection that somebody changed: %+v", d)
	}
	if d := r.Diff(made); d.Left != "" || len(d.Send) == 0 {
		t.Errorf("the connection: %+v", d)
	}
}

// state is what a device reads of a thing.
func state[T any](have *T) plan.State {
	if have == nil {
		return nil
	}
	return have
}
