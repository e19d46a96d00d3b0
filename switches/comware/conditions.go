package comware

import (
	"slices"
	"strings"

	"weft/switches"
)

// conditions are what a Comware switch shows of itself.
func conditions() []switches.Condition {
	return []switches.Condition{
		{Line: "display device", Of: []string{switches.OfHardware}, Parse: boards},
		{Line: "display fan", Of: []string{switches.OfFans}, Parse: fans},
		{Line: "display power", Of: []string{switches.OfPower}, Parse: power},
		{Line: "display environment", Of: []string{switches.OfWarmth}, Parse: warmth},
		{Line: "display transceiver diagnosis interface", Of: []string{switches.OfOptics, switches.OfHeat}, Parse: optics},
		{Line: "display saved-configuration", Against: showRunning, Of: []string{switches.OfSaved}, Compare: switches.Unsaved("#")},
		{Line: showRunning, Of: []string{switches.OfAges}, Parse: ages},
		{Line: showRunning, Of: []string{switches.OfLog}, Parse: logRules},
		{Line: showFrames, Of: []string{switches.OfLinks}, Ports: links},
	}
}

// boards reads tables of slots, in which the third column is a state.
//
//	Slot No.   Brd Type        Brd Status   Software Version
//	 0         Simware         Master       Simware-V700R001
func boards(text string) (list []switches.Trouble, understood bool) {
	kind := ""
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		switch {
		case len(w) < 3:
			continue
		case w[1] == "No.":
			kind, understood = map[bool]string{true: "slot", false: "subslot"}[w[0] == "Slot"], true
			continue
		case kind == "" || strings.Trim(w[0], "0123456789/") != "":
			continue
		}
		// A type may be of several words: a state is one that is known.
		i := slices.IndexFunc(w[1:], func(x string) bool {
			return slices.Contains([]string{"Master", "Standby", "Normal", "Absent", "Fault", "Off", "Illegal"}, x)
		})
		if i < 0 {
			continue
		}
		if state := w[i+1]; state == "Fault" || state == "Off" || state == "Illegal" {
			list = append(list, switches.Trouble{What: switches.OfHardware, Part: kind + " " + w[0], Text: "it is " + state})
		}
	}
	return list, understood
}
