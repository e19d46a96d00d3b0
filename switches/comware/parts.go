package comware

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/switches"
)

var (
	fanOf     = pattern.New(`^Fan\s+(\d+):?$`)
	stateOf   = pattern.New(`^State\s*:\s*(\S+)$`)
	tableHead = pattern.New(`^(FanID|PowerID)\s+(?:Status|State)\b`)
	slotOf    = pattern.New(`^Slot\s+(\S+?):?$`)
)

// part is a fan or a power supply, with its state.
type part struct{ slot, name, state string }

// states reads fans or power supplies, in either layout.
//
//	Slot 1:
//	PowerID State    Mode   Current(A)  Voltage(V)  Power(W)  FanDirection
//	1       Normal   AC     --          --          --        Back-to-front
//
//	Slot 1:
//	Fan 1:
//	State    : Normal
func states(text, kind string) (list []part) {
	slot, name, table := "", "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		w := strings.Fields(line)
		if m := slotOf.FindStringSubmatch(line); m != nil {
			slot, name, table = m[1], "", false
		} else if m := tableHead.FindStringSubmatch(line); m != nil {
			table = strings.HasPrefix(strings.ToLower(m[1]), kind)
		} else if m := fanOf.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if m := stateOf.FindStringSubmatch(line); m != nil && name != "" {
			list = append(list, part{slot, name, m[1]})
			name = ""
		} else if table && len(w) > 1 && strings.Trim(w[0], "0123456789") == "" {
			list = append(list, part{slot, w[0], w[1]})
		}
	}
	return list
}

func (p part) at(kind string) string {
	return strings.TrimSpace(strings.TrimSpace("slot "+p.slot) + " " + kind + " " + p.name)
}

// fans reads display fan. Each fan has to be there.
func fans(text string) (list []switches.Trouble, understood bool) {
	all := states(text, "fan")
	for _, p := range all {
		if p.state != "Normal" {
			list = append(list, switches.Trouble{What: switches.OfFans, Part: p.at("fan"), Text: "it is " + p.state})
		}
	}
	return list, len(all) > 0
}

// power reads display power. A bay may be empty where two supplies work.
func power(text string) (list []switches.Trouble, understood bool) {
	all := states(text, "power")
	work, slots := map[string]int{}, []string{}
	for _, p := range all {
		if !slices.Contains(slots, p.slot) {
			slots = append(slots, p.slot)
		}
		switch p.state {
		case "Normal":
			work[p.slot]++
		case "Absent":
		default:
			list = append(list, switches.Trouble{What: switches.OfPower, Part: p.at("power supply"), Text: "it is " + p.state})
		}
	}
	for _, slot := range slots {
		if work[slot] < 2 {
			list = append(list, switches.Trouble{What: switches.OfPower, Part: "slot " + slot, Text: fmt.Sprintf("%d of its power supplies work, and two are needed for one to fail", work[slot])})
		}
	}
	return list, len(all) > 0
}

var (
	routes = pattern.New(`(?m)^interface Vlan-interface\d+$`)
	macAge = pattern.New(`(?m)^\s*mac-address timer (?:aging (\d+)|(no-aging))`)
	arpAge = pattern.New(`(?m)^\s*arp timer aging (\d+)`)
)

// ages reads how long MAC addresses and ARP are remembered where the switch routes: 300
// seconds and 20 minutes by default.
func ages(text string) (list []switches.Trouble, understood bool) {
	if !routes.MatchString(text) {
		return nil, strings.TrimSpace(text) != ""
	}
	mac, arp := 300, 0
	if m := macAge.FindStringSubmatch(text); m != nil {
		mac, _ = strconv.Atoi(m[1]) // "" of no-aging is 0
	}
	for _, m := range arpAge.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && n < 1e6 {
			arp = max(arp, n)
		}
	}
	arp = cmp.Or(arp, 20)
	return switches.Ages(mac, 60*arp), true
}

var (
	logRule = pattern.New(`^info-center source (\S+) (logbuffer|logfile|loghost) (?:(deny)|level (emergency|alert|critical|error|warning|notification|informational|debugging|[0-7]))$`)
	logOff  = pattern.New(`^undo info-center (enable|logbuffer|logfile enable)$`)
	quiet   = pattern.New(`^undo enable log updown$`)
)

// logRules reads what is kept from the log although it goes there by default, which is all
// that is informational: by a rule, by a switch for all of a destination, and by one for links
// of a port. What terminals show is nobody's log.
//
//	info-center source default loghost deny
//	info-center source IFNET logbuffer level warning
func logRules(text string) (list []switches.Trouble, understood bool) {
	understood = strings.TrimSpace(text) != ""
	port := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		name, isPort := strings.CutPrefix(line, "interface ")
		switch {
		case isPort:
			port = name
		case line != "" && line[0] != ' ':
			port = ""
		}
		line = strings.TrimSpace(line)
		tell := func(part, what string) {
			list = append(list, switches.Trouble{What: switches.OfLog, Part: part, Text: what})
		}
		switch off, rule := logOff.FindStringSubmatch(line), logRule.FindStringSubmatch(line); {
		case off != nil && off[1] == "enable":
			tell("information center", "it is off: nothing is logged")
		case off != nil:
			tell(strings.TrimSuffix(off[1], " enable"), "nothing is logged there")
		case rule != nil && rule[3] != "":
			tell(rule[1], "it logs nothing to "+rule[2])
		case rule != nil && !slices.Contains([]string{"informational", "debugging", "6", "7"}, rule[4]):
			tell(rule[1], "it logs up to "+rule[4]+" to "+rule[2]+", and up to informational by default")
		case port != "" && quiet.MatchString(line):
			tell(port, "it does not log when its link comes or goes")
		case rule == nil && strings.HasPrefix(line, "info-center source ") && !strings.Contains(line, " console ") && !strings.Contains(line, " monitor "):
			understood = false // as others write it: with channels
		}
	}
	return list, understood
}
