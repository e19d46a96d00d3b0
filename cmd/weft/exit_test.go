package main

import (
	"strings"
	"testing"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/plan/rollout"
)

// Only a pass ends as one: every verdict, and one that this weft does not know, has a code
// and a number for Prometheus.
func TestVerdictCodes(t *testing.T) {
	numbers := map[float64]prove.Verdict{}
	for _, v := range append(prove.Verdicts(), "", "perhaps") {
		if code := proven(v); (code == exitDone) != (v == prove.Pass) {
			t.Errorf("%q ends with %d", v, code)
		}
		if n := gauge(v); (n == 1) != (v == prove.Pass) || (n == 0) != (v == prove.Fail) {
			t.Errorf("%q is %v for Prometheus", v, n)
		}
	}
	for _, v := range prove.Verdicts() {
		if other, taken := numbers[gauge(v)]; taken {
			t.Errorf("%q and %q are the same number", v, other)
		}
		numbers[gauge(v)] = v
	}
	if gauge("perhaps") != -3 || proven(prove.Partial) != exitPartial {
		t.Errorf("%v %d", gauge("perhaps"), proven(prove.Partial))
	}
}

// A gate that could not decide pauses with 9, whatever kept it from deciding.
func TestOpenGateCodes(t *testing.T) {
	for _, v := range rollout.Verdicts() {
		code := caused(&run.Error{Cause: run.Ended, Err: &rollout.Stop{State: rollout.Paused, Verdict: v}})
		if v.Open() != (code == exitInconclusive) {
			t.Errorf("a gate that is %s ends with %d", v, code)
		}
	}
}

// TestExitHelp demands that each row of the table is a command, that its help words each code
// once in ascending order, and that exec does not claim what it cannot know.
func TestExitHelp(t *testing.T) {
	root := commandTree()
	for name := range exitTable() {
		cmd, rest, err := root.Find(strings.Fields(name))
		if err != nil || len(rest) > 0 || cmd == root {
			t.Errorf("%s is not a command", name)
			continue
		}
		last := -1
		for _, e := range exitsOf(cmd) {
			if e.code <= last {
				t.Errorf("%s: %d is listed after %d", name, e.code, last)
			}
			last = e.code
		}
	}
	cmd, _, _ := root.Find([]string{"exec"})
	if help := exitHelp(cmd); !strings.Contains(help, "\n  1   the command failed on a device") || strings.Contains(help, exitText(exitError)) {
		t.Errorf("exec:\n%s", help)
	}
	if n := len(exitsOf(root)); n != 15 {
		t.Errorf("the help of weft lists %d codes", n)
	}
}

// TestGroups demands that help shows every command in a group.
func TestGroups(t *testing.T) {
	root := commandTree()
	if len(root.Groups()) != 6 {
		t.Errorf("%d groups", len(root.Groups()))
	}
	for _, c := range root.Commands() {
		if c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	}
}
