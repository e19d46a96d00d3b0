package host

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/plan"
)

// Whoever was killed while it took something back left it in part as it was
// before: that is nobody else's change, and what is left is reverted, too.
func TestRevertedHalfWay(t *testing.T) {
	whole := parts{Script: "script", Unit: "unit", Enabled: true}
	former := parts{Script: "older", Unit: "unit"}
	for _, test := range []struct {
		name   string
		former *parts
		half   bool
		back   bool
		have   *parts
		left   bool // it is left alone
		steps  bool
	}{
		{name: "as it was applied", back: true, have: &whole, steps: true},
		{name: "disabled already", back: true, have: &parts{Script: "script", Unit: "unit"}, steps: true},
		{name: "only a part is there yet", back: true, have: &parts{Unit: "unit"}, steps: true},
		{name: "nothing is", back: true},
		{name: "somebody wrote another script", back: true, have: &parts{Script: "theirs", Unit: "unit", Enabled: true}, left: true},
		{name: "and disabled it", back: true, have: &parts{Script: "theirs", Unit: "unit"}, left: true},
		{name: "a declaration goes", have: &parts{Script: "script", Unit: "unit"}, left: true},
		{name: "which was half made", half: true, have: &parts{Script: "script"}, steps: true},
		{name: "back to another one", former: &former, back: true, have: &whole, steps: true},
		{name: "which is there in part", former: &former, back: true, have: &parts{Script: "older", Unit: "unit", Enabled: true}, steps: true},
		{name: "and is there", former: &former, back: true, have: &former},
		{name: "somebody removed it", former: &former, back: true, left: true},
		{name: "somebody changed what weft did not", former: &former, back: true, have: &parts{Script: "older", Unit: "theirs", Enabled: true}, left: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &resource[parts]{kind: partsKind(), want: test.former, kept: &kept[parts]{last: &whole, half: test.half, back: test.back}}
			d := r.Diff(state(test.have))
			if (d.Left != "") != test.left || (len(d.Send) > 0) != test.steps || d.Err != nil {
				t.Errorf("%+v", d)
			}
		})
	}

	// A connection is there or not: what differs in one is another owner's.
	const made = `{"NQN":"nqn:t","Address":"10.0.1.1:4420","CtrlLoss":600,"ReconnectDelay":10}`
	d := &Machine{os: linux(), name: "server.s"}
	restored, err := d.restore(plan.Entry{Kind: "nvme_connection", Name: "x", State: plan.EntryCreated, Applied: json.RawMessage(made)})
	if err != nil {
		t.Fatal(err)
	}
	restored.reverses()
	theirs := strings.Replace(made, "600", "-1", 1)
	if d := restored.Diff(seenAs(t, "nvme_connection", theirs)); d.Left == "" {
		t.Errorf("a connection that somebody changed: %+v", d)
	}
	if d := restored.Diff(seenAs(t, "nvme_connection", made)); d.Left != "" || len(d.Send) == 0 {
		t.Errorf("the connection: %+v", d)
	}
}

// parts is something that is there in part while it is made.
type parts struct {
	Script, Unit string
	Enabled      bool
}

func partsKind() *Kind[parts] {
	diff := func(want, have *parts) []plan.Change {
		w, h := Some(want), Some(have)
		return slices.Concat(plan.Changed("script", h.Script, w.Script, 0), plan.Changed("unit", h.Unit, w.Unit, 0), plan.Changed("enabled", h.Enabled, w.Enabled, 0))
	}
	return &Kind[parts]{Name: "parts", Diff: diff, Steps: func(want, have *parts) (steps []remote.Step) {
		for _, c := range diff(want, have) {
			steps = append(steps, Run("set", c.Path, c.After))
		}
		return steps
	}}
}

// state is what a device reads of a thing.
func state[T any](have *T) plan.State {
	if have == nil {
		return nil
	}
	return have
}
