package leaf_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"weft/internal/require"
	"weft/plan"
)

// A trouble is something that goes wrong with a switch under an apply.
type trouble struct {
	os    string // only there; "": everywhere
	start func(l *rig)
	// befall is asked about every line that is typed; may be nil.
	befall func(l *rig, line string) fate
	ends   plan.DeviceOutcome
	says   string       // what the error says: a regular expression
	after  func(l *rig) // mends it; nil: the next run is not tried
}

// Whatever goes wrong, the switch ends as before or as planned, which is read
// from the switch itself, and weft says which and why.
func TestSwitchTroubles(t *testing.T) {
	require.Long(t, "5 s")
	for name, x := range troubles() {
		t.Run(name, func(t *testing.T) {
			eachOS(t, func(t *testing.T, os string) {
				if x.os != "" && x.os != os {
					t.Skip("of another OS")
				}
				_, planned, _ := reference(t, os)
				l := newRig(t, os)
				l.did = name
				if x.start != nil {
					x.start(l)
				}
				before := l.sw.RunningConfig()
				if x.befall != nil {
					l.fate = func(line string) fate { return x.befall(l, line) }
				}
				p, res, err := l.run()
				if outcome := l.ends(before, planned, res, err); outcome != x.ends {
					t.Errorf("%s, wanted %s: %v", outcome, x.ends, err)
				}
				said := ""
				if err != nil {
					said = err.Error()
				}
				for _, r := range p.Refusals {
					said += "\n" + r.Text
				}
				if !regexp.MustCompile(x.says).MatchString(said) {
					t.Errorf("it says %q, wanted %q", said, x.says)
				}
				if x.after != nil {
					x.after(l)
					l.converges(planned)
				}
			})
		})
	}
}

// first makes something happen before the first line that matches is heard.
func first(pattern string, do func(l *rig) fate) func(*rig, string) fate {
	line := regexp.MustCompile(pattern)
	return func(l *rig, typed string) fate {
		l.mu.Lock()
		met := l.met
		l.met = met || line.MatchString(typed)
		now := l.met && !met
		l.mu.Unlock()
		if !now {
			return spared
		}
		return do(l)
	}
}

// second is a fate that comes with the first line that matches after another
// did.
func second(pattern, after string, is fate) func(*rig, string) fate {
	line := regexp.MustCompile(pattern)
	begun := first(after, func(*rig) fate { return spared })
	return func(l *rig, typed string) fate {
		begun(l, typed)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.again || !l.met || !line.MatchString(typed) {
			return spared
		}
		l.again = true
		return is
	}
}

// confirmed is typed before what is to be proven is in force, or after all of it
// is: what comes then is the proof.
const confirmed = `^(commit confirmed \d+|priority-flow-control no-drop dot1p \d+)$`

// timedReverts are the lines of which a switch that has none has not one.
var timedReverts = regexp.MustCompile(`^(configure dual-stage|configuration commit.*)$`)

const confirmation = `^(commit|configuration commit)$`

func troubles() map[string]trouble {
	nothing := func(*rig) {}
	deny := func(lines string) func(*rig) {
		return func(l *rig) { l.sw.Deny(regexp.MustCompile(lines)) }
	}
	allow := func(l *rig) { l.sw.Deny(nil) }
	return map[string]trouble{
		"a show is not allowed": {start: deny(`running-config$|current-configuration$`), ends: plan.DeviceUnchanged, says: `cannot be reached: .*(?i)permission denied`, after: allow},
		"a line is not allowed": {start: deny(`^(set qos-group|import|qos wfq)`), ends: plan.DeviceRolledBack, says: `(?i)permission denied`, after: allow},
		"to configure is not allowed": {start: deny(`^(configure dual-stage|system-view)$`), ends: plan.DeviceUnchanged,
			says: `(?i)permission denied`, after: allow},
		"to confirm is not allowed": {start: deny(confirmation), ends: plan.DeviceRolledBack, says: `(?i)permission denied`, after: allow},
		"to save is not allowed": {start: deny(`^(copy running-config startup-config|save force)$`), ends: plan.DeviceChanged,
			says: `proven and stay: it runs as planned.*(?i)permission denied`},

		"no room from the beginning": {start: func(l *rig) { l.sw.Fill(true) }, ends: plan.DeviceUnchanged,
			says: `take the lease: .*no space left`, after: func(l *rig) { l.sw.Fill(false) }},
		"no room for the copy of what was there": {befall: first(`^(copy running-config|save) .*base`, func(l *rig) fate { l.sw.Fill(true); return spared }),
			ends: plan.DeviceUnchanged, says: `before the first change: .*no space left`, after: func(l *rig) { l.sw.Fill(false) }},
		"no room for the mark of the delay": {os: "comware", befall: first(`^mkdir .*weft-armed`, func(l *rig) fate { l.sw.Fill(true); return spared }),
			ends: plan.DeviceUnchanged, says: `mark that a timed revert will run: .*no space left`, after: func(l *rig) { l.sw.Fill(false) }},
		"no room for the mark of its timer": {os: "nxos", befall: first(`^mkdir .*weft-armed`, func(l *rig) fate { l.sw.Fill(true); return spared }),
			ends: plan.DeviceRolledBack, says: `mark that a timed revert will run: .*no space left`, after: func(l *rig) { l.sw.Fill(false) }},
		"no room for the copy of what is proven": {befall: first(`^(copy running-config|save) .*left`, func(l *rig) fate { l.sw.Fill(true); return spared }),
			ends: plan.DeviceChanged, says: `no space left`},
		"no room to save": {befall: first(`^(copy running-config startup-config|save force)$`, func(l *rig) fate { l.sw.Fill(true); return spared }),
			ends: plan.DeviceChanged, says: `proven and stay: it runs as planned.*no space left`},

		"a line in the middle is refused": {start: func(l *rig) { l.sw.Refuse(regexp.MustCompile(`^(pause|qos wred apply)`)) },
			ends: plan.DeviceRolledBack, says: `refused by the lab`, after: func(l *rig) { l.sw.Refuse(nil) }},
		"its modules do not bring a line about": {os: "nxos", start: func(l *rig) { l.sw.Break(regexp.MustCompile(`^service-policy type queuing output`)) },
			ends: plan.DeviceRolledBack, says: `Unable to perform the action due to incompatibility: Module 1 returned status`, after: func(l *rig) { l.sw.Break(nil) }},
		"it has no timed revert": {start: func(l *rig) { l.sw.Lack(timedReverts) }, ends: plan.DeviceUnchanged,
			says:  `safety.commit_confirm cannot be applied: no timed revert that weft can arm: refused "con(figure dual-stage|figuration commit delay \?)": % (Invalid|Unrecognized) command`,
			after: func(l *rig) { l.sw.Lack(nil) }},
		"no answer to a show": {start: brief, befall: first(`^(show running-config|display current-configuration)$`, func(*rig) fate { return mute }),
			ends: plan.DeviceUnchanged, says: `cannot be reached: .*no prompt within`, after: patient},
		"no answer to a line": {start: brief, befall: first(`^(policy-map|qos trust)`, func(*rig) fate { return mute }),
			ends: plan.DeviceRolledBack, says: `no prompt within`, after: patient},

		"it closes its side while it is read": {befall: first(`^(show running-config|display current-configuration)$`, func(*rig) fate { return halfway }),
			ends: plan.DeviceUnchanged, says: `cannot be reached: .*the switch ended the session`, after: nothing},
		"it closes its side under a line": {befall: first(`^(policy-map|qos trust)`, func(*rig) fate { return halfway }),
			ends: plan.DeviceRolledBack, says: `the switch ended the session`, after: nothing},
		"it closes its side under the confirmation": {befall: first(confirmation, func(*rig) fate { return halfway }),
			ends: plan.DeviceChanged, after: nothing},
		"every show takes its time": {befall: func(_ *rig, line string) fate {
			if strings.HasPrefix(line, "show ") || strings.HasPrefix(line, "display ") {
				return late
			}
			return spared
		}, ends: plan.DeviceChanged},
		"no answer to the show that is to prove it": {start: brief, befall: second(`^(show running-config|display current-configuration)$`, confirmed, mute),
			ends: plan.DeviceRolledBack, says: `proof by a second login: .*no prompt within`, after: patient},

		"another switch answers": {start: func(l *rig) { l.text = strings.Replace(l.text, `"FDO1"`, `"FDO2"`, 1) },
			ends: plan.DeviceUnchanged, says: `another switch answers: serial is "FDO1", declared "FDO2"`,
			after: func(l *rig) { l.text = strings.Replace(l.text, `"FDO2"`, `"FDO1"`, 1) }},
		"another switch answers the second login": {befall: first(confirmed, func(l *rig) fate { l.swap("FDO2"); return spared }),
			ends: plan.DeviceRolledBack, says: `proof by a second login: another switch answers: serial is "FDO2", before it was "FDO1"`,
			after: func(l *rig) { l.swap("") }},

		"the port is not there": {start: func(l *rig) { l.text = strings.Replace(l.text, l.ports+"3", l.ports+"44", 1) },
			ends: plan.DeviceUnchanged, says: `has no port`},
		"the port is a member of a port-channel": {os: "nxos", start: func(l *rig) { l.edit("interface Ethernet1/3", "channel-group 10 mode active") },
			ends: plan.DeviceUnchanged, says: `Ethernet1/3 is a member of port-channel10: what classifies on a member has no effect`,
			after: func(l *rig) { l.edit("interface Ethernet1/3", "no channel-group") }},
		"the port is a member of an aggregation group": {os: "comware", start: func(l *rig) { l.edit("interface HundredGigE1/0/3", "port link-aggregation group 10") },
			ends: plan.DeviceUnchanged, says: `HundredGigE1/0/3 is a member of aggregation group 10: H3C documents that some settings`,
			after: func(l *rig) { l.edit("interface HundredGigE1/0/3", "undo port link-aggregation group") }},
		"it is of another OS": {start: func(l *rig) {
			brief(l)
			for _, os := range [][2]string{{"nxos", "comware"}, {"comware", "nxos"}} {
				if strings.Contains(l.text, `"`+os[0]+`"`) {
					l.text = strings.Replace(l.text, `"`+os[0]+`"`, `"`+os[1]+`"`, 1)
					break
				}
			}
		}, ends: plan.DeviceUnchanged, says: `no prompt within .*; the last it said is "(leaf#|<leaf>)"`},
		"a policy of somebody else": {os: "nxos", start: func(l *rig) {
			l.edit("policy-map type qos THEIRS", "class class-default", "set qos-group 0", "interface Ethernet1/3", "service-policy type qos input THEIRS")
		}, ends: plan.DeviceUnchanged, says: `service-policy type qos input THEIRS`},
		"a policy of somebody else on the system": {os: "nxos", start: func(l *rig) {
			l.edit("policy-map type queuing THEIRS", "class type queuing c-out-8q-q-default", "bandwidth remaining percent 100", "system qos", "service-policy type queuing output THEIRS")
		}, ends: plan.DeviceUnchanged, says: `foreign policies`},
		"a table of somebody else": {os: "comware", start: func(l *rig) {
			l.edit("qos wred queue table THEIRS", "quit", "interface HundredGigE1/0/3", "qos wred apply THEIRS")
		}, ends: plan.DeviceUnchanged, says: `qos wred apply THEIRS`},

		"the timer fires while lines are sent": {os: "comware", befall: first(`^qos wfq`, func(l *rig) fate { l.sw.Pass(time.Hour); return spared }),
			ends: plan.DeviceRolledBack, says: `WRED table WEFT-o-roce does not exist`, after: nothing},
		"the timer fires before the confirmation": {befall: first(confirmation, func(l *rig) fate { l.sw.Pass(time.Hour); return spared }),
			ends: plan.DeviceRolledBack, says: `reverted automatically|no configuration commit delay is running`, after: nothing},
		"it starts anew while lines are sent": {befall: first(`^(policy-map type queuing|qos wfq)`, func(l *rig) fate { l.sw.Reboot(); return gone }),
			ends: plan.DeviceRolledBack, says: `ended the session`, after: nothing},
		"it starts anew before the confirmation": {befall: first(confirmation, func(l *rig) fate { l.sw.Reboot(); return gone }),
			ends: plan.DeviceRolledBack, says: `ended the session`, after: nothing},
	}
}

// brief gives a switch less time for an answer, and still more than a busy
// machine needs for one.
func brief(l *rig) { l.text = strings.Replace(l.text, `"60s"`, `"15s"`, 1) }

func patient(l *rig) { l.text = strings.Replace(l.text, `"15s"`, `"60s"`, 1) }

// A switch that comes back with another configuration than it had is not
// called put back: what is missing and what is new is named.
func TestSwitchComesBackOtherwise(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		l := newRig(t, os)
		before := l.sw.RunningConfig()
		l.edit("interface "+l.ports+"1", "description moved since it was saved")
		l.fate = func(line string) fate {
			return first(`^(policy-map type queuing|qos wfq)`, func(l *rig) fate { l.sw.Reboot(); return gone })(l, line)
		}
		_, res, err := l.run()
		if now := l.sw.RunningConfig(); now != before || res.Devices[0].Outcome != plan.DeviceUnknown {
			t.Errorf("%s: %v\n%s", res.Devices[0].Outcome, err, now)
		}
		if err == nil || !strings.Contains(err.Error(), "does not read as before: missing: interface "+l.ports+"1 / description moved since it was saved") {
			t.Errorf("it says %v", err)
		}
	})
}

// A two-stage commit of another owner that waits for its confirmation is left
// alone, and so is what it has changed.
func TestSwitchSomebodyElsesTimer(t *testing.T) {
	t.Parallel()
	l := newRig(t, "nxos")
	_, planned, _ := reference(t, "nxos")
	other := l.login("configure dual-stage", "interface Ethernet1/1", "mtu 9216", "exit", "commit confirmed 600")
	before := l.sw.RunningConfig()
	if !strings.Contains(before, "mtu 9216") {
		t.Fatal(before)
	}
	_, res, err := l.run()
	if res.Devices[0].Outcome != plan.DeviceRolledBack || err == nil || !strings.Contains(err.Error(), "of another session is waiting") || l.sw.RunningConfig() != before {
		t.Errorf("%s: %v", res.Devices[0].Outcome, err)
	}
	if _, armed := l.sw.Armed(); !armed {
		t.Error("the other's timer is gone")
	}
	l.sw.Pass(time.Hour) // it was never confirmed
	other.Close()
	l.converges(planned)
}

// On Comware a delay that someone armed by hand cannot be seen: there is one
// timer, and whoever confirms it keeps what both have changed. Weft's part ends
// as planned or as before, theirs stays.
func TestSwitchSomebodyElsesDelay(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]*regexp.Regexp{"planned": nil, "put back": regexp.MustCompile(`^qos wred apply`)} {
		t.Run(name, func(t *testing.T) {
			_, planned, _ := reference(t, "comware")
			l := newRig(t, "comware")
			l.did = name
			l.edit("configuration commit delay 10", "interface HundredGigE1/0/1", "description theirs")
			before := l.sw.RunningConfig()
			planned = strings.Replace(planned, "description server port 1", "description theirs", 1)
			l.sw.Refuse(refused)
			_, res, err := l.run()
			if outcome := l.ends(before, planned, res, err); (outcome == plan.DeviceChanged) != (refused == nil) {
				t.Errorf("%s: %v", outcome, err)
			}
			if !strings.Contains(l.heard(), "changes by other users until then are lost as well") {
				t.Errorf("it says %q", l.heard())
			}
		})
	}
}
