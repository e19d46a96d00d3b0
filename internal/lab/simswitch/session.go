package simswitch

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A session is one user at the CLI.
type session struct {
	sw   *Switch
	user string
	term *terminal // nil: edits by hand, see Switch.Edit

	out      strings.Builder // what the current command prints
	ok       bool            // the current command was accepted
	levels   []level         // configuration contexts; none: outside configuration
	staged   bool            // lines are collected for a commit
	cache    []edit          // collected so far
	rows     int             // of a page; 0: no paging
	paged    bool            // rows were not set by a command: the terminal's count
	silent   bool            // no questions: terminal dont-ask
	question func(answer string)
	filter   func(lines []string) []string // after a pipe
	done     bool
}

// A level is a configuration context: a view and the nodes it edits, several
// for a range.
type level struct {
	view string
	at   []place
	line string // that opened it
}

// A scope is a view whose rules apply, and how many levels remain when one of
// them is used.
type scope struct {
	view string
	keep int
}

func newSession(sw *Switch, user string, t *terminal) *session {
	return &session{sw: sw, user: user, term: t, paged: true}
}

// enterTop opens the first level of the configuration.
func (s *session) enterTop() {
	s.levels = []level{{view: s.sw.system.top, at: []place{nil}}}
}

// serve runs the session until its user leaves.
func (s *session) serve(ctx context.Context) error {
	sys := s.sw.system
	s.term.enter = sys.enter
	s.term.print(sys.greeting(s.sw) + s.sw.spec.Motd)
	typed := ""
	for !s.done {
		prompt := ""
		if s.question == nil {
			prompt = s.prompt()
		}
		line, end, err := s.term.line(prompt, typed)
		if err != nil {
			return err
		}
		typed = ""
		if !s.fare(ctx) {
			return nil
		}
		switch end {
		case keyHelp:
			s.term.print(s.help(line))
			typed = line
		case keyBreak:
			s.question = nil
		case keyLeave:
			sys.leave(s)
		default:
			text := s.do(line)
			if err := s.term.page(text, sys.more, s.height()); err != nil {
				return err
			}
		}
	}
	return nil
}

// prompt is what the switch prints when it waits for a line.
func (s *session) prompt() string {
	s.sw.mu.Lock()
	defer s.sw.mu.Unlock()
	return s.sw.system.prompt(s)
}

// fare lets befall the session what the switch was told to do to it; false:
// it is over.
func (s *session) fare(ctx context.Context) bool {
	drop, wait := s.sw.fate()
	if wait > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
	if drop && s.term.session != nil {
		s.term.session.Drop()
	}
	return !drop
}

// height is the number of rows of a page.
func (s *session) height() int {
	if s.paged {
		if most := s.sw.system.screen; most > 0 {
			return min(most, s.term.rows())
		}
		return s.term.rows()
	}
	return s.rows
}

func (s *session) close() {
	if s.term != nil {
		s.term.hangUp()
	}
}

// say prints a line.
func (s *session) say(line string) {
	s.out.WriteString(line)
	s.out.WriteByte('\n')
}

// printable makes a space of everything in a line that no keyboard sends.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == keyDelete || r == utf8.RuneError {
			return ' '
		}
		return r
	}, line)
}

// do runs one line and returns what it prints.
func (s *session) do(line string) string {
	s.sw.mu.Lock()
	defer s.sw.mu.Unlock()
	s.out.Reset()
	s.ok = true
	s.filter = nil
	if ask := s.question; ask != nil {
		s.question = nil
		ask(strings.TrimSpace(line))
		return s.out.String()
	}
	line = strings.TrimRight(printable(line), " ")
	body := strings.TrimSpace(line)
	if body == "" || body[0] == '!' || body[0] == '#' {
		return ""
	}
	if s.assaults(body) || s.denies(body) || s.lacks(body) {
		return s.out.String()
	}
	command, pipe, piped := strings.Cut(line, " | ")
	if piped {
		m, f := parse(s.sw.dialect.view["pipe"], pipe)
		if f != nil {
			f.at += len(command) + len(" | ")
			s.fail(f, line)
			return s.out.String()
		}
		m.rule.run(s, m)
	}
	s.command(command)
	if s.filter != nil && s.ok {
		lines := s.filter(slices.Collect(strings.Lines(s.out.String())))
		return strings.Join(lines, "")
	}
	return s.out.String()
}

// command finds the rule for a line and follows it.
func (s *session) command(line string) {
	var worst *fault
	for _, sc := range s.sw.system.scopes(s) {
		m, f := parse(s.sw.dialect.view[sc.view], line)
		if f != nil {
			if worst == nil || f.word > worst.word {
				worst = f
			}
			continue
		}
		if need := m.rule.needs; need != "" && s.sw.running.kid("feature "+need) == nil {
			if worst == nil {
				worst = &fault{kind: unrecognized, at: tokens(line)[0].at}
			}
			continue
		}
		if m.rule.run != nil {
			m.rule.run(s, m)
			return
		}
		s.configure(m, sc.keep)
		return
	}
	if worst == nil {
		worst = &fault{kind: unrecognized}
	}
	s.fail(worst, line)
}

func (s *session) fail(f *fault, line string) {
	s.ok = false
	s.sw.system.complain(s, f, line)
}

// refuse says that a line is well formed and not possible.
func (s *session) refuse(err error) {
	s.ok = false
	s.sw.system.refused(s, err)
}

// configure makes an edit, or keeps it for a commit, and follows into the
// context that it opens.
func (s *session) configure(m match, keep int) {
	in := s.levels[keep-1]
	var opened []place
	next := s.sw.running
	var edits []edit
	for _, at := range in.at {
		for _, e := range spread(edit{at: at, m: m}) {
			edits = append(edits, e)
			if !m.undo && m.rule.enter != "" {
				for _, set := range e.m.settings(s.sw) {
					opened = append(opened, append(slices.Clone(at), set.key))
				}
			}
			if s.staged {
				continue
			}
			var err error
			if next, err = s.sw.apply(next, e); err == nil && s.sw.breaks(e.m.line) {
				err = moduleError{}
			}
			if err != nil {
				s.refuse(err)
				return
			}
		}
	}
	if s.staged {
		s.cache = append(s.cache, edits...)
	} else {
		s.sw.set(next)
	}
	s.levels = s.levels[:keep]
	if len(opened) > 0 {
		s.levels = append(s.levels, level{view: m.rule.enter, at: opened, line: m.line})
	}
}

// spread makes one edit of each port of a range.
func spread(e edit) []edit {
	ports, ok := e.m.args["ports"]
	if !ok {
		return []edit{e}
	}
	var all []edit
	for _, p := range strings.Split(ports, ",") {
		one := e
		one.m.args = map[string]string{"port": p, "ports": p}
		one.m.line = strings.Replace(e.m.line, ports, p, 1)
		all = append(all, one)
	}
	return all
}

// help answers a question mark: the words that may come next.
func (s *session) help(line string) string {
	s.sw.mu.Lock()
	defer s.sw.mu.Unlock()
	s.out.Reset()
	if s.lacks(strings.TrimSpace(line)) {
		return s.out.String()
	}
	var all []string
	for _, sc := range s.sw.system.scopes(s) {
		all = append(all, continuations(s.sw.dialect.view[sc.view], line, s.sw.system.number)...)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "")
}
