//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"weft/internal/require"
)

const lostText = `weft { name = "bench" }
server "node" {
  for_each = toset(["n00"])
  host     = each.key
  file "%[1]s/a" { content = "a\n" }
  command "made" {
    run     = ["mkdir", "%[1]s/made"]
    creates = "%[1]s/made"
    undo    = ["rmdir", "%[1]s/made"]
  }
  file "%[1]s/b" {
    content = "%[2]0300000d"
    mode    = "0600"
  }
}
`

// Wherever the network is lost under an apply, what was done is reverted or
// whole, nothing is half written, and the next apply converges.
func TestLostNetwork(t *testing.T) {
	require.Long(t, "9 s")
	t.Parallel()
	f := newFleet(t, names(1), 0)
	relay := f.relayed(t)
	if err := os.WriteFile(filepath.Join(f.dir, "main.weft.hcl"), fmt.Appendf(nil, lostText, f.conf(), 7), 0o600); err != nil {
		t.Fatal(err)
	}
	weft := func(args ...string) (code int, said string) {
		cmd := exec.Command(f.weft, append([]string{"-C", f.dir}, args...)...)
		cmd.Env = f.env()
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	must := func(args ...string) {
		t.Helper()
		if code, said := weft(args...); code != 0 {
			t.Fatalf("weft %v exits %d:\n%s", args, code, said)
		}
	}
	there := func() (list []string) {
		t.Helper()
		entries, err := os.ReadDir(f.conf())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	whole := []string{"a", "b", "made"}

	before := relay.Passed()
	must("apply", "--auto-approve")
	sent := relay.Passed() - before
	must("apply", "--destroy", "--auto-approve")

	const cuts = 8
	for i := range cuts {
		after := sent * (2*i + 1) / (2 * cuts)
		relay.BreakAfter(after)
		code, said := weft("apply", "--auto-approve")
		relay.Mend()         // where less was sent than that
		f.machine.settles(t) // else it may still be at work on what had been sent, on a busy machine
		got := there()
		switch {
		case code == exitDone && slices.Equal(got, whole):
		case slices.Contains([]int{exitError, exitRolledBack, exitUnreachable}, code) && len(got) == 0:
		default:
			t.Errorf("cut after %d of %d bytes: exits %d and leaves %v:\n%s", after, sent, code, got, said)
		}
		must("apply", "--auto-approve")
		must("plan", "--detailed-exitcode")
		if got := there(); !slices.Equal(got, whole) {
			t.Errorf("cut after %d of %d bytes: the next apply makes %v", after, sent, got)
		}
		must("apply", "--destroy", "--auto-approve")
		if got := there(); len(got) > 0 {
			t.Errorf("cut after %d of %d bytes: %v cannot be taken back", after, sent, got)
		}
	}
}
