package simswitch

import (
	"errors"
	"regexp"
)

// Deny makes the switch answer lines that match, whatever they are about, as
// those of somebody who may not type them; nil ends it.
func (sw *Switch) Deny(lines *regexp.Regexp) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.deny = lines
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

// denies reports whether a line is not for its user, and says so.
func (s *session) denies(line string) bool {
	if s.sw.deny == nil || !s.sw.deny.MatchString(line) {
		return false
	}
	s.ok = false
	s.say(s.sw.system.denied)
	return true
}
