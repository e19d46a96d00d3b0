package comware

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/switches"
)

var (
	sensorHead = pattern.New(`(?i)^(Slot\s+)?Sensor\s+Temperature\s+Lower-?Limit\s+Warning\S*\s+Alarm\S*`)
	sensorRow  = pattern.New(`^(.+?)\s+(-?\d+)\s+(?:-?\d+|NA)\s+(-?\d+|NA)\s+(-?\d+|NA)(?:\s+(?:-?\d+|NA))?$`)
)

// warmth reads a table of sensors, of which each has its own limits; NA: it has none of that
// kind. A sensor at its limit to warn is a trouble.
//
//	Slot  Sensor       Temperature  LowerLimit  WarningLimit  AlarmLimit ShutdownLimit
//	0     inflow 1     27           -10         50            70          100
func warmth(text string) (list []switches.Trouble, understood bool) {
	slots, table := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head := sensorHead.FindStringSubmatch(line); head != nil {
			slots, table = head[1] != "", true
			continue
		}
		m := sensorRow.FindStringSubmatch(line)
		if m == nil || !table {
			continue
		}
		now, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		part := strings.Join(strings.Fields(m[1]), " ")
		if slots {
			part = "slot " + part
		}
		for i, what := range []string{"limit to warn", "limit to alarm"} {
			limit, err := strconv.Atoi(m[3+i])
			if err != nil {
				continue // NA
			}
			understood = true
			if now >= limit {
				list = append(list, switches.Trouble{What: switches.OfWarmth, Part: part, Text: fmt.Sprintf("it is %d °C, and its own %s is %d", now, what, limit)})
				break
			}
		}
	}
	return list, understood
}
