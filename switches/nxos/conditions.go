package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/switches"
)

// conditions are what an NX-OS switch shows of itself.
func conditions() []switches.Condition {
	return []switches.Condition{
		{Line: "show interface transceiver details", Of: []string{switches.OfOptics, switches.OfHeat}, Parse: optics},
		{Line: "show module", Of: []string{switches.OfHardware}, Parse: modules},
		{Line: "show vpc", Of: []string{switches.OfPair}, Optional: true, Parse: pair},
		{Line: showEnvironment, Of: []string{switches.OfPower}, Parse: power},
		{Line: showEnvironment, Of: []string{switches.OfFans}, Parse: fans},
		{Line: showEnvironment, Of: []string{switches.OfWarmth}, Parse: warmth},
		{Line: "show logging level", Of: []string{switches.OfLog}, Parse: logLevels},
		{Line: "show startup-config", Against: showRunning, Of: []string{switches.OfSaved}, Compare: switches.Unsaved("!")},
		{Line: showRunning, Of: []string{switches.OfAges}, Parse: ages},
		{Line: "show interface", Of: []string{switches.OfLinks}, Ports: links},
	}
}

var (
	opticPort = pattern.New(`^Ethernet[0-9/]+$`)
	opticLane = pattern.New(`(?i)^lane number:?\s*(\d+)`)
	opticRow  = pattern.New(`^(Temperature|Voltage|Current|Tx Power|Rx Power)\s+(.*)$`)
	measured  = pattern.New(`(-?\d+(?:\.\d+)?|N/A)\s*(?:C|V|mA|dBm)?(?:\s|$)`)
	flag      = pattern.New(`\s(\+\+|--|\+|-)\s`)
)

// optics reads a table for each port, or for each lane of it. Behind what was measured
// stand the module's own limits: high and low alarm, high and low warning.
//
//	Temperature   35.66 C        75.00 C     -5.00 C     70.00 C        0.00 C
//	Rx Power     -30.45 dBm --    2.00 dBm  -13.90 dBm   -1.00 dBm     -9.90 dBm
func optics(text string) (list []switches.Trouble, understood bool) {
	port, lane := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if opticPort.MatchString(line) {
			port, lane, understood = line, "", true
			continue
		}
		if m := opticLane.FindStringSubmatch(line); m != nil {
			lane = " of lane " + m[1]
			continue
		}
		m := opticRow.FindStringSubmatch(line)
		if m == nil || port == "" {
			continue
		}
		var n []float64
		for _, word := range measured.FindAllStringSubmatch(flag.ReplaceAllString(m[2]+" ", " "), -1) {
			v, err := strconv.ParseFloat(word[1], 64)
			if err != nil { // N/A
				break
			}
			n = append(n, v)
		}
		if len(n) != 5 {
			continue // it is not measured, or has no limits
		}
		what := switches.OfOptics
		if m[1] == "Temperature" || m[1] == "Voltage" {
			what = switches.OfHeat
		}
		for i, limit := range []string{"high alarm", "low alarm", "high warning", "low warning"} {
			if high := i%2 == 0; high && n[0] > n[i+1] || !high && n[0] < n[i+1] {
				list = append(list, switches.Trouble{What: what, Part: port, Text: fmt.Sprintf("%s%s is %g, and its own %s is at %g", m[1], lane, n[0], limit, n[i+1])})
				break
			}
		}
	}
	return list, understood || strings.TrimSpace(text) == ""
}

// modules reads the first table of show module, whose last column is a state.
func modules(text string) (list []switches.Trouble, understood bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		w := strings.Fields(line)
		if understood && (len(w) == 0 || w[0] == "Mod") {
			return list, true // the tables behind have no states
		}
		if len(w) > 4 && w[0] == "Mod" && w[len(w)-1] == "Status" {
			understood = true
			continue
		}
		if !understood || len(w) < 4 || strings.HasPrefix(w[0], "-") {
			continue
		}
		if _, err := strconv.Atoi(w[0]); err != nil {
			continue
		}
		state := w[len(w)-1]
		if state == "*" { // this supervisor
			state = w[len(w)-2]
		}
		if !slices.Contains([]string{"ok", "active", "standby", "ha-standby"}, state) {
			list = append(list, switches.Trouble{What: switches.OfHardware, Part: "module " + w[0], Text: "it is " + state})
		}
	}
	return list, understood
}

// pair reads the head of show vpc, in which each line is a name and a state.
//
//	Peer status                       : peer adjacency formed ok
//	vPC keep-alive status             : peer is alive
//	Configuration consistency status  : success
func pair(text string) (list []switches.Trouble, understood bool) {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		well := map[string]string{"Peer status": "peer adjacency formed ok", "vPC keep-alive status": "peer is alive", "Configuration consistency status": "success",
			"Per-vlan consistency status": "success", "Type-2 consistency status": "success"}[key]
		if !ok || well == "" {
			continue
		}
		understood = true
		if value != well {
			list = append(list, switches.Trouble{What: switches.OfPair, Text: key + " is " + value})
		}
	}
	return list, understood
}
