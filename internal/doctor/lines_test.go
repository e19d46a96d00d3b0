package doctor

import (
	"strings"
	"testing"

	"weft/switches"
	"weft/switches/systems"
)

// says gives a switch a running configuration; what was read of it otherwise stays.
func says(sw *Switch, running string) {
	have, err := systems.Named("nxos").Parse(map[string]string{"show running-config": running})
	if err != nil {
		panic(err)
	}
	was := sw.Reading
	have.Classes, have.Ports, have.Watchdog, have.Running, have.Facts = was.Classes, was.Ports, was.Watchdog, was.Running, was.Facts
	sw.Reading = have
}

func lineTrials() map[string]tried {
	unread := onSwitch(func(sw *Switch) {
		was := sw.Reading
		sw.Reading = switches.Reading{Classes: was.Classes, Ports: was.Ports, Watchdog: was.Watchdog, Running: was.Running, Facts: was.Facts}
	})
	line := func(running string) func(*Site) { return onSwitch(func(sw *Switch) { says(sw, running) }) }
	return map[string]tried{
		"WD-QOS-23": {nil, line("priority-flow-control override-interface mode off\n"), unread},
		"WD-QOS-24": {nil, line("interface Ethernet1/1\n  inherit port-profile STORAGE\n"), unread},
		"WD-QOS-25": {nil, line("hardware qos pfc mystery 7\n"), unread},
	}
}

// Each line has the place and the severity that it has in a plan: the system, or ports of
// the fabric. Of other ports only lines about a subject of weft's are reported.
func TestLines(t *testing.T) {
	for name, c := range map[string]struct{ running, id, place, text string }{
		"the system":              {"priority-flow-control override-interface mode off", "WD-QOS-23", "leaf-0", "PFC of all ports is off"},
		"a port":                  {"interface Ethernet1/1\n  flowcontrol receive on", "WD-QOS-23", "leaf-0 Ethernet1/1", "flowcontrol receive on: pause of the whole link"},
		"two ports":               {"interface Ethernet1/1\n  flowcontrol receive on\ninterface Ethernet1/2\n  flowcontrol receive on", "WD-QOS-23", "leaf-0", "(Ethernet1/1, Ethernet1/2)"},
		"another port":            {"interface Ethernet1/40\n  flowcontrol receive on", "WD-QOS-23", "", ""},
		"unknown, of another":     {"interface Ethernet1/40\n  queue-magic pfc 1", "WD-QOS-25", "leaf-0 Ethernet1/40", "queue-magic pfc 1"},
		"about something else":    {"interface Ethernet1/40\n  colour green", "WD-QOS-25", "", ""},
		"on a port of the fabric": {"interface Ethernet1/1\n  colour green", "WD-QOS-25", "leaf-0 Ethernet1/1", "colour green"},
	} {
		s := rack()
		says(s.Switches[0], c.running+"\n")
		found := by(Examine(s, nil).Findings, c.id)
		switch {
		case c.place == "" && len(found) > 0:
			t.Errorf("%s: %v", name, found)
		case c.place != "" && (len(found) != 1 || found[0].Place.String() != c.place || !strings.Contains(found[0].Text, c.text)):
			t.Errorf("%s: %v", name, found)
		}
	}
}
