package leaf_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weft/internal/tally"
	"weft/inventory"
	"weft/modules"
	"weft/modules/claim"
	"weft/plan"
	"weft/switches"
	"weft/switches/systems"
)

// third is a system of which nothing optional is known. It talks as one that the
// lab simulates, and has another name.
func third(lacks ...switches.Feature) *switches.OS {
	o := systems.Named("nxos")
	o.Name = "third"
	o.Without = map[switches.Feature]string{}
	for _, f := range lacks {
		o.Without[f] = "nobody wrote it"
		switch f {
		case switches.Guarding:
			o.Guard = nil
		case switches.Filing:
			o.Files = nil
		case switches.Counting:
			o.Counters = nil
		case switches.Hearing:
			o.Neighbours = nil
		case switches.Operating:
			o.Operates = nil
		case switches.Remarking:
			o.Remarks = nil
		}
	}
	return o
}

// optional is all that a system may lack.
func optional() []switches.Feature {
	return []switches.Feature{switches.Guarding, switches.Filing, switches.Counting, switches.Hearing, switches.Operating,
		switches.Remarking, switches.Recording, switches.Headrooms, switches.Watchdogs}
}

// expand makes the leaf's fleet with a system of the test's.
func (l *rig) expand(o *switches.OS) (*inventory.Model, *modules.Fleet) {
	l.t.Helper()
	m := l.files.model(l.text)
	fleet, diags := modules.Expand(m, modules.Env{
		Holder:   claim.Holder{Who: "test@here", Machine: "m", PID: 1, Started: "1", Alive: func(claim.Holder) bool { return true }},
		Terminal: func(*inventory.Switch) switches.Dial { return l.open },
		System:   func(string) *switches.OS { return o },
		Settle:   !l.reads,
	})
	if diags.HasErrors() {
		l.t.Fatal(diags)
	}
	l.t.Cleanup(func() { fleet.Close() })
	return m, fleet
}

// says demands a refusal by name in a text.
func (l *rig) says(what, text string, f switches.Feature) {
	l.t.Helper()
	if want := "third has no " + string(f) + ": nobody wrote it"; !strings.Contains(text, want) {
		l.t.Errorf("%s says %q, wanted %q", what, text, want)
	}
}

// What a system lacks is refused by its name, wherever it is needed: nothing is
// taken for fine, and for no other system.
func TestSwitchThirdSystem(t *testing.T) {
	l := newRig(t, "nxos")
	before := l.sw.RunningConfig()
	l.text = strings.Replace(l.text, "    pfc       = true\n", "    pfc       = true\n    headroom {\n      size = \"100KB\"\n      xoff = \"50KB\"\n      xon  = \"20KB\"\n    }\n", 1)
	l.text = strings.Replace(l.text, "  traffic_class \"default\"", "  pfc_watchdog { action = \"drop\" }\n  traffic_class \"default\"", 1)
	m, fleet := l.expand(third(optional()...))
	var notes []string
	for _, n := range fleet.Notes {
		notes = append(notes, n.Text)
	}
	for _, want := range []string{"headroom is described, not yet managed on third: nobody wrote it", "pfc_watchdog is described, not yet managed on third: nobody wrote it"} {
		if !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("the notes are %q, wanted %q", notes, want)
		}
	}
	in := plan.Input{Owner: m.Name, Items: fleet.Items, Devices: fleet.Engine()}
	p, err := plan.Make(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	refused := ""
	for _, r := range p.Refusals {
		refused += r.Text + "\n"
	}
	l.says("plan", refused, switches.Guarding)
	warned := strings.Join(p.Devices[0].Identity.Warnings, "\n")
	l.says("plan", warned, switches.Remarking)
	l.says("plan", warned, switches.Filing)
	if _, err := plan.Apply(t.Context(), p, in); err == nil {
		t.Error("a refused plan was applied")
	}

	dev := fleet.Devices["switch.leaf"].(modules.SwitchNode).Device
	counted, err := dev.Counters(t.Context(), []string{"Ethernet1/3"})
	if err != nil {
		t.Fatal(err)
	}
	_, ok, why := counted.Find("Ethernet1/3", 3, tally.Drops)
	if ok {
		t.Error("drops were counted")
	}
	l.says("verify", why, switches.Counting)
	_, err = dev.Heard(t.Context())
	l.says("verify cabling", text(err), switches.Hearing)
	facts, err := fleet.Device("switch.leaf").Facts(t.Context())
	if err != nil || facts.Switch.OS != "third" {
		t.Fatalf("facts: %+v, %v", facts, err)
	}
	l.says("facts", strings.Join(facts.Switch.Without, "\n"), switches.Hearing)
	_, err = dev.Record(t.Context(), switches.Discretion{})
	l.says("record", text(err), switches.Recording)
	_, err = dev.ReadMarks(t.Context())
	l.says("unlock", text(err), switches.Filing)
	l.says("a run's mark", text(dev.Mark(t.Context(), plan.Mark{Run: plan.NewRunID(time.Unix(1, 0)), Owner: "o", Who: "me"}, func(plan.Mark) bool { return false })), switches.Guarding)
	if err := l.unguarded(third(optional()...)); err == nil || !strings.Contains(err.Error(), "third has no "+string(switches.Filing)) {
		t.Errorf("without a timed revert: %v", err)
	}
	if now := l.sw.RunningConfig(); now != before {
		t.Errorf("the switch was changed:\n%s", now)
	}
}

// unguarded plans and carries out what asks for no timed revert.
func (l *rig) unguarded(o *switches.OS) error {
	l.text = strings.Replace(l.text, `commit_confirm = "5m"`, `commit_confirm = "none"`, 1)
	m, fleet := l.expand(o)
	in := plan.Input{Owner: m.Name, Items: fleet.Items, Devices: fleet.Engine()}
	p, err := plan.Make(l.t.Context(), in)
	if err != nil {
		return err
	}
	_, err = plan.Apply(l.t.Context(), p, in)
	return err
}

// What a system has works, whatever else it lacks and whatever it is called.
func TestSwitchThirdSystemApplies(t *testing.T) {
	t.Parallel()
	l := newRig(t, "nxos")
	_, planned, _ := reference(t, "nxos")
	m, fleet := l.expand(third(switches.Counting, switches.Hearing, switches.Operating, switches.Remarking))
	in := plan.Input{Owner: m.Name, Items: fleet.Items, Devices: fleet.Engine()}
	p, err := plan.Make(t.Context(), in)
	if err == nil {
		_, err = plan.Apply(t.Context(), p, in)
	}
	if err != nil || l.sw.RunningConfig() != planned {
		t.Errorf("%v; it reads\n%s", err, l.sw.RunningConfig())
	}
	text, err := fleet.Devices["switch.leaf"].Record(context.WithoutCancel(t.Context()), switches.Discretion{})
	if err != nil {
		t.Fatal(err)
	}
	l.says("record", text, switches.Hearing)
}

// A system that nobody knows is refused by name before anything is asked.
func TestSwitchUnknownSystem(t *testing.T) {
	l := newRig(t, "nxos")
	_, diags := modules.Expand(l.files.model(l.text), modules.Env{
		Terminal: func(*inventory.Switch) switches.Dial { return l.open },
		System:   func(string) *switches.OS { return nil },
	})
	if !diags.HasErrors() || !strings.Contains(diags.Error(), `os = "nxos"`) {
		t.Errorf("%v", diags)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
