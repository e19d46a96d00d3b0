package simswitch

import (
	"strconv"
	"strings"
)

// jumboDefault is the longest frame of a port in bytes that has no line about
// it: what the device says of which ntc-templates has the output.
const jumboDefault = "9664"

func (sw *Switch) usualFrame() string {
	if sw.spec.Frame > 0 {
		return strconv.Itoa(sw.spec.Frame)
	}
	return jumboDefault
}

// comwareInterface prints what a port says of itself, as far as the simulator
// knows it: no counters but of broken frames.
func comwareInterface(s *session, m match) {
	for _, port := range s.chosen(m) {
		k := s.sw.running.kid("interface " + port)
		state, speed := "DOWN", "Unknown-speed mode, Unknown-duplex mode"
		if s.sw.linked(port) {
			state, speed = "UP", s.sw.spec.Speed+"bps-speed mode, full-duplex mode"
		}
		frame, text, pvid := s.sw.usualFrame(), port+" Interface", "1"
		for _, l := range k.kids {
			switch {
			case l.line == "shutdown":
				state = "Administratively DOWN"
			case l.line == "undo jumboframe enable":
				frame = "1536"
			case l.key == "jumboframe enable":
				frame = strings.TrimPrefix(l.line, "jumboframe enable ")
			case l.key == "description":
				text = strings.TrimPrefix(l.line, "description ")
			case l.key == "port access vlan":
				pvid = strings.TrimPrefix(l.line, "port access vlan ")
			}
		}
		s.say(port)
		s.say("Current state: " + state)
		s.say("Line protocol state: " + strings.TrimPrefix(state, "Administratively "))
		s.say("Description: " + text)
		s.say(speed)
		s.say("Flow-control is not enabled")
		s.say("Maximum frame length: " + frame)
		s.say("PVID: " + pvid + "\nLast link flapping: Never")
		s.say(" Input:  0 input errors, 0 runts, 0 giants, 0 throttles\n         0 CRC, 0 frame, - overruns, 0 aborts\n")
	}
}
