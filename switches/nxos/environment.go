package nxos

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/switches"
)

const showEnvironment = "show environment"

// titled are the lines of show environment below a title, up to the next one.
func titled(text, title string) (lines []string, found bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		switch line {
		case "Power Supply:", "Power Usage Summary:", "Clock:", "Fan:", "Temperature:":
			if found && line != title {
				return lines, true
			}
			found = found || line == title
			continue
		}
		if found && line != "" {
			lines = append(lines, line)
		}
	}
	return lines, found
}

var (
	supply     = pattern.New(`^(\d+)\s+\S+\s.*\bW\s+(\S.*)$`)
	redundancy = pattern.New(`^Power Supply redundancy mode \((configured|operational)\)\s+(\S.*)$`)
	fan        = pattern.New(`^([Ff]an\S+)\s+\S+\s.*?(\S+)$`)
	sensor     = pattern.New(`^(\d+)\s+(\S.*?)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(\S+)$`)
)

// power reads the tables of power supplies, and which redundancy they were meant to have
// and have. Bays without a supply are not told of: the redundancy is.
//
//	1        N9K-PAC-650W              101 W       103 W       650 W     Ok
//	Power Supply redundancy mode (operational)               PS-Redundant
func power(text string) (list []switches.Trouble, understood bool) {
	table, _ := titled(text, "Power Supply:")
	work := 0
	for _, line := range table {
		if strings.HasPrefix(strings.TrimSpace(line), "Module") {
			break // the second table has modules
		}
		m := supply.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		understood = true
		switch {
		case strings.EqualFold(m[2], "ok"):
			work++
		case strings.EqualFold(m[2], "absent"):
		default:
			list = append(list, switches.Trouble{What: switches.OfPower, Part: "power supply " + m[1], Text: "it is " + m[2]})
		}
	}
	if understood && work < 2 {
		list = append(list, switches.Trouble{What: switches.OfPower, Text: fmt.Sprintf("%d of its power supplies work, and two are needed for one to fail", work)})
	}
	modes := map[string]string{}
	summary, _ := titled(text, "Power Usage Summary:")
	for _, line := range summary {
		if m := redundancy.FindStringSubmatch(line); m != nil {
			modes[m[1]] = m[2]
		}
	}
	if want, have := modes["configured"], modes["operational"]; want != "" && have != "" && want != have {
		list = append(list, switches.Trouble{What: switches.OfPower, Text: "redundancy is configured as " + want + " and is " + have})
	}
	return list, understood
}

// fans reads the table of fans, whose last column is a state.
//
//	Fan1(sys_fan1)  N9K-C9300-FAN2       --     front-to-back   Ok
func fans(text string) (list []switches.Trouble, understood bool) {
	table, _ := titled(text, "Fan:")
	for _, line := range table {
		m := fan.FindStringSubmatch(line)
		if m == nil || m[1] == "Fan" || strings.HasPrefix(line, "Fan Zone") {
			continue
		}
		understood = true
		if !strings.EqualFold(m[2], "ok") {
			list = append(list, switches.Trouble{What: switches.OfFans, Part: m[1], Text: "it is " + m[2]})
		}
	}
	return list, understood
}

// warmth reads the table of sensors: two limits, what is measured, and a state.
//
//	1        FRONT           70              42          24         Ok
func warmth(text string) (list []switches.Trouble, understood bool) {
	table, _ := titled(text, "Temperature:")
	for _, line := range table {
		m := sensor.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		understood = true
		minor, _ := strconv.Atoi(m[4]) // of digits
		now, _ := strconv.Atoi(m[5])
		if strings.EqualFold(m[6], "ok") && now < minor {
			continue
		}
		list = append(list, switches.Trouble{What: switches.OfWarmth, Part: "module " + m[1] + " " + m[2],
			Text: fmt.Sprintf("it is %d °C and %s, its own limits are %s and %s", now, m[6], m[4], m[3])})
	}
	return list, understood
}

var logged = pattern.New(`^(\S+)\s+([0-7])\s+([0-7])$`)

// logLevels reads how much each part logs by default, and how much it does:
// less than its default is a trouble.
//
//	Facility        Default Severity        Current Session Severity
//	ipqosmgr                3                       3
func logLevels(text string) (list []switches.Trouble, understood bool) {
	for line := range strings.Lines(text) {
		m := logged.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		understood = true
		if m[3] < m[2] {
			list = append(list, switches.Trouble{What: switches.OfLog, Part: m[1], Text: fmt.Sprintf("it logs severities up to %s, and up to %s by default", m[3], m[2])})
		}
	}
	return list, understood
}

var (
	routes = pattern.New(`(?m)^interface Vlan\d+$`)
	macAge = pattern.New(`(?m)^mac address-table aging-time (\d+)`)
	arpAge = pattern.New(`(?m)^\s+ip arp timeout (\d+)`)
)

// ages reads how long MAC addresses and ARP are remembered where the switch routes: 1,800
// and 1,500 seconds by default.
func ages(text string) (list []switches.Trouble, understood bool) {
	if !routes.MatchString(text) {
		return nil, strings.TrimSpace(text) != ""
	}
	mac, arp := 1800, 1500
	if m := macAge.FindStringSubmatch(text); m != nil {
		mac, _ = strconv.Atoi(m[1]) // of digits
	}
	for _, m := range arpAge.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && n > arp {
			arp = n
		}
	}
	return switches.Ages(mac, arp), true
}
