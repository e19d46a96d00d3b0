package simswitch

import (
	"fmt"
	"slices"
	"strings"
)

// Ail makes the switch show that one of its parts is not well, beside what ails it
// already; nothing makes it well again. What may ail it:
//
//	supply      the last power supply gives nothing
//	fan         the last fan stands
//	warm        a sensor is above its own lower limit
//	module      the first module has failed
//	log         what is told of links is logged less; NX-OS only
//	optic PORT  it receives less light than its own alarm
//	hot PORT    its optic is warmer than its own alarm
func (sw *Switch) Ail(what string) error {
	name, port, of := strings.Cut(what, " ")
	known := slices.Contains(sw.system.ailments, name)
	if onPort := name == "optic" || name == "hot"; known && onPort != of {
		known = false
	}
	switch {
	case what == "":
	case !known:
		return fmt.Errorf("ail: %q is not one of %s of a simulated %s switch, with a port behind optic and hot", what, strings.Join(sw.system.ailments, ", "), sw.system.name)
	case of:
		if !sw.linked(port) {
			return fmt.Errorf("ail: no optic is in %q: nobody is plugged in there", port)
		}
	}
	sw.mu.Lock()
	defer sw.mu.Unlock()
	switch {
	case what == "":
		sw.ails = nil
	case sw.ails == nil:
		sw.ails = map[string]bool{what: true}
	default:
		sw.ails[what] = true
	}
	return nil
}

// ailing is the second of two texts where that ails the switch.
func (s *session) ailing(what, well, unwell string) string {
	if s.sw.ails[what] {
		return unwell
	}
	return well
}
