package leaf_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"weft/internal/require"
	"weft/plan"
)

// atOnce is how many switches are tried at the same time: most of the time they
// wait for each other's answers.
const atOnce = 8

// Wherever the session is lost under an apply, whatever line was typed last, the
// switch reads as before or as planned, what others have there included, weft says which, and the next apply does
// the rest.
func TestSwitchCutAfterEachLine(t *testing.T) {
	require.Long(t, "9 s")
	eachOS(t, func(t *testing.T, os string) {
		ref := newSharedRig(t, os)
		before, planned, lines := ref.reference()
		if was, is := theirs(before), theirs(planned); len(was) < 4 || !slices.Equal(was, is) {
			t.Fatalf("others had %q there, and have %q", was, is)
		}
		if len(lines) < 60 {
			t.Fatalf("only %d lines are typed", len(lines))
		}
		kept := cutAfterEach(lines, func(n int) plan.DeviceOutcome {
			l := newSharedRig(t, os)
			l.files = ref.files
			l.fate = at(l, n+1, cut)
			_, res, err := l.run()
			l.did = fmt.Sprintf("cut after line %d: %s", n+1, lines[n])
			outcome := l.ends(before, planned, res, err)
			if !configures(lines[n]) || n%4 == 0 { // the others leave behind the same
				l.converges(planned)
			}
			return outcome
		})
		if kept == 0 || kept > len(lines)/3 {
			t.Errorf("%d of %d runs kept what was planned", kept, len(lines))
		}
	})
}

// theirs are the lines that name what others have on a shared leaf.
func theirs(config string) (out []string) {
	for line := range strings.Lines(config) {
		if strings.Contains(line, "WEFT-o-b-") || strings.Contains(line, "THEIRS") || strings.Contains(line, "VOICE") {
			out = append(out, line)
		}
	}
	return out
}

// cutAfterEach tries each line in turn, and counts the runs that kept what was
// planned.
func cutAfterEach(lines []string, try func(n int) plan.DeviceOutcome) (kept int) {
	var mu sync.Mutex
	each(len(lines), func(n int) {
		outcome := try(n)
		mu.Lock()
		defer mu.Unlock()
		if outcome == plan.DeviceChanged {
			kept++
		}
	})
	return kept
}

// configures reports whether a line is one of the fabric's own.
func configures(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"class-map", "policy-map", "class", "match", "set", "bandwidth", "random-detect", "pause", "priority",
		"service-policy", "interface", "mtu", "exit", "qos", "queue", "import", "quit", "jumboframe", "priority-flow-control"}, word)
}

// at is a fate that comes with the n-th line.
func at(l *rig, n int, is fate) func(string) fate {
	return func(string) fate {
		if l.count() == n {
			return is
		}
		return spared
	}
}

// each does something n times, several at once; with the race detector, for which it
// matters less how often than how, each stride-th time and the last.
func each(n int, do func(int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := (n - 1) % stride; i < n; i += stride {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	all.Wait()
}
