package simswitch

import (
	"slices"
	"strconv"
)

// nxosCommands are the lines that are no configuration.
func nxosCommands() []Rule {
	return slices.Concat(nxosModes(), nxosStages(), nxosShows(), nxosWellness(), nxosFiles())
}

func nxosModes() []Rule {
	const pipes = "Cisco Nexus 9000 Series NX-OS Fundamentals Configuration Guide, Understanding the Command-Line Interface: filtering output of show commands"
	return []Rule{
		{View: "exec", Line: "configure [terminal]", Source: "scrapligo, cisco_nxos.yaml; lab notes of a Nexus 9000v 10.2(2)",
			run: func(s *session, _ match) {
				s.say("Enter configuration commands, one per line. End with CNTL/Z.")
				s.enterTop()
				s.staged = false
			}},
		{View: "exec", Line: "exit", Source: "scrapligo, cisco_nxos.yaml; lab notes of a virtual Nexus 10.x",
			run: func(s *session, _ match) {
				if len(s.levels) == 0 {
					s.done = true
					return
				}
				s.levels = s.levels[:len(s.levels)-1]
				s.staged = s.staged && len(s.levels) > 0
			}},
		{View: "exec", Line: "end", Source: "lab notes of a Nexus 9000v 10.2(2)",
			run: func(s *session, _ match) { s.levels, s.staged = nil, false }},
		{View: "exec", Line: "terminal length <0-511>", Source: "netmiko, cisco_nxos.py", run: func(s *session, m match) {
			s.rows, _ = strconv.Atoi(m.args["0-511"])
			s.paged = false
		}},
		{View: "exec", Line: "terminal width <24-511>", Source: "netmiko, cisco_nxos.py", run: func(*session, match) {}},
		{View: "exec", Line: "terminal dont-ask", Source: "napalm, nxos_ssh.py",
			run: func(s *session, _ match) { s.silent = true }},
		{View: "exec", Line: "no terminal dont-ask", Source: "napalm, nxos_ssh.py",
			run: func(s *session, _ match) { s.silent = false }},
		{View: "pipe", Line: "section <text>", Source: "Cisco roce_enable v0.60 (it types them)", run: section},
		{View: "pipe", Line: "no-more", Source: pipes, run: func(s *session, _ match) {}},
		{View: "pipe", Line: "include <text>", Source: pipes, run: include},
		{View: "pipe", Line: "exclude <text>", Source: pipes, run: exclude},
		{View: "pipe", Line: "begin <text>", Source: pipes, run: begin},
	}
}
