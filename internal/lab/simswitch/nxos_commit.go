package simswitch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A commit is a two-stage commit that was made.
type commit struct {
	id     int
	result *node
}

// firstCommit is the number of a switch's first commit.
const firstCommit = 1000000001

// nxosStages are the commands of two-stage configuration. Their texts are
// those of an operator's notes of a virtual Nexus 10.x.
func nxosStages() []Rule {
	const seen = "Cisco Nexus 9000 configuration guide 10.5(x), two-stage commit; lab notes of a virtual Nexus 10.x"
	return []Rule{
		{View: "exec", Line: "configure dual-stage", Source: seen, run: func(s *session, _ match) {
			s.say("Enter configuration commands, one per line. End with CNTL/Z.")
			s.enterTop()
			s.staged = true
		}},
		{View: "dual-stage", Line: "show configuration", Source: seen, run: showCache},
		{View: "dual-stage", Line: "abort", Source: seen, run: func(s *session, _ match) {
			s.cache, s.levels, s.staged = nil, nil, false
		}},
		{View: "dual-stage", Line: "commit", Source: seen + "; what a commit without lines prints is SYNTHETIC: nothing",
			run: func(s *session, _ match) { s.commit(0) }},
		{View: "dual-stage", Line: "commit confirmed <30-65535>", Source: seen + "; that only the session that armed it may confirm is SYNTHETIC",
			tell: "Seconds until rollback unless there is a confirming commit",
			run: func(s *session, m match) {
				seconds, _ := strconv.Atoi(m.args["30-65535"]) // in range, says the pattern
				s.commit(time.Duration(seconds) * time.Second)
			}},
		{View: "exec dual-stage", Line: "rollback configuration to <id:1000000001-2000000000>", Source: seen, run: rollbackCommit},
	}
}

// showCache prints what waits for a commit.
func showCache(s *session, _ match) {
	s.say("! Cached configuration")
	root := &node{}
	for i, e := range s.cache {
		for d := range e.at { // contexts that were only entered
			if root.get(e.at[:d+1]) == nil {
				root = root.with(e.at[:d], &node{key: e.at[d], line: e.at[d], empty: true})
			}
		}
		set := setting{strconv.Itoa(i), e.m.line} // negative forms stand next to each other
		if !e.m.undo {
			set = e.m.settings(s.sw)[0]
		}
		root = root.with(e.at, &node{key: set.key, line: set.line, empty: true})
	}
	for _, k := range root.kids {
		var out []string
		k.printed(&out, "", " ")
		s.say("!\n" + strings.Join(out, "\n"))
	}
}

// commit verifies and applies the cached lines; a positive revert is the time
// in which the same session must commit again.
func (s *session) commit(revert time.Duration) {
	sw := s.sw
	if p := sw.pending; p != nil && p.by != s {
		s.refuse(fmt.Errorf("a confirmed commit of another session is waiting for its confirmation"))
		return
	}
	if revert == 0 && len(s.cache) == 0 {
		sw.disarm() // the confirmation: nothing is printed
		return
	}
	next := sw.running
	for _, e := range s.cache {
		var err error
		if next, err = sw.apply(next, e); err != nil {
			s.ok = false
			s.say("Failed. err=" + err.Error())
			s.say("commit verification failed")
			return
		}
	}
	before := sw.running
	s.say("Verification Succeeded.\n")
	s.say("Proceeding to apply configuration. This might take a while depending on amount of configuration in buffer.")
	s.say("Please avoid other configuration changes during this time.")
	sw.set(s.carryOut(next))
	s.cache = nil
	s.levels = s.levels[:1]
	s.say(fmt.Sprintf("Configuration committed by user '%s' using Commit ID : %d", s.user, sw.committed()))
	if revert == 0 {
		sw.disarm()
		return
	}
	sw.arm(s, before, revert, func() func() {
		id := sw.committed()
		if s.term == nil {
			return nil
		}
		return func() {
			s.term.interject("Confirm commit Timer expired, triggering rollback commit\nRollback in progress\n",
				fmt.Sprintf("\nConfiguration committed by rollback using Commit ID : %d\n", id))
		}
	})
}

// carryOut is what becomes of the cached lines, which lead to next unless
// modules do not carry some of them out.
func (s *session) carryOut(next *node) *node {
	sw := s.sw
	if sw.broken == nil {
		return next
	}
	done, all := sw.running, true
	for _, e := range s.cache {
		if sw.breaks(e.m.line) {
			all = false
		} else if with, err := sw.apply(done, e); err == nil {
			done = with
		}
	}
	if !all {
		s.say(moduleError{}.Error())
	}
	return done
}

// committed notes the running configuration as a commit and numbers it.
func (sw *Switch) committed() int {
	id := firstCommit + len(sw.commits)
	sw.commits = append(sw.commits, commit{id, sw.running})
	return id
}

func rollbackCommit(s *session, m match) {
	id, _ := strconv.Atoi(m.args["id"])
	i := slices.IndexFunc(s.sw.commits, func(c commit) bool { return c.id == id })
	if i < 0 {
		s.refuse(fmt.Errorf("commit %d does not exist", id))
		return
	}
	s.say(fmt.Sprintf("Rolling back to commitID :%d", id))
	s.say("ADVISORY: Rollback operation started... CTRL-C is disabled.")
	s.say(rollbackAdvice)
	s.sw.set(s.sw.commits[i].result)
	s.say(fmt.Sprintf("Configuration committed by rollback using Commit ID : %d", s.sw.committed()))
}

const rollbackAdvice = "Modifying running configuration from another VSH terminal in parallel\nis not recommended, as this may lead to Rollback failure."
