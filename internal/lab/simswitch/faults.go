package simswitch

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"weft/internal/slice"
)

// Deny makes the switch answer lines that match, whatever they are about, as
// those of a user who may not type them; nil ends it.
func (sw *Switch) Deny(lines *regexp.Regexp) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.deny = lines
}

// Restrict gives the user a role that permits these lines and no others, in which * stands
// for any word; none ends it. A real switch may take a line that begins as a permitted one
// for permitted, too.
func (sw *Switch) Restrict(lines []string) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.role = nil; len(lines) == 0 {
		return
	}
	forms := slice.Map(lines, func(line string) string { return strings.ReplaceAll(regexp.QuoteMeta(line), `\*`, `\S+`) })
	sw.role = regexp.MustCompile("^(?:" + strings.Join(forms, "|") + ")$") // of quoted texts
}

// Lack makes the switch answer lines that match as one that has no such command,
// as older releases do; nil ends it.
func (sw *Switch) Lack(lines *regexp.Regexp) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.lack = lines
}

// Hostile makes the switch answer lines that match with a text that is meant for
// the terminal of whoever reads it; nil ends it.
func (sw *Switch) Hostile(lines *regexp.Regexp, text string) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.hostile, sw.hostileText = lines, text
}

// Silence lets LLDP hear nobody on a port, whoever is plugged in there.
func (sw *Switch) Silence(port string) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.silent == nil {
		sw.silent = map[string]bool{}
	}
	sw.silent[port] = true
}

// Hear lets LLDP hear somebody on a port, beside whoever is plugged in there.
func (sw *Switch) Hear(n Neighbour) error {
	if !slices.Contains(sw.spec.Ports, n.Port) {
		return fmt.Errorf("there is no port %s", n.Port)
	}
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.also = append(sw.also, n)
	return nil
}

// Listen ends what Silence and Hear began.
func (sw *Switch) Listen() {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.silent, sw.also = nil, nil
}

// heard are the neighbours on ports that exist, in the order of the ports.
func (sw *Switch) heard() []Neighbour {
	var all []Neighbour
	for _, port := range sw.spec.Ports {
		if n, ok := sw.neighbour(port); ok && !sw.silent[port] {
			all = append(all, n)
		}
		for _, n := range sw.also {
			if n.Port == port {
				n.ChassisID = cmp.Or(n.ChassisID, n.PortID)
				all = append(all, n)
			}
		}
	}
	return all
}

// stations are the machines that are plugged in, whose frames the switch sees whether or
// not they speak LLDP.
func (sw *Switch) stations() []Neighbour {
	var all []Neighbour
	for _, port := range sw.spec.Ports {
		if sw.spec.Stations != nil {
			for _, mac := range sw.spec.Stations(port) {
				all = append(all, Neighbour{Port: port, PortID: mac})
			}
		}
		if n, ok := sw.neighbour(port); ok && !n.Bridge {
			if _, err := net.ParseMAC(n.PortID); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// dotted writes a MAC address in groups of four digits.
func dotted(mac, between string) string {
	plain := strings.ReplaceAll(mac, ":", "")
	return strings.Join([]string{plain[:4], plain[4:8], plain[8:]}, between)
}

// Break makes an NX-OS switch take configuration lines that match for good, and
// then not carry them out, as its modules may; nil ends it.
func (sw *Switch) Break(lines *regexp.Regexp) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.broken = lines
}

// Fill takes all room on the file system, or makes room again.
func (sw *Switch) Fill(full bool) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.full = full
}

// Save is somebody saving what runs, for the next start.
func (sw *Switch) Save() {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.startup, sw.saved = sw.running, sw.clock.Now()
}

// Reboot makes the switch come back with its startup configuration: commits and
// timers are forgotten. Whoever calls it ends the sessions.
func (sw *Switch) Reboot() {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.disarm()
	sw.running, sw.commits, sw.counted = sw.startup, nil, nil
	sw.booted = sw.clock.Now()
	sw.changed = sw.booted
}

var errFull = errors.New("no space left on device")

// write makes a file.
func (sw *Switch) write(name, text string) error {
	if sw.full {
		return errFull
	}
	sw.flash[name] = text
	return nil
}

// A moduleError is of a device whose module could not do what its supervisor
// had taken for good.
type moduleError struct{}

// Error is what such a device printed, word by word.
func (moduleError) Error() string {
	return `Unable to perform the action due to incompatibility:  Module 1 returned status "ACLQOS_ERROR: Invalid Class id : Max class reached"`
}

// breaks reports whether a line is one that the modules do not carry out.
func (sw *Switch) breaks(line string) bool {
	return sw.broken != nil && sw.broken.MatchString(line)
}

// lacks reports whether a line is one that this switch does not have, and says
// so.
func (s *session) lacks(line string) bool {
	if s.sw.lack == nil || !s.sw.lack.MatchString(line) {
		return false
	}
	s.fail(&fault{kind: unrecognized, at: strings.LastIndexByte(line, ' ') + 1}, line)
	return true
}

// assaults reports whether a line is answered with a hostile text, and says it.
func (s *session) assaults(line string) bool {
	if s.sw.hostile == nil || !s.sw.hostile.MatchString(line) {
		return false
	}
	s.ok = false
	s.say(s.sw.hostileText)
	return true
}

// denies reports whether a line is not for its user, and says so.
func (s *session) denies(line string) bool {
	denied := s.sw.deny != nil && s.sw.deny.MatchString(line)
	if !denied && (s.sw.role == nil || s.sw.role.MatchString(line)) {
		return false
	}
	s.ok = false
	s.say(s.sw.system.denied)
	return true
}
