package simswitch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// nxosCommands are the lines that are no configuration.
func nxosCommands() []Rule {
	return slices.Concat(nxosModes(), nxosStages(), nxosShows(), nxosPoints(), nxosFiles())
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

// A checkpoint is a configuration that was put aside under a name.
type checkpoint struct {
	name, by string
	at       time.Time
	config   *node
}

// mostCheckpoints and the rules for names are of the Cisco Nexus 3548 system management guide 7.x.
const mostCheckpoints, longestCheckpoint = 10, 75

// nxosPoints are checkpoints and the way back to them.
func nxosPoints() []Rule {
	const seen = "Cisco Nexus 3548 system management guide 7.x, lab notes of a Nexus 9000v 10.2(2)"
	const back = "Cisco NX-OS command reference 9.3(x), lab notes of a Nexus 9000v 10.2(2)"
	const how = " [{atomic|best-effort|stop-at-first-failure}] [verbose]"
	return []Rule{
		{View: "exec", Line: "checkpoint <name>", Source: seen + "; texts of refusals SYNTHETIC", run: makeCheckpoint},
		{View: "exec", Line: "no checkpoint <name>", Source: "napalm, nxos_ssh.py", run: func(s *session, m match) {
			i := s.point(m.args["name"])
			if i < 0 {
				s.refuse(errNoCheckpoint)
				return
			}
			s.sw.points = slices.Delete(slices.Clone(s.sw.points), i, i+1)
		}},
		{View: "exec", Line: "show checkpoint summary", Source: "networkqna.com, Nexus 5000", run: showCheckpoints},
		{View: "exec", Line: "rollback running-config checkpoint <name>" + how, Source: back, run: func(s *session, m match) {
			i := s.point(m.args["name"])
			if i < 0 {
				s.refuse(errNoCheckpoint)
				return
			}
			s.rollBack(s.sw.points[i].config)
		}},
		{View: "exec", Line: "rollback running-config file <name>" + how, Source: back, run: func(s *session, m match) {
			text, ok := s.sw.flash[flashName(m.args["name"])]
			if !ok {
				s.refuse(errNoFile)
				return
			}
			s.rollBack(s.sw.load(text))
		}},
	}
}

var errNoCheckpoint = errors.New("the checkpoint does not exist")

func (s *session) point(name string) int {
	return slices.IndexFunc(s.sw.points, func(c checkpoint) bool { return c.name == name })
}

func makeCheckpoint(s *session, m match) {
	name := m.args["name"]
	switch {
	case s.point(name) >= 0:
		s.refuse(errors.New("a checkpoint with this name exists"))
	case strings.HasPrefix(name, "system") || len(name) > longestCheckpoint:
		s.refuse(errors.New("not a name for a checkpoint"))
	case len(s.sw.points) >= mostCheckpoints:
		s.refuse(errors.New("there are as many checkpoints as there may be"))
	default:
		s.sw.points = append(slices.Clone(s.sw.points), checkpoint{name, s.user, s.sw.clock.Now(), s.sw.running})
		s.say(".Done")
	}
}

func showCheckpoints(s *session, _ match) {
	s.say("User Checkpoint Summary")
	s.say(strings.Repeat("-", 80))
	for i, p := range s.sw.points {
		s.say(fmt.Sprintf("%d) %s:", i+1, p.name))
		s.say("Created by " + p.by)
		s.say("Created at " + p.at.Format("Mon, 15:04:05 02 Jan 2006"))
		s.say("Size is " + thousands(len(strings.Join(nxosPrint(p.config), "\n"))) + " bytes")
		s.say("Description: None\n")
	}
}

func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// rollBack returns to a configuration, in the words of the transcript.
func (s *session) rollBack(to *node) {
	s.say("ADVISORY: Rollback operation started...")
	s.say(rollbackAdvice)
	s.say("\nCollecting Running-Config\nGenerating Rollback patch for switch profile\nRollback Patch is Empty")
	s.say("Collecting Running-Config\nGenerating Rollback Patch\nExecuting Rollback Patch")
	s.say("During CR operation,will retain L3 configuration\nwhen vrf member change on interface")
	s.say("Generating Running-config for verification\nGenerating Rollback Patch\n")
	s.sw.set(to)
	s.say("Rollback completed successfully.\n\n")
}
