package switches

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scrapli/scrapligo/driver/options"
	"github.com/scrapli/scrapligo/platform"
	"github.com/scrapli/scrapligo/util"

	"weft/internal/hint"
)

// Open logs in to the switch called name in messages. timeout is how long one
// command may take; 0 is a minute.
func Open(ctx context.Context, name string, o *OS, dial Dial, timeout time.Duration) (*Session, error) {
	if timeout <= 0 {
		timeout = time.Minute
	}
	s := &Session{name: name, os: o, dialect: o.Dialect, dial: dial, timeout: timeout}
	var err error
	if s.refusals, err = compile(s.dialect.Refusals); err != nil {
		return nil, err
	}
	if s.harmless, err = compile(s.dialect.Harmless); err != nil {
		return nil, err
	}
	if s.absent, err = regexp.Compile(s.dialect.Absent); err != nil {
		return nil, fmt.Errorf("dialect: %w", err)
	}
	if err := s.login(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func compile(patterns []string) (out []*regexp.Regexp, err error) {
	for _, p := range patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("dialect: %w", err)
		}
		out = append(out, re)
	}
	return out, nil
}

func (s *Session) login(ctx context.Context) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	s.wire, s.version = &wire{conn: conn}, ""
	p, err := platform.NewPlatform(s.dialect.Platform, s.name,
		options.WithCustomTransport(s.wire),
		options.WithAuthBypass(),
		options.WithTimeoutOps(s.timeout),
		options.WithReadDelay(time.Millisecond),
		options.WithTermWidth(511),
	)
	if err == nil {
		s.net, err = p.GetNetworkDriver()
	}
	if err == nil {
		s.exec, err = regexp.Compile(s.net.PrivilegeLevels["exec"].Pattern)
	}
	if err == nil {
		s.prompts = s.net.Channel.PromptPattern
		stop := context.AfterFunc(ctx, func() { s.wire.Close() })
		err = s.net.Open()
		stop()
	}
	if err != nil {
		last := quoteLast(s.wire.said())
		s.Close()
		return s.speechless(last, fmt.Errorf("first prompt of %s: %w", s.name, s.explain(ctx, err)))
	}
	s.prompt = s.learn()
	return nil
}

// A PromptError is a login that found no prompt of its system.
type PromptError struct {
	Last string // what was heard last instead
	Err  error

	os *OS
}

func (e *PromptError) Error() string { return fmt.Sprintf("%v; the last it said is %q", e.Err, e.Last) }

// Unwrap returns why none was found.
func (e *PromptError) Unwrap() error { return e.Err }

// speechless adds to a login that found no prompt what was heard last instead.
func (s *Session) speechless(last string, err error) error {
	if last == "" || !errors.Is(err, util.ErrTimeoutError) {
		return err
	}
	return hint.Wrap(&PromptError{Last: last, Err: err, os: s.os},
		"log in by hand as the same user: the first prompt has to be that of %s at which commands are run, without a menu or a question before it", s.os.Name)
}

// Advise adds to the error about a login whose prompt that is, where it is that of
// another one of the systems.
func Advise(err error, systems []*OS) error {
	var no *PromptError
	if !errors.As(err, &no) {
		return err
	}
	for _, other := range systems {
		if ok, late := regexp.MatchString(other.Dialect.Prompt, no.Last); ok && late == nil && other.Name != no.os.Name {
			return hint.Wrap(err, "that is a prompt of %s, and os says %s: is that of another switch?", other.Name, no.os.Name)
		}
	}
	return err
}

// lastLine is the last line with anything in it, as far as it is needed to know
// it again.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return line[:min(len(line), 120)]
}

// learn finds the prompt before the echo of what every login types: lines of a
// banner may look like prompts, and no banner has an echo. "" is not found.
func (s *Session) learn() string {
	for _, l := range slices.Backward(strings.Split(s.wire.said(), "\n")) {
		prompt, echo := strings.CutSuffix(strings.TrimRight(l, " \t\r"), s.dialect.Hello)
		if prompt = strings.TrimSpace(prompt); echo && s.exec.MatchString(prompt) {
			return prompt
		}
	}
	return ""
}
