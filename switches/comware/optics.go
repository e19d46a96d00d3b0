package comware

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/switches"
)

var (
	opticHead = pattern.New(`^(\S+) transceiver diagnostic information:`)
	opticCol  = pattern.New(`Temp|Voltage|Bias|RX power|TX power`)
)

// optics reads what a transceiver measures, and its own limits behind it. Where there are
// lanes, what is theirs stands in a row each.
//
//	Ten-GigabitEthernet1/0/52 transceiver diagnostic information:
//	  Current diagnostic parameters:
//	    Temp.(C) Voltage(V)  Bias(mA)  RX power(dBm)  TX power(dBm)
//	    42       3.41        6.42      -2.55          -2.71
//	  Alarm thresholds:
//	          Temp.(C) Voltage(V)  Bias(mA)  RX power(dBm)  TX power(dBm)
//	    High  80       3.60        15.00     0.00           0.00
//	    Low   -15      3.00        0.00      -10.90         -8.30
func optics(text string) (list []switches.Trouble, understood bool) {
	var o optic
	whole := true
	for line := range strings.Lines(text + "\n") {
		plain := strings.TrimSpace(line)
		if m := opticHead.FindStringSubmatch(plain); m != nil {
			list, whole = append(list, o.troubles()...), whole && o.whole()
			o, understood = optic{port: m[1], limits: map[string]map[string]float64{}}, true
			continue
		}
		if o.port != "" {
			o.take(plain)
		}
	}
	return append(list, o.troubles()...), understood && whole && o.whole()
}

// An optic is one transceiver as it is read.
type optic struct {
	port   string
	part   string   // current, Alarm or another
	cols   []string // of the rows that follow
	now    []reading
	limits map[string]map[string]float64 // High and Low, by column
}

type reading struct {
	what, lane string
	value      float64
}

// take reads one line.
func (o *optic) take(line string) {
	switch {
	case strings.HasSuffix(line, ":"):
		o.part, o.cols = strings.Fields(line + " ")[0], nil
		return
	case opticCol.MatchString(line):
		o.cols = opticCol.FindAllString(line, -1)
		return
	}
	w := strings.Fields(line)
	head := ""
	if len(w) == len(o.cols)+1 { // High and Low, or the number of a lane
		head, w = w[0], w[1:]
	}
	if len(w) == 0 || len(w) != len(o.cols) {
		return
	}
	for i, text := range w {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue // it is not measured
		}
		switch {
		case o.part == "Current":
			o.now = append(o.now, reading{o.cols[i], head, v})
		case o.part == "Alarm" && (head == "High" || head == "Low"):
			if o.limits[head] == nil {
				o.limits[head] = map[string]float64{}
			}
			o.limits[head][o.cols[i]] = v
		}
	}
}

// whole reports whether what is measured has limits.
func (o *optic) whole() bool {
	for _, r := range o.now {
		for _, limit := range []string{"High", "Low"} {
			if _, ok := o.limits[limit][r.what]; !ok {
				return false
			}
		}
	}
	return true
}

// troubles are what lies beyond the limits.
func (o *optic) troubles() (list []switches.Trouble) {
	if !o.whole() {
		return nil
	}
	for _, r := range o.now {
		high, low := o.limits["High"][r.what], o.limits["Low"][r.what]
		if r.value >= low && r.value <= high {
			continue
		}
		t := switches.Trouble{What: switches.OfOptics, Part: o.port}
		if r.what == "Temp" || r.what == "Voltage" {
			t.What = switches.OfHeat
		}
		lane := ""
		if r.lane != "" {
			lane = " of lane " + r.lane
		}
		t.Text = fmt.Sprintf("%s%s is %g, and its own alarms are at %g and %g", r.what, lane, r.value, low, high)
		list = append(list, t)
	}
	return list
}
