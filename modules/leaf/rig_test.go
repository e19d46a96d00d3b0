package leaf_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/bundle"
	"weft/internal/lab/simswitch"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
	"weft/modules/claim"
	"weft/plan"
	"weft/switches"
)

// rigText is a fabric of which one switch is managed: one of its ports leads to
// a spine that is not.
const rigText = `
weft { name = "o" }
connection "default" { command_timeout = "60s" }
fabric "roce" {
  transport = "rocev2"
  plane "a" { subnet = "10.40.0.0/16" }
  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3
    bandwidth = 50
    pfc       = true
    ecn {
      min         = "150KB"
      max         = "1500KB"
      probability = 5
    }
  }
  traffic_class "cnp" {
    dscp     = [48]
    priority = 6
    strict   = true
  }
  traffic_class "default" { bandwidth = 50 }
}
credential "switch" { user = "netops" }
switch "leaf" {
  os         = "%[1]s"
  host       = "leaf.example.net"
  serial     = "FDO1"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "a"
  safety { commit_confirm = "5m" }
}
switch "spine" {
  unmanaged = true
  fabric    = fabric.roce
  plane     = "a"
}
link "up" {
  from = switch.leaf.port["%[2]s3"]
  to   = switch.spine.port["Ethernet1/1"]
}
`

// A rig is a simulated switch on which plans are made and carried out as weft
// does it, over a terminal that can be made to fail.
type rig struct {
	t     *testing.T
	sw    *simswitch.Switch
	text  string            // the files
	open  switches.Dial     // how weft logs in
	files *loaded           // shared by leaves that read the same
	adapt func(*plan.Input) // of every run; may be nil
	ports string            // what the names of its ports begin with
	// fate is asked about every line that is typed, before its end is: what it
	// returns befalls the terminal.
	fate   func(line string) fate
	did    string // what was done to it, for messages
	reads  bool   // its plans are not for whoever makes them to carry out
	met    bool   // it has met its fate
	again  bool   // and the one after it
	crumbs bool   // what it prints arrives line by line

	starts string // what the switch would start with when the run began

	mu      sync.Mutex
	other   *simswitch.Switch // who answers new logins; nil: sw
	typed   int               // lines, over all logins
	said    string            // what a reader is told meanwhile
	serving sync.WaitGroup
}

// eachOS runs a test for each switch OS, in a time of its own: nothing is waited
// for in real time.
func eachOS(t *testing.T, test func(t *testing.T, os string)) {
	eachOSOverSockets(t, func(t *testing.T, os string) {
		synctest.Test(t, func(t *testing.T) { test(t, os) })
	})
}

// eachOSOverSockets does the same in real time: that is what sockets know.
func eachOSOverSockets(t *testing.T, test func(t *testing.T, os string)) {
	for _, os := range []string{"nxos", "comware"} {
		t.Run(os, func(t *testing.T) {
			t.Parallel()
			test(t, os)
		})
	}
}

func newRig(t *testing.T, os string) *rig {
	t.Helper()
	return newRigOf(t, simswitch.Spec{OS: os, Hostname: "leaf", Serial: "FDO1"})
}

// newSharedRig is a leaf on which another owner has configured things, and
// another weft too, whose owner's name begins as ours does. Whoever compares
// what it reads compares these.
func newSharedRig(t *testing.T, os string) *rig {
	t.Helper()
	l := newRig(t, os)
	l.edit(map[string][]string{
		"nxos": {
			"class-map type qos match-any VOICE", "match dscp 46", "exit",
			"policy-map type qos THEIRS", "class VOICE", "set qos-group 5", "exit", "exit",
			"class-map type qos match-any WEFT-o-b-roce-rdma", "match dscp 30", "exit",
			"policy-map type qos WEFT-o-b-roce-in", "class WEFT-o-b-roce-rdma", "set qos-group 4", "exit", "exit",
			"policy-map type network-qos WEFT-o-b-roce-nq", "class type network-qos c-8q-nq4", "pause pfc-cos 4", "exit", "exit",
			"interface Ethernet1/1", "service-policy type qos input THEIRS", "flowcontrol receive on",
			"interface Ethernet1/4", "service-policy type qos input WEFT-o-b-roce-in", "priority-flow-control mode on", "mtu 9216", "exit",
			"copy running-config bootflash:weft-o-b-base.cfg", "copy running-config startup-config",
		},
		"comware": {
			"qos wred queue table THEIRS", "queue 5 drop-level 0 low-limit 200 high-limit 2000 discard-probability 20", "quit",
			"qos wred queue table WEFT-o-b-roce", "queue 4 ecn", "quit",
			"interface HundredGigE1/0/1", "qos wred apply THEIRS", "flow-control", "quit",
			"interface HundredGigE1/0/4", "qos trust dscp", "qos wfq byte-count", "qos wred apply WEFT-o-b-roce", "priority-flow-control enable", "quit",
			"save weft-o-b-base.cfg", "y", "save force",
		},
	}[os]...)
	return l
}

// newRigOf gives the switch its ports.
func newRigOf(t *testing.T, spec simswitch.Spec) *rig {
	t.Helper()
	os := spec.OS
	l := &rig{t: t, files: &loaded{models: map[string]*inventory.Model{}}, ports: map[string]string{"nxos": "Ethernet1/", "comware": "HundredGigE1/0/"}[os]}
	l.text = fmt.Sprintf(rigText, os, l.ports)
	for n := range 4 {
		spec.Ports = append(spec.Ports, fmt.Sprint(l.ports, n+1))
	}
	l.sw = simswitch.New(spec)
	l.open = l.dial
	t.Cleanup(l.serving.Wait)
	t.Cleanup(l.sw.Close)
	return l
}

// swap lets another switch answer whoever logs in from now on; "" ends it.
func (l *rig) swap(serial string) {
	var other *simswitch.Switch
	if serial != "" {
		spec := l.sw.Spec()
		spec.Serial = serial
		other = simswitch.New(spec)
		l.t.Cleanup(other.Close)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.other = other
}

// edit is someone at the console.
func (l *rig) edit(lines ...string) {
	l.t.Helper()
	if err := l.sw.Edit(lines...); err != nil {
		l.t.Fatal(err)
	}
}

// run plans, and carries the plan out if there is nothing against it.
func (l *rig) run() (*plan.Plan, *plan.Result, error) {
	l.starts = l.sw.StartupConfig()
	m := l.files.model(l.text)
	fleet, diags := modules.Expand(m, modules.Env{
		Bundle: bundle.New(), Holder: claim.Holder{Who: "test@here", Machine: "m", PID: 1, Started: "1", Alive: func(claim.Holder) bool { return true }},
		Terminal: func(*inventory.Switch) switches.Dial { return l.open },
		Settle:   !l.reads, Say: l.hear,
	})
	if diags.HasErrors() {
		panic(diags)
	}
	defer fleet.Close()
	in := plan.Input{Owner: m.Name, Items: fleet.Items, Devices: fleet.Engine()}
	if l.adapt != nil {
		l.adapt(&in)
	}
	p, err := plan.Make(l.t.Context(), in)
	if err != nil {
		panic(err)
	}
	res, err := plan.Apply(l.t.Context(), p, in)
	return p, res, err
}

// loaded are files that were read: what tests do most, and the same each time.
type loaded struct {
	mu     sync.Mutex
	models map[string]*inventory.Model // by text
}

func (f *loaded) model(text string) *inventory.Model {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.models[text]
	if m == nil {
		var diags hcl.Diagnostics
		if m, diags = language.Load(fstest.MapFS{"a.weft.hcl": {Data: []byte(text)}}, language.Options{}); diags.HasErrors() {
			panic(diags)
		}
		f.models[text] = m
	}
	return m
}

// hear is told what happens meanwhile. Whoever waits for a timed revert is
// spared the wait: the time passes for the switch.
func (l *rig) hear(_, text string) {
	l.mu.Lock()
	l.said += text + "\n"
	l.mu.Unlock()
	if strings.Contains(text, "waiting until it reverts by itself") || strings.Contains(text, awaits) {
		l.sw.Pass(time.Hour)
	}
}

// awaits is what a run says that finds a revert which nobody will stop.
const awaits = "waiting for that"

// count is how many lines have been typed.
func (l *rig) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.typed
}

// heard is what a reader was told.
func (l *rig) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said
}

// ends demands that the switch reads as planned where weft says so, and as
// before where it says that, with nothing left to fire; and returns what it said.
func (l *rig) ends(before, planned string, res *plan.Result, err error) plan.DeviceOutcome {
	l.t.Helper()
	now := l.sw.RunningConfig()
	outcome := res.Devices[0].Outcome
	switch {
	case outcome == plan.DeviceChanged && now == planned:
	case (outcome == plan.DeviceRolledBack || outcome == plan.DeviceUnchanged || outcome == plan.DeviceUnreachable) && now == before:
		if err == nil {
			l.t.Errorf("%s: %s without an error", l.did, outcome)
		}
		if l.sw.StartupConfig() != l.starts {
			l.t.Errorf("%s: %s, and what the switch starts with was saved", l.did, outcome)
		}
	default:
		l.t.Errorf("%s: %s: %v; the switch reads as planned: %v, as before: %v\n%s", l.did, outcome, err, now == planned, now == before, l.heard())
	}
	if left, armed := l.sw.Armed(); armed {
		l.t.Errorf("%s: %s, and a revert is armed for another %s", l.did, outcome, left)
	}
	return outcome
}

// converges demands that the next run, with nothing in its way, does all that
// is left.
func (l *rig) converges(planned string) {
	l.t.Helper()
	l.fate = nil
	if _, _, err := l.run(); err != nil {
		l.t.Errorf("%s: the next run: %v\n%s", l.did, err, l.heard())
		return
	}
	if strings.Contains(l.heard(), awaits) {
		l.t.Errorf("%s: the next run waits for a revert that is not armed\n%s", l.did, l.heard())
	}
	if now := l.sw.RunningConfig(); now != planned {
		l.t.Errorf("%s: the next run leads to\n%s", l.did, now)
	}
}

// reference is what a switch reads before and after an apply in which nothing
// goes wrong, and the lines that were typed for it.
func reference(t *testing.T, os string) (before, planned string, lines []string) {
	t.Helper()
	return newRig(t, os).reference()
}

// reference is the same of a leaf that something was done to.
func (l *rig) reference() (before, planned string, lines []string) {
	l.t.Helper()
	before = l.sw.RunningConfig()
	l.fate = func(line string) fate {
		lines = append(lines, line)
		return spared
	}
	if _, _, err := l.run(); err != nil {
		l.t.Fatal(err)
	}
	return before, l.sw.RunningConfig(), lines
}
