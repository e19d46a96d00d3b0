package simswitch

import (
	"fmt"
	"strings"
)

// nxosFiles are the commands about startup configuration and files.
func nxosFiles() []Rule {
	const dirs = "public scripts for NX-OS: an existing directory is an error; texts SYNTHETIC"
	return []Rule{
		{View: "exec", Line: "copy running-config startup-config", Source: "netmiko, cisco_nxos.py; lab notes of a Nexus 9000v 10.2(2)",
			run: func(s *session, _ match) {
				if s.sw.full {
					s.refuse(errFull)
					return
				}
				s.sw.startup, s.sw.saved = s.sw.running, s.sw.clock.Now()
				s.say("[########################################] 100%")
				s.say(copyComplete)
			}},
		{View: "exec", Line: "copy running-config <file:name>", Source: "napalm, nxos_ssh.py; the question is SYNTHETIC",
			run: copyRunning},
		{View: "exec", Line: "show startup-config", Source: "Cisco Nexus 9000 Series NX-OS Fundamentals Configuration Guide, Working with Configuration Files; headers as of show running-config SYNTHETIC", run: func(s *session, _ match) {
			s.say("\n!Command: show startup-config")
			s.say("!Time: " + stamp(s.sw.clock.Now()))
			s.say("!Startup config saved at: " + stamp(s.sw.saved))
			s.showConfig(nxosPrint(s.sw.startup))
		}},
		{View: "exec", Line: "dir bootflash:", Source: "public listing pastebin.com/zGEVThDp", run: showFlash},
		{View: "exec", Line: "show file <file:name>", Source: "Cisco Nexus 9000 Series NX-OS Fundamentals Configuration Guide, Using the Device File Systems: displaying file contents", run: func(s *session, m match) {
			text, ok := s.sw.flash[flashName(m.args["file"])]
			if !ok {
				s.refuse(errNoFile)
				return
			}
			s.out.WriteString(text)
		}},
		{View: "exec", Line: "mkdir <file:name>", Source: dirs, run: func(s *session, m match) {
			s.attempt(s.sw.makeDir(flashName(m.args["file"])))
		}},
		{View: "exec", Line: "rmdir <file:name> [no-prompt]", Source: dirs, run: func(s *session, m match) {
			s.attempt(s.sw.removeDir(flashName(m.args["file"])))
		}},
		{View: "exec", Line: "delete <file:name> [now: no-prompt]", Source: "developer.cisco.com, Deleting a File; the question is SYNTHETIC",
			run: func(s *session, m match) {
				file := m.args["file"]
				s.sure(m.args["now"] != "", fmt.Sprintf("Do you want to delete \"/%s\" ? (yes/no/abort)   [y] ", flashName(file)), true, func() {
					s.attempt(s.sw.removeFile(flashName(file)))
				})
			}},
	}
}

// copyComplete ends every copy, even one that did not do all: seen on a Nexus 9500v 10.1(1).
const copyComplete = "Copy complete, now saving to disk (please wait)...\nCopy complete."

func copyRunning(s *session, m match) {
	name := flashName(m.args["file"])
	if !strings.HasPrefix(m.args["file"], "bootflash:") || name == "" {
		s.fail(&fault{kind: unrecognized, at: len("copy running-config ")}, "")
		return
	}
	save := func() {
		if err := s.sw.write(name, strings.Join(nxosPrint(s.sw.running), "\n")+"\n"); err != nil {
			s.refuse(err)
		}
		s.say(copyComplete)
	}
	if _, ok := s.sw.flash[name]; !ok {
		save()
		return
	}
	s.sure(false, "Warning: There is already a file existing with this name. Do you want to\noverwrite (y/n)?[n] ", false, save)
}

// sure does what it is given once the user agrees; nothing is asked in advance
// or where the session was told not to ask.
func (s *session) sure(agreed bool, question string, usual bool, do func()) {
	if agreed || s.silent {
		do()
		return
	}
	s.out.WriteString(question)
	s.question = func(answer string) {
		if yes(answer, usual) {
			do()
		}
	}
}

// yes reads an answer; an empty one means the usual.
func yes(answer string, usual bool) bool {
	if answer == "" {
		return usual
	}
	return strings.HasPrefix(strings.ToLower(answer), "y")
}

// attempt prints the error there is.
func (s *session) attempt(err error) {
	if err != nil {
		s.refuse(err)
	}
}

func showFlash(s *session, _ match) {
	now := s.sw.clock.Now().Format("Jan 02 15:04:05 2006")
	for _, name := range s.sw.list("") {
		size := len(s.sw.flash[name])
		if strings.HasSuffix(name, "/") {
			size = 4096
		}
		s.say(fmt.Sprintf("%10d    %s  %s", size, now, name))
	}
	s.say("\nUsage for bootflash://sup-local\n 7007772672 bytes used\n109518594048 bytes free\n116526366720 bytes total")
}
