package leaf_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"weft/internal/lab/simswitch"
	"weft/modules"
	"weft/plan"
	"weft/switches/systems"
)

// A switch without a timed revert is known for one before anything is typed
// there that changes it, and the message has the way out.
func TestSwitchWithoutTimedRevert(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		_, planned, _ := reference(t, os)
		l := newRig(t, os)
		l.sw.Lack(timedReverts)
		before := l.sw.RunningConfig()
		p, _, err := l.run()
		if len(p.Refusals) != 1 || len(p.Steps) == 0 || err == nil || l.sw.RunningConfig() != before {
			t.Fatalf("%d steps, refusals %+v: %v", len(p.Steps), p.Refusals, err)
		}
		r := p.Refusals[0]
		if r.ID.String() != "switch.leaf/safety.commit_confirm" || !strings.Contains(r.Text, "no timed revert that weft can arm") || !strings.Contains(r.Hint, `commit_confirm = "none"`) {
			t.Errorf("%s: %s\n%s", r.ID, r.Text, r.Hint)
		}
		if c := p.Counts(); c.Resources != c.Changed || c.Refused != 0 {
			t.Errorf("%+v", c)
		}

		// The way out is one: what goes wrong is reverted, what does not stays.
		l.text = strings.Replace(l.text, `commit_confirm = "5m"`, `commit_confirm = "none"`, 1)
		l.sw.Refuse(regexp.MustCompile(`^(pause|qos wred apply)`))
		p, res, err := l.run()
		if len(p.Refusals) > 0 || !strings.Contains(p.Devices[0].Identity.Method, "without a timed revert") {
			t.Errorf("%+v: %+v", p.Devices[0].Identity, p.Refusals)
		}
		if outcome := l.ends(before, planned, res, err); outcome != plan.DeviceRolledBack {
			t.Errorf("%s: %v", outcome, err)
		}
		l.sw.Refuse(nil)
		l.sw.Break(regexp.MustCompile(`^service-policy type queuing output`))
		if _, res, err = l.run(); os == "nxos" && l.ends(before, planned, res, err) != plan.DeviceRolledBack {
			t.Errorf("%s: %v", res.Devices[0].Outcome, err)
		}
		l.sw.Break(nil)
		l.converges(planned)
	})
}

// Whoever may not configure is told so by the plan, which holds nevertheless:
// another owner may carry it out. A plan with nothing to do asks nothing.
func TestSwitchMayNotConfigure(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		l := newRig(t, os)
		l.sw.Deny(regexp.MustCompile(`^(configure dual-stage|system-view)$`))
		if p, _, err := l.run(); len(p.Refusals) != 1 || err == nil {
			t.Errorf("carried out by who may not: %v: %+v", err, p.Refusals)
		}
		l.reads = true
		p, res, err := l.run()
		if len(p.Refusals) > 0 || err == nil || res.Devices[0].Outcome != plan.DeviceUnchanged {
			t.Errorf("%s: %v: %+v", res.Devices[0].Outcome, err, p.Refusals)
		}
		said := strings.Join(p.Devices[0].Identity.Warnings, "\n")
		if !regexp.MustCompile(`whether the switch can be changed safely, and revert changes by itself, could not be seen: refused "(configure dual-stage|system-view)": .*(?i)permission denied`).MatchString(said) {
			t.Errorf("it says %q", said)
		}
		l.sw.Deny(nil)
		l.reads = false
		if _, _, err := l.run(); err != nil {
			t.Fatal(err)
		}
		l.fate = func(line string) fate {
			if timedReverts.MatchString(line) || line == "system-view" {
				t.Errorf("typed for a plan with nothing to do: %s", line)
			}
			return spared
		}
		if p, _, err := l.run(); err != nil || len(p.Steps) > 0 {
			t.Errorf("%d steps: %v", len(p.Steps), err)
		}
	})
}

// What marks are kept with is looked at by the plan: a switch that does not list
// its files, or does not tell its time, is never begun.
func TestSwitchKeepsNoMarks(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		for name, x := range map[string]struct {
			start func(*rig)
			says  string
		}{
			"no listing":             {func(l *rig) { l.sw.Lack(listing) }, `(?i)refused "dir.*% (invalid|unrecognized) command`},
			"a time that is no time": {func(l *rig) { l.sw.Hostile(clocks, "it is late") }, `the switch does not tell its time: "it is late"`},
		} {
			l := newRig(t, os)
			before := l.sw.RunningConfig()
			x.start(l)
			p, _, err := l.run()
			if len(p.Refusals) != 1 || err == nil || l.sw.RunningConfig() != before {
				t.Fatalf("%s: refusals %+v: %v", name, p.Refusals, err)
			}
			if said := p.Refusals[0].Text; !strings.Contains(said, "weft cannot keep its marks on this switch") || !regexp.MustCompile(x.says).MatchString(said) {
				t.Errorf("%s: %s", name, said)
			}
		}
	})
}

// Whoever may not list files is told so by the plan, and refused before the first
// step where the plan is to be carried out: by apply, and by apply of a saved plan
// that another owner may have made.
func TestSwitchMayNotList(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		l := newRig(t, os)
		l.sw.Deny(listing)
		l.reads = true
		p, _, _ := l.run()
		if len(p.Refusals) > 0 || !strings.Contains(strings.Join(p.Devices[0].Identity.Warnings, "\n"), "whether the switch can be changed safely") {
			t.Errorf("%+v: %q", p.Refusals, p.Devices[0].Identity.Warnings)
		}
		l.reads = false
		if p, _, err := l.run(); len(p.Refusals) != 1 || err == nil || !strings.Contains(p.Refusals[0].Text, "refused \"dir") {
			t.Errorf("%+v: %v", p.Refusals, err)
		}
		l.sw.Deny(regexp.MustCompile(`^(configure dual-stage|system-view)$`))
		_, fleet := l.expand(systems.Named(os))
		d := fleet.Devices["switch.leaf"].(modules.SwitchNode).Device
		mark := plan.Mark{Format: plan.MarkFormat, Run: plan.NewRunID(time.Now()), Owner: "o", Who: "me@here"}
		if err := d.Mark(t.Context(), mark, func(plan.Mark) bool { return false }); err == nil || !strings.Contains(strings.ToLower(err.Error()), "permission denied") {
			t.Errorf("a run begins: %v", err)
		}
	})
}

// Lines that list files, and tell the time.
var (
	listing = regexp.MustCompile(`^dir\b`)
	clocks  = regexp.MustCompile(`^(show|display) clock$`)
)

// While the timed revert of another owner runs, the switch is not even asked
// whether it has one.
func TestSwitchRevertRuns(t *testing.T) {
	l := newRig(t, "nxos")
	before := l.sw.RunningConfig()
	l.edit("mkdir bootflash:weft-armed.9999999999.0123456789ab.other.1_1_aa_them")
	l.fate = func(line string) fate {
		if timedReverts.MatchString(line) {
			t.Errorf("typed while a revert runs: %s", line)
		}
		return spared
	}
	p, _, err := l.run()
	if len(p.Steps) == 0 || len(p.Refusals) > 0 || !errors.As(err, new(*plan.HeldError)) || l.sw.RunningConfig() != before {
		t.Errorf("%d steps, %+v: %v", len(p.Steps), p.Refusals, err)
	}
}

// An operator renames the switch while weft is at work: prompts change under it,
// and what is planned is made all the same. Where it is put back
// instead, the new name is no part of that, and is told.
func TestSwitchRenamed(t *testing.T) {
	t.Parallel()
	rename := map[string]string{"nxos": "hostname renamed", "comware": "sysname renamed"}
	for name, at := range map[string]string{"while lines are sent": `^(policy-map type queuing|qos wfq)`, "before it is proven": confirmed, "before it is confirmed": confirmation} {
		t.Run(name, func(t *testing.T) {
			eachOS(t, func(t *testing.T, os string) {
				_, planned, _ := reference(t, os)
				l := newRig(t, os)
				l.did = name
				befall := first(at, func(l *rig) fate { l.edit(rename[os]); return spared })
				l.fate = func(line string) fate { return befall(l, line) }
				was := strings.Fields(rename[os])[0] + " leaf"
				planned = strings.Replace(planned, was, rename[os], 1)
				_, res, err := l.run()
				if err != nil || res.Devices[0].Outcome != plan.DeviceChanged || l.sw.RunningConfig() != planned {
					t.Errorf("%s: %v\n%s\n%s", res.Devices[0].Outcome, err, l.heard(), l.sw.RunningConfig())
				}
				l.converges(planned)
			})
		})
	}
	t.Run("and a line is refused", func(t *testing.T) {
		eachOS(t, func(t *testing.T, os string) {
			l := newRig(t, os)
			before := l.sw.RunningConfig()
			befall := first(`^(policy-map type queuing|qos wfq)`, func(l *rig) fate { l.edit(rename[os]); return spared })
			l.fate = func(line string) fate { return befall(l, line) }
			l.sw.Refuse(regexp.MustCompile(`^(pause|qos wred apply)`))
			_, res, err := l.run()
			was := strings.Fields(rename[os])[0] + " leaf"
			now := strings.Replace(l.sw.RunningConfig(), rename[os], was, 1)
			if now != before {
				t.Errorf("%s: it reads\n%s", res.Devices[0].Outcome, now)
			}
			// On Comware the timer takes the name back as well.
			if os == "nxos" && (res.Devices[0].Outcome != plan.DeviceUnknown || err == nil || !strings.Contains(err.Error(), "missing: "+was+"; added: "+rename[os])) {
				t.Errorf("%s: %v", res.Devices[0].Outcome, err)
			}
		})
	})
}

// Where a port of Comware takes shorter frames than the fabric, by itself or
// because someone said so, it does so again without the fabric: to take the
// line off without its length would forbid all long frames.
func TestSwitchFrames(t *testing.T) {
	t.Parallel()
	for name, forbidden := range map[string]bool{"by itself": false, "by somebody": true} {
		l := newRigOf(t, simswitch.Spec{OS: "comware", Hostname: "leaf", Serial: "FDO1", Frame: 1600})
		if forbidden {
			l.edit("interface HundredGigE1/0/3", "undo jumboframe enable")
		}
		before := l.sw.RunningConfig()
		if strings.Contains(before, "undo jumboframe") != forbidden {
			t.Fatal(before)
		}
		if _, res, err := l.run(); err != nil || !strings.Contains(l.sw.RunningConfig(), "\n jumboframe enable 9216\n") {
			t.Fatalf("%s: %s: %v\n%s", name, res.Devices[0].Outcome, err, l.sw.RunningConfig())
		}
		if p, _, err := l.run(); err != nil || len(p.Steps) > 0 {
			t.Errorf("%s: then %d steps: %v", name, len(p.Steps), err)
		}
		l.disable()
		if _, res, err := l.run(); err != nil || l.sw.RunningConfig() != before {
			t.Errorf("%s: without the fabric: %s: %v\n%s", name, res.Devices[0].Outcome, err, l.sw.RunningConfig())
		}
	}
}
