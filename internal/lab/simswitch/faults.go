package simswitch

import (
	"errors"
	"regexp"
	"strings"
)

// Deny makes the switch answer lines that match, whatever they are about, as
// those of a user who may not type them; nil ends it.
func (sw *Switch) Deny(lines *regexp.Regexp) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.deny = lines
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
	if s.sw.deny == nil || !s.sw.deny.MatchString(line) {
		return false
	}
	s.ok = false
	s.say(s.sw.system.denied)
	return true
}
