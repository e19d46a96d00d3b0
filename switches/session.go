package switches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scrapli/scrapligo/driver/network"
	"github.com/scrapli/scrapligo/util"

	"weft/internal/hint"
	"weft/internal/refusal"
)

// Dial opens an interactive terminal of a fresh, authenticated login. It
// should be at least 511 columns wide: not every OS has a command for that.
type Dial func(context.Context) (io.ReadWriteCloser, error)

// A Session is one login on one switch. Its methods are not for concurrent
// use. When a context ends, the login ends; Show logs in again.
type Session struct {
	// Log, if set, receives what is worth knowing while something takes long.
	Log func(string)

	name    string
	os      *OS
	dialect Dialect
	dial    Dial
	timeout time.Duration

	version  string // its answer to Dialect.Version in this login; "": it was not asked
	wire     *wire
	net      *network.Driver
	prompt   string // as printed last
	asked    string // the command that was answered last, where nothing shows yet that this was all; "": none
	answered string // the answer to it
	stray    string // what came before the echo of the line that was typed last
	exec     *regexp.Regexp
	prompts  *regexp.Regexp
	refusals []*regexp.Regexp
	harmless []*regexp.Regexp
	absent   *regexp.Regexp
}

// A RefusedError is a line that the switch did not accept.
type RefusedError = refusal.Error

// Close ends the login.
func (s *Session) Close() error {
	// The wire first: scrapligo would wait for a Read that is waiting itself.
	err := s.wire.Close()
	if s.net != nil {
		err = errors.Join(err, s.net.Channel.Close())
	}
	return err
}

// Read shows what the driver needs for want, and parses and fits it.
func (s *Session) Read(ctx context.Context, want Intent) (Reading, error) {
	out, err := s.ShowAll(ctx)
	if err != nil {
		return Reading{}, err
	}
	c, err := s.os.Parse(out)
	return c.For(want), err
}

// ShowAll identifies the switch and shows what Parse reads. It refuses an answer that is cut off.
func (s *Session) ShowAll(ctx context.Context) (map[string]string, error) {
	if err := s.Identify(ctx); err != nil {
		return nil, err
	}
	rest := slices.DeleteFunc(slices.Clone(s.os.Show), func(line string) bool { return line == s.dialect.Version })
	out, err := s.Show(ctx, rest)
	if err != nil {
		return nil, err
	}
	if s.dialect.Version != "" {
		out[s.dialect.Version] = s.version
	}
	for _, cmd := range s.os.Show {
		if last := lastLine(out[cmd]); cutShort.MatchString(last) {
			return nil, hint.Wrap(fmt.Errorf("%s: %s: the answer is not whole: it ends in %q", s.name, cmd, quoteLast(out[cmd])),
				"try again; where that stays, type the line there by hand, as the same user")
		}
	}
	return out, nil
}

// cutShort is the last line of an answer that a switch gave up, such as "% Memory exhausted".
// What it lacks would read as if it were not there.
var cutShort = regexp.MustCompile(`(?i)^(% ?\w|error:)`)

// pager is where a switch waits for a key before it goes on.
var pager = regexp.MustCompile(`(?i)-+ ?more ?-+`)

// Reread is Read, through another login if this one is lost under it.
func (s *Session) Reread(ctx context.Context, want Intent) (c Reading, err error) {
	err = s.again(ctx, func() (err error) {
		c, err = s.Read(ctx, want)
		return err
	})
	return c, err
}

// leave returns to the mode in which commands are run, if we are elsewhere.
func (s *Session) leave(ctx context.Context) error {
	if s.prompt == "" || s.exec.MatchString(s.prompt) {
		return nil
	}
	line := s.net.PrivilegeLevels["configuration"].Deescalate
	if _, err := s.say(ctx, line, s.timeout); err != nil {
		return err
	}
	if !s.exec.MatchString(s.prompt) {
		return fmt.Errorf("%s did not leave configuration: the prompt is %q", s.name, s.prompt)
	}
	return nil
}

// question is a switch that waits for a yes or no, which has no prompt.
var question = regexp.MustCompile(`(?i)(\[y/n[^\]\n]*\]|\(y/n\)(\s*\[[yn]\])?)\s*[:?]?\s*\z`)

// longestQuestion is more bytes than any question has: the rest of a long answer is not
// looked through for one.
const longestQuestion = 512

// say types one line and returns what came back, without echo, prompts and
// log lines. A question is answered with no and is a refusal.
func (s *Session) say(ctx context.Context, line string, wait time.Duration) (string, error) {
	raw, err := s.answer(ctx, line, wait)
	return s.clean(raw, line), err
}

// answer is say, and leaves what came back as it came.
func (s *Session) answer(ctx context.Context, line string, wait time.Duration) (string, error) {
	s.asked, s.answered = "", ""
	reply, err := s.exchange(ctx, line, wait)
	if err == nil && question.MatchString(reply[max(0, len(reply)-longestQuestion):]) {
		asked := s.clean(reply, line)
		if _, err := s.exchange(ctx, "n", wait); err != nil {
			return "", err
		}
		return "", NewRefusedError(line, asked)
	}
	return reply, err
}

// explain says in our words why scrapligo gave up.
func (s *Session) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, util.ErrTimeoutError) && pager.MatchString(lastLine(s.wire.said())):
		return hint.Wrap(fmt.Errorf("it waits for a key: its output is paged (%q), which was turned off at login: %w", pager.FindString(lastLine(s.wire.said())), err),
			"may this user turn it off? Log in by hand and type what turns it off")
	case errors.Is(err, util.ErrTimeoutError):
		return fmt.Errorf("no prompt within %s: %w", s.timeout, err)
	case errors.Is(s.wire.end(), errMost):
		return fmt.Errorf("the session was ended: %w", errMost)
	case errors.Is(err, util.ErrConnectionError), errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe): // heard of when reading, or when typing
		return fmt.Errorf("the switch ended the session: %w", cmp.Or(s.wire.end(), err))
	}
	return err
}

// Log lines that a switch prints between others: "2022 Aug  8 23:57:13 leaf-a
// %$ VDC-1 %$ %SECURITYD-2-…: …" and "%Jan  1 00:00:00:000 2011 leaf-b SHELL/5/…".
var syslog = regexp.MustCompile(`^\d{4} \w{3} +\d+ [\d:.]+ \S+ .*%\S+-\d-\S+:|^%\w{3} +\d+ [\d:]+ \d{4} \S+ \S+/\d/`)

// mayBeSyslog spares most lines the expression.
func mayBeSyslog(line string) bool {
	return line != "" && (line[0] == '%' || '0' <= line[0] && line[0] <= '9')
}

// clean drops echo, prompts and log lines, and remembers the last prompt.
func (s *Session) clean(reply, line string) string {
	text, prompt := s.sift(reply, line)
	s.prompt = cmp.Or(prompt, s.prompt)
	return text
}

// sift drops echo, prompts and log lines, and returns the last prompt, too.
func (s *Session) sift(reply, line string) (text, prompt string) {
	var kept []string
	for _, l := range strings.Split(reply, "\n") {
		l = strings.TrimRight(l, " \t")
		switch bare := strings.TrimSpace(strings.TrimSuffix(l, line)); {
		case s.prompts.MatchString(l):
			prompt = l
		case strings.HasSuffix(l, line) && (bare == "" || s.prompts.MatchString(bare)):
		case mayBeSyslog(l) && syslog.MatchString(l):
		default:
			kept = append(kept, l)
		}
	}
	return strings.Trim(strings.Join(kept, "\n"), "\n"), prompt
}

// refused reports whether a reply is known to be a refusal.
func (s *Session) refused(reply string) bool {
	return slices.ContainsFunc(s.refusals, func(re *regexp.Regexp) bool { return re.MatchString(reply) })
}

// objection returns what a switch said against a configuration line: anything
// that is not known to be harmless, "" if nothing.
func (s *Session) objection(reply string) string {
	if s.refused(reply) {
		return reply
	}
	var left []string
	for _, l := range strings.Split(reply, "\n") {
		l = strings.TrimSpace(l)
		if l != "" && !slices.ContainsFunc(s.harmless, func(re *regexp.Regexp) bool { return re.MatchString(l) }) {
			left = append(left, l)
		}
	}
	return strings.Join(left, "\n")
}

// again does what may be done twice, through another login if this one is lost
// under it.
func (s *Session) again(ctx context.Context, do func() error) error {
	err := s.settle(ctx)
	if err == nil {
		err = do()
	}
	if err == nil || s.wire.IsAlive() || ctx.Err() != nil || errors.As(err, new(*RefusedError)) {
		return err
	}
	if late := s.login(ctx); late != nil {
		return errors.Join(err, late)
	}
	return do()
}

// settle gets back to a prompt after the switch has spoken unasked.
func (s *Session) settle(ctx context.Context) error {
	if !s.wire.IsAlive() {
		return s.login(ctx)
	}
	return s.leave(ctx)
}

// Save makes the running configuration the one the switch starts with.
func (s *Session) Save(ctx context.Context) error {
	return s.again(ctx, func() error { return s.save(ctx) })
}

func (s *Session) save(ctx context.Context) error {
	line, done := s.dialect.Save, s.dialect.Saved
	reply, err := s.say(ctx, line, max(s.timeout, slowest))
	if err != nil {
		return err
	}
	if ok, err := regexp.MatchString(done, reply); err != nil || !ok || s.refused(reply) {
		return errors.Join(err, NewRefusedError(line, reply))
	}
	return nil
}

// slowest is how long a switch may take to commit or to save.
const slowest = 3 * time.Minute

func (s *Session) log(format string, args ...any) {
	if s.Log != nil {
		s.Log(Redact(fmt.Sprintf(format, args...)))
	}
}
