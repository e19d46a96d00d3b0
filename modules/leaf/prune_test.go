package leaf_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/plan"
)

// pruned makes a leaf of one whose fabric was applied and is switched off since.
func (l *rig) pruned() *rig {
	l.t.Helper()
	if _, _, err := l.run(); err != nil {
		l.t.Fatal(err)
	}
	l.disable()
	l.recount()
	return l
}

// disable switches the fabric off in the files.
func (l *rig) disable() {
	l.text = strings.Replace(l.text, `fabric "roce" {`, "fabric \"roce\" {\n  enabled = false", 1)
}

// recount begins to count anew, and forgets what was said.
func (l *rig) recount() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.typed, l.said = 0, ""
}

// Wherever the session is lost while weft reverts what it did, the switch
// reads as it did with the fabric or as it did before weft, and the next apply
// does the rest.
func TestSwitchCutAfterEachLineOfPrune(t *testing.T) {
	require.Long(t, "8 s")
	eachOS(t, func(t *testing.T, os string) {
		ref := newSharedRig(t, os)
		without := ref.sw.RunningConfig()
		with, after, lines := ref.pruned().reference()
		if after != without {
			t.Fatalf("without the fabric it reads\n%s", after)
		}
		if len(lines) < 40 {
			t.Fatalf("only %d lines are typed", len(lines))
		}
		kept := cutAfterEach(lines, func(n int) plan.DeviceOutcome {
			l := newSharedRig(t, os)
			l.files = ref.files
			l.pruned().fate = at(l, n+1, cut)
			_, res, err := l.run()
			l.did = fmt.Sprintf("cut after line %d of a prune: %s", n+1, lines[n])
			outcome := l.ends(with, without, res, err)
			if n%3 == 0 {
				l.converges(without)
			}
			return outcome
		})
		if kept == 0 || kept > len(lines)/2 {
			t.Errorf("%d of %d runs kept what was planned", kept, len(lines))
		}
	})
}

// Wherever the session is lost while a switch is put back, it is put back all
// the same.
func TestSwitchCutAfterEachLineOfRollback(t *testing.T) {
	require.Long(t, "8 s")
	for name, refused := range map[string]string{
		"a line":           `^(pause pfc-cos|qos wred apply)`,
		"the confirmation": confirmation,
	} {
		t.Run(name, func(t *testing.T) {
			eachOS(t, func(t *testing.T, os string) {
				deny := regexp.MustCompile(refused)
				// since is asked about every line, and counts those from the refused one on.
				since := func(n *int, line string) int {
					if *n > 0 || deny.MatchString(line) {
						*n++
					}
					return *n
				}
				before, planned, _ := newSharedRig(t, os).reference()
				ref, count := newSharedRig(t, os), 0
				ref.sw.Deny(deny)
				var lines []string
				ref.fate = func(line string) fate {
					if since(&count, line) > 0 {
						lines = append(lines, line)
					}
					return spared
				}
				_, res, err := ref.run()
				ref.did = "nothing is cut"
				if ref.ends(before, planned, res, err) != plan.DeviceRolledBack || len(lines) < 5 {
					t.Fatalf("%s: %v; typed: %q", res.Devices[0].Outcome, err, lines)
				}
				each(len(lines), func(n int) {
					l, count := newSharedRig(t, os), 0
					l.files = ref.files
					l.sw.Deny(deny)
					l.fate = func(line string) fate {
						if since(&count, line) == n+1 {
							return cut
						}
						return spared
					}
					_, res, err := l.run()
					l.did = fmt.Sprintf("cut after line %d of a rollback: %s", n+1, lines[n])
					if outcome := l.ends(before, planned, res, err); outcome != plan.DeviceRolledBack {
						t.Errorf("%s: %s: %v", l.did, outcome, err)
					}
					if n%3 == 0 {
						l.sw.Deny(nil)
						l.converges(planned)
					}
				})
			})
		})
	}
}

// A policy of ours that someone attached elsewhere meanwhile is taken off there
// as well: nothing else could be removed. What that place carries besides stays.
func TestSwitchPrunePolicyElsewhere(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		l := newRig(t, os)
		before := l.sw.RunningConfig()
		l.pruned()
		theirs := "description moved by hand"
		l.edit(map[string][]string{
			"nxos":    {"interface Ethernet1/4", "service-policy type qos input WEFT-o-roce-in", theirs},
			"comware": {"interface HundredGigE1/0/4", "qos wred apply WEFT-o-roce", theirs},
		}[os]...)
		p, res, err := l.run()
		if err != nil || res.Devices[0].Outcome != plan.DeviceChanged {
			t.Fatalf("%s: %v", res.Devices[0].Outcome, err)
		}
		shown := false
		for _, s := range p.Steps {
			shown = shown || s.ID.Name == l.ports+"4"
		}
		if !shown {
			t.Errorf("the plan does not name %s4", l.ports)
		}
		if now := strings.Replace(l.sw.RunningConfig(), theirs, "description server port 4", 1); now != before {
			t.Errorf("it reads\n%s", now)
		}
	})
}

// Where the place is one that weft does not manage, the switch refuses to remove
// the policy: all stays as it was, and the message has its words.
func TestSwitchPrunePolicyOutOfReach(t *testing.T) {
	t.Parallel()
	l := newRig(t, "nxos")
	without := l.sw.RunningConfig()
	l.pruned()
	l.edit("interface Vlan40", "service-policy type qos input WEFT-o-roce-in")
	before := l.sw.RunningConfig()
	_, res, err := l.run()
	l.did = "a policy of ours on a VLAN"
	if outcome := l.ends(before, without, res, err); outcome != plan.DeviceRolledBack {
		t.Errorf("%s: %v", outcome, err)
	}
	for _, want := range []string{"switch.leaf", "policy-map WEFT-o-roce-in is in use by interface Vlan40"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	l.edit("interface Vlan40", "no service-policy type qos input WEFT-o-roce-in")
	l.edit("no interface Vlan40")
	l.converges(without)
}

// A first run that fails leaves no line of weft's, and so no copy of what was there
// before: what someone sets until the next run is what weft gives back in the end.
func TestSwitchCopyOfAFailedRun(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		l := newRig(t, os)
		before := l.sw.RunningConfig()
		l.sw.Deny(regexp.MustCompile(`^(set qos-group|qos wred apply)`))
		_, res, err := l.run()
		if outcome := l.ends(before, "", res, err); outcome != plan.DeviceRolledBack {
			t.Fatalf("%s: %v", outcome, err)
		}
		l.sw.Deny(nil)
		l.edit(slices.Concat([]string{"interface " + l.ports + "3"}, map[string][]string{"nxos": {"no switchport", "mtu 1600"}, "comware": {"jumboframe enable 1600"}}[os])...)
		theirs := l.sw.RunningConfig()
		if _, _, err := l.run(); err != nil {
			t.Fatal(err)
		}
		l.pruned()
		if now := l.sw.RunningConfig(); now == theirs {
			t.Fatal("nothing of weft's is there")
		}
		if _, _, err := l.run(); err != nil {
			t.Fatal(err)
		}
		if now := l.sw.RunningConfig(); now != theirs {
			t.Errorf("it reads\n%s\nwanted\n%s", now, theirs)
		}
	})
}
