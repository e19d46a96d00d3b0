package leaf_test

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/lab/simswitch"
	"weft/internal/require"
	"weft/plan"
)

// newPlainRig is a leaf of a fabric without classes: nothing on its ports carries
// a name of weft's. Port 1 has a frame length of its operator's.
func newPlainRig(t *testing.T, os string) *rig {
	t.Helper()
	l := newShortRig(t, os)
	begin, rest := strings.Index(l.text, `  traffic_class "rdma"`), strings.Index(l.text, `credential "switch"`)
	l.text = l.text[:begin] + "  mode = \"lossy\"\n  mtu = 9000\n}\n" + l.text[rest:]
	l.text = strings.Replace(l.text, `"rocev2"`, `"tcp"`, 1)
	l.edit(map[string][]string{
		"nxos":    {"interface Ethernet1/1", "no switchport", "mtu 4000"},
		"comware": {"interface HundredGigE1/0/1", "jumboframe enable 4000"},
	}[os]...)
	return l
}

// newShortRig is a leaf whose ports take no long frames unless they are told to.
func newShortRig(t *testing.T, os string) *rig {
	t.Helper()
	return newRigOf(t, simswitch.Spec{OS: os, Hostname: "leaf", Serial: "FDO1", Frame: 1536})
}

// moves links another port of the leaf.
func (l *rig) moves(from, to int) {
	l.text = strings.Replace(l.text, fmt.Sprintf("port[%q]", fmt.Sprint(l.ports, from)), fmt.Sprintf("port[%q]", fmt.Sprint(l.ports, to)), 1)
}

// length sets the frame length of a port by hand.
func (l *rig) length(port, n int) {
	l.t.Helper()
	line := map[string]string{"nxos": "mtu %d", "comware": "jumboframe enable %d"}[l.sw.Spec().OS]
	l.edit(fmt.Sprint("interface ", l.ports, port), fmt.Sprintf(line, n))
}

// marked reports whether a mark stands on the flash, and makes it if it does not.
func (l *rig) marked(name string) bool {
	l.t.Helper()
	lines := map[string][]string{"nxos": {"mkdir bootflash:" + name}, "comware": {"quit", "mkdir " + name}}[l.sw.Spec().OS]
	err := l.sw.Edit(lines...)
	if err != nil && !strings.Contains(err.Error(), "exists") {
		l.t.Fatal(err)
	}
	return err != nil
}

// must carries a plan out, and returns what it lists of a port.
func (l *rig) must(port int) (changes []plan.Change, said string) {
	l.t.Helper()
	p, _, err := l.run()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, s := range p.Steps {
		if s.ID.Name == fmt.Sprint(l.ports, port) {
			changes = append(changes, s.Changes...)
		}
	}
	return changes, strings.Join(p.Devices[0].Identity.Warnings, "\n")
}

// mark is the name of the mark of a port.
func (l *rig) mark(owner string, port, length int) string {
	return fmt.Sprintf("weft-wrote.%s.%s.%d", owner, strings.ReplaceAll(fmt.Sprint(l.ports, port), "/", "_"), length)
}

// The frame length that weft wrote on a port goes with the link, on ports without
// a name of weft's too; the mark that tells goes with it.
func TestLengthOfAnOldPort(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		l := newPlainRig(t, os)
		before := l.sw.RunningConfig()
		if changes, _ := l.must(3); len(changes) == 0 {
			t.Fatal("nothing is written on port 3")
		}
		written := l.sw.RunningConfig()
		l.moves(3, 2)
		changes, said := l.must(3)
		if len(changes) != 1 || changes[0].After != "" || strings.Contains(said, "no mark tells") {
			t.Errorf("port 3: %+v; %s", changes, said)
		}
		l.moves(2, 3)
		if changes, _ := l.must(2); len(changes) != 1 || changes[0].After != "" {
			t.Errorf("port 2: %+v", changes)
		}
		if now := l.sw.RunningConfig(); now != written {
			t.Errorf("moved and back it reads\n%s", now)
		}
		l.disable()
		l.must(3)
		if now := l.sw.RunningConfig(); now != before {
			t.Errorf("without the fabric it reads\n%s\nbefore\n%s", now, before)
		}
		for _, port := range []int{1, 2, 3} {
			if l.marked(l.mark("o", port, 9000)) {
				t.Errorf("the mark of port %d stays", port)
			}
		}
	})
}

// What weft did not write, or others changed or need, stays on a port that no link
// names any more.
func TestLengthThatIsNotOurs(t *testing.T) {
	for name, c := range map[string]struct {
		before, between func(*rig)
		stays           int
		said            string // what the plan says of it, where weft may have written it
	}{
		"the operator's, which was enough": {before: func(l *rig) { l.length(3, 9100) }, stays: 9100},
		"changed by hand since":            {between: func(l *rig) { l.length(3, 4500) }, stays: 4500},
		"taken off by hand since":          {between: func(l *rig) { l.length(3, 9000); l.edit(l.off(3)...) }},
		"another owner's too":              {between: func(l *rig) { l.marked(l.mark("o-b", 3, 9000)) }, stays: 9000},
		"of a weft that left no mark": {between: func(l *rig) {
			l.edit(map[string][]string{"nxos": {"rmdir bootflash:" + l.mark("o", 3, 9000) + " no-prompt"}, "comware": {"quit", "rmdir " + l.mark("o", 3, 9000), "y"}}[l.sw.Spec().OS]...)
		}, stays: 9000, said: "came since weft's first change (before: "},
	} {
		t.Run(name, func(t *testing.T) {
			eachOS(t, func(t *testing.T, os string) {
				l := newPlainRig(t, os)
				l.edit(map[string][]string{"nxos": {"interface Ethernet1/3", "no switchport"}}[os]...)
				if c.before != nil {
					c.before(l)
				}
				l.must(3)
				if c.between != nil {
					c.between(l)
				}
				was := l.port(3)
				l.moves(3, 2)
				changes, said := l.must(3)
				if len(changes) > 0 {
					t.Errorf("port 3: %+v", changes)
				}
				if off := l.off(3); strings.Contains(said, "no mark tells that weft wrote it") != (c.said != "") || !strings.Contains(said, c.said) ||
					c.said != "" && !strings.Contains(said, "Where it did, type "+strings.Join(off, "; ")) {
					t.Errorf("it is said: %s", said)
				}
				if now := l.port(3); now != was || c.stays > 0 && !strings.Contains(now, fmt.Sprint(c.stays)) {
					t.Errorf("port 3 reads\n%s, before\n%s", now, was)
				}
			})
		})
	}
}

// off are the lines that take the frame length off a port.
func (l *rig) off(port int) []string {
	line := map[string]string{"nxos": "no mtu", "comware": "undo jumboframe enable 9000"}[l.sw.Spec().OS]
	return []string{fmt.Sprint("interface ", l.ports, port), line}
}

// port is what the switch reads of a port.
func (l *rig) port(n int) string {
	_, text, _ := strings.Cut(l.sw.RunningConfig(), fmt.Sprint("interface ", l.ports, n, "\n"))
	text, _, _ = strings.Cut(text, "\ninterface ")
	return text
}

// A fabric that loses its classes loses the name on its ports: the frame lengths
// that it wrote there are marked before.
func TestLengthOutlivesTheClasses(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		with, plain := newShortRig(t, os), newPlainRig(t, os)
		with.text = strings.Replace(with.text, `transport = "rocev2"`, "transport = \"rocev2\"\n  mtu = 9000", 1)
		before, old := with.sw.RunningConfig(), with.port(3)
		with.must(3)
		with.text = plain.text
		with.must(3)
		if with.port(3) == old {
			t.Fatal("port 3 has no length by weft")
		}
		with.moves(3, 2)
		if changes, said := with.must(3); len(changes) != 1 {
			t.Errorf("port 3: %+v; %s", changes, said)
		}
		with.disable()
		with.must(3)
		if now := with.sw.RunningConfig(); now != before {
			t.Errorf("without the fabric it reads\n%s\nbefore\n%s", now, before)
		}
	})
}

// Wherever the session is lost while a link moves, the next run does what is left,
// and no mark tells what is not so.
func TestLengthCutAfterEachLine(t *testing.T) {
	require.Long(t, "5 s")
	eachOS(t, func(t *testing.T, os string) {
		ref := newPlainRig(t, os)
		first := ref.sw.RunningConfig()
		ref.must(3)
		ref.moves(3, 2)
		ref.recount()
		with, after, lines := ref.reference()
		cutAfterEach(lines, func(n int) plan.DeviceOutcome {
			l := newPlainRig(t, os)
			l.files = ref.files
			l.must(3)
			l.moves(3, 2)
			l.recount()
			l.fate = at(l, n+1, cut)
			_, res, err := l.run()
			l.did = fmt.Sprintf("cut after line %d: %s", n+1, lines[n])
			outcome := l.ends(with, after, res, err)
			l.converges(after)
			l.disable()
			l.converges(first)
			return outcome
		})
	})
}
