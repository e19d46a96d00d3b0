package simswitch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// comwareCommands are the lines that are no configuration.
func comwareCommands() []Rule {
	return slices.Concat(comwareViews(), comwareReverts(), comwareSaves(), comwareFiles(), comwareDisplays(), comwareWellness())
}

func comwareViews() []Rule {
	const source = "netmiko, hp_comware.py and scrapligo, hp_comware.yaml"
	return []Rule{
		{View: "user", Line: "system-view", Source: source + ", published notes of an H3C switch", run: func(s *session, _ match) {
			s.say("System View: return to User View with Ctrl+Z.")
			s.enterTop()
		}},
		{View: "any", Line: "quit", Source: source, run: func(s *session, _ match) {
			if len(s.levels) == 0 {
				s.done = true
				return
			}
			s.levels = s.levels[:len(s.levels)-1]
		}},
		{View: "any", Line: "return", Source: source, run: func(s *session, _ match) { s.levels = nil }},
		{View: "user", Line: "screen-length disable", Source: source, run: func(s *session, _ match) { s.rows, s.paged = 0, false }},
		{View: "user", Line: "undo screen-length disable", Source: "H3C Comware 7 Fundamentals Command Reference, Login management commands: screen-length disable",
			run: func(s *session, _ match) { s.paged = true }},
		{View: "pipe", Line: "include <text>", Source: "published notes of an S6800-54QF", run: include},
		{View: "pipe", Line: "exclude <text>", Source: "H3C command references: | { begin | exclude | include }", run: exclude},
		{View: "pipe", Line: "begin <text>", Source: "H3C command references: | { begin | exclude | include }", run: begin},
	}
}

// comwareReverts are the timed revert.
func comwareReverts() []Rule {
	const source = "H3C configuration file management; HPE 5510 HI manual, pages 105 and 146"
	return []Rule{
		{View: "system", Line: "configuration commit delay <delay:1-65535>",
			Source: source + "; that the unit is minutes and that nothing is printed is SYNTHETIC",
			tell:   "Delay in minutes until the configuration is rolled back (SYNTHETIC help text)",
			run: func(s *session, m match) {
				minutes, _ := strconv.Atoi(m.args["delay"]) // in range, says the pattern
				s.sw.arm(s, s.sw.running, time.Duration(minutes)*time.Minute, func() func() { return nil })
			}},
		{View: "system", Line: "configuration commit", Source: source + "; what it says when nothing is armed is SYNTHETIC",
			run: func(s *session, _ match) {
				if s.sw.pending == nil {
					s.refuse(errors.New("no configuration commit delay is running"))
					return
				}
				s.sw.disarm()
			}},
	}
}

// text is the running configuration as a file.
func (sw *Switch) text() string { return strings.Join(comwarePrint(sw.running), "\n") + "\n" }

// comwareSaves write the startup configuration. Their texts are those of the
// H3C command reference, and of an H3C switch that was given a bad name.
func comwareSaves() []Rule {
	const source = "H3C Comware 7 command reference, samples of save; netmiko, hp_comware.py"
	return []Rule{
		{View: "any", Line: "save force", Source: source, run: func(s *session, _ match) { s.saveStartup() }},
		{View: "any", Line: "save", Source: source, run: func(s *session, _ match) {
			s.out.WriteString("The current configuration will be written to the device. Are you sure? [Y/N]:")
			s.question = func(answer string) {
				if yes(answer, false) {
					s.askName()
				}
			}
		}},
		{View: "any", Line: "save <file:name>", Source: source, run: func(s *session, m match) {
			name, ok := s.configName(m.args["file"])
			if !ok {
				return
			}
			s.out.WriteString("The current configuration will be saved to flash:/" + name + ". Continue? [Y/N:y]")
			s.question = func(answer string) {
				if yes(answer, true) {
					s.overwrite(name)
				}
			}
		}},
	}
}

const startupFile = "startup.cfg"

func (s *session) saveStartup() {
	if err := s.sw.write(startupFile, s.sw.text()); err != nil {
		s.refuse(err)
		return
	}
	s.sw.startup, s.sw.saved = s.sw.running, s.sw.clock.Now()
	s.say("Validating file. Please wait....")
	s.say("Configuration is saved to device successfully.")
}

func (s *session) askName() {
	s.out.WriteString("Please input the file name(*.cfg)[flash:/" + startupFile + "]\n(To leave the existing filename unchanged, press the enter key):")
	s.question = func(answer string) {
		if answer == "" || flashName(answer) == startupFile {
			s.saveStartup()
			return
		}
		if name, ok := s.configName(answer); ok {
			s.attempt(s.sw.write(name, s.sw.text()))
			s.saveStartup()
		}
	}
}

// configName wants the name of a configuration file.
func (s *session) configName(file string) (string, bool) {
	if !strings.HasSuffix(file, ".cfg") {
		s.ok = false
		s.say("The file name is invalid(does not end with .cfg).")
		return "", false
	}
	return flashName(file), true
}

func (s *session) overwrite(name string) {
	save := func() {
		if err := s.sw.write(name, s.sw.text()); err != nil {
			s.refuse(err)
			return
		}
		s.say("Now saving current configuration to the device.")
		s.say("Saving configuration flash:/" + name + ". Please wait...")
		s.say("Configuration is saved to flash successfully.")
	}
	if _, exists := s.sw.flash[name]; !exists {
		save()
		return
	}
	s.sure(false, "flash:/"+name+" exists, overwrite? [Y/N:y]", true, save)
}

// comwareFiles are the commands about flash.
func comwareFiles() []Rule {
	const source = "H3C Comware 7 file system commands; texts of refusals SYNTHETIC"
	return []Rule{
		{View: "user", Line: "dir", Source: source, run: func(s *session, _ match) {
			s.say("Directory of flash:")
			for i, name := range s.sw.list("") {
				kind, size := "-rw-", strconv.Itoa(len(s.sw.flash[name]))
				if strings.HasSuffix(name, "/") {
					kind, size = "drw-", "-"
				}
				s.say(fmt.Sprintf("%4d %s %11s %s   %s", i, kind, size, s.sw.clock.Now().Format("Jan 02 2006 15:04:05"), strings.TrimSuffix(name, "/")))
			}
			s.say("\n472972 KB total (472840 KB free)")
		}},
		{View: "user", Line: "more <file:name>", Source: source, run: func(s *session, m match) {
			text, ok := s.sw.flash[flashName(m.args["file"])]
			if !ok {
				s.refuse(errNoFile)
				return
			}
			s.out.WriteString(text)
		}},
		{View: "user", Line: "mkdir <file:name>", Source: source, run: func(s *session, m match) {
			name := flashName(m.args["file"])
			if err := s.sw.makeDir(name); err != nil {
				s.refuse(err)
				return
			}
			s.say("Creating directory flash:/" + name + "... Done.")
		}},
		{View: "user", Line: "rmdir <file:name>", Source: source, run: func(s *session, m match) {
			name := flashName(m.args["file"])
			s.sure(false, "Remove directory flash:/"+name+" and the files in the recycle-bin under this directory will be deleted permanently. Continue? [Y/N:y]", true, func() {
				if err := s.sw.removeDir(name); err != nil {
					s.refuse(err)
					return
				}
				s.say("Removing directory flash:/" + name + "... Done.")
			})
		}},
		{View: "user", Line: "delete [/unreserved] <file:name>", Source: source, run: func(s *session, m match) {
			name := flashName(m.args["file"])
			s.sure(false, "Delete flash:/"+name+"? [Y/N:y]", true, func() {
				if err := s.sw.removeFile(name); err != nil {
					s.refuse(err)
					return
				}
				s.say("Deleting file flash:/" + name + "...Done.")
			})
		}},
	}
}
