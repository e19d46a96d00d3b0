package switches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/scrapli/scrapligo/util"

	"weft/internal/hint"
)

// An answer ends at the prompt, and text may have a line that is equal to it: one of a
// banner, or of what a neighbour says. Then an answer seems to end early, and what follows
// would be taken for the next one. So between an answer and the echo of the next line
// nothing may come, and after the last answer Enter must bring the prompt and nothing else.

// Show runs commands that read, one after the other, and returns what each
// printed. A command that the switch refuses is a *RefusedError.
func (s *Session) Show(ctx context.Context, commands []string) (map[string]string, error) {
	out, err := s.show(ctx, commands)
	if err == nil || errors.As(err, new(*RefusedError)) {
		err = cmp.Or(s.confirm(ctx), err)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// show is Show, and whoever calls it has confirm see to it that the last answer was whole.
func (s *Session) show(ctx context.Context, commands []string) (map[string]string, error) {
	if !s.wire.IsAlive() {
		if err := s.login(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.leave(ctx); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(commands))
	for _, cmd := range commands {
		reply, err := s.hear(ctx, cmd)
		if err != nil {
			return nil, err
		}
		// A refusal is short; a long answer may well quote an error.
		if strings.Count(reply, "\n") < 5 && s.refused(reply) {
			return nil, NewRefusedError(cmd, reply)
		}
		out[cmd] = reply
	}
	return out, nil
}

// hear types a command that prints text of any kind, such as a banner with
// lines that look like prompts: only the very prompt at which it is typed ends
// the answer.
func (s *Session) hear(ctx context.Context, cmd string) (string, error) {
	before, answered := s.asked, s.answered
	if s.prompt == "" {
		return s.say(ctx, cmd, s.timeout)
	}
	was := s.prompt
	s.net.Channel.PromptPattern = regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(was) + ` ?$`)
	defer func() { s.net.Channel.PromptPattern = s.prompts }()
	raw, err := s.answer(ctx, cmd, s.timeout)
	if errors.Is(err, util.ErrTimeoutError) {
		last := lastLine(s.wire.said())
		if s.prompts.MatchString(last) && last != was {
			err = fmt.Errorf("the prompt was %q and is %q, so the switch has been renamed meanwhile: %w", was, last, err)
		}
	}
	if err != nil {
		return "", err
	}
	if before != "" {
		if err := s.ended(before, was, answered, s.stray, cmd); err != nil {
			return "", err
		}
	}
	s.asked, s.answered = cmd, raw
	more := after(raw, was)
	return s.clean(raw, cmd), s.ended(cmd, was, strings.TrimSuffix(raw, more), more, cmd)
}

// confirm sees to it that the last answer was whole: the switch has nothing more to say.
func (s *Session) confirm(ctx context.Context) error {
	if s.asked == "" || !s.wire.IsAlive() {
		return nil
	}
	cmd, was, answered := s.asked, s.prompt, s.answered
	s.asked, s.answered = "", ""
	s.net.Channel.PromptPattern = regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(was) + ` ?$`)
	defer func() { s.net.Channel.PromptPattern = s.prompts }()
	more, err := s.exchange(ctx, "", s.timeout)
	if err != nil {
		return err
	}
	return s.ended(cmd, was, answered, more, "")
}

// ended is the error about an answer that went on after a line that is the prompt: more is
// what came after answer, up to the prompt after line.
func (s *Session) ended(cmd, prompt, answer, more, line string) error {
	text, _ := s.sift(more, line)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	s.wire.Close() // what comes now would be taken for the next answer
	text, _ = s.sift(quoteAfter(answer, more), line)
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return hint.Wrap(fmt.Errorf("%s: %s: the answer went on after a line that is equal to the prompt %q, so that it is not known where it ends; then came %q", s.name, cmd, prompt, first[:min(len(first), 120)]),
		"if a banner of the switch, or what a neighbour of it says, has such a line, change that; else try again: it spoke while it was asked")
}

// after is what stands in an answer after the first line that is the prompt.
func after(raw, prompt string) string {
	for rest := raw; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if strings.TrimRight(line, " \t") == prompt {
			return rest
		}
	}
	return ""
}

// exchange types one line and returns what came after its echo, up to a prompt or a
// question. What came before the echo is in stray. "" is Enter alone, which has no echo.
func (s *Session) exchange(ctx context.Context, line string, wait time.Duration) (string, error) {
	s.stray = ""
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !s.wire.IsAlive() {
		return "", fmt.Errorf("%s: the session has ended: %w", s.name, cmp.Or(s.wire.end(), io.EOF))
	}
	stop := context.AfterFunc(ctx, func() { s.wire.Close() })
	defer stop()
	reply, err := s.typed(ctx, line, wait)
	if err != nil {
		s.wire.Close() // what comes now would be taken for the next answer
		return "", fmt.Errorf("%s: %s: %w", s.name, cmp.Or(Redact(line), "Enter"), s.explain(ctx, err))
	}
	return reply, nil
}

// typed is scrapligo's SendInput, which does not tell what came before the echo.
func (s *Session) typed(ctx context.Context, line string, wait time.Duration) (string, error) {
	ch := s.net.Channel
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if line != "" {
		if err := ch.Write([]byte(line), false); err != nil {
			return "", err
		}
		echoed, err := ch.ReadUntilExplicit(ctx, []byte(line))
		if err != nil {
			return "", late(err)
		}
		s.stray = string(echoed)
	}
	if err := ch.WriteReturn(); err != nil {
		return "", err
	}
	reply, err := ch.ReadUntilAnyPrompt(ctx, []*regexp.Regexp{ch.PromptPattern, question})
	if err != nil {
		return "", late(err)
	}
	lines := strings.Split(string(reply), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n"), nil
}

// late is what scrapligo calls a deadline that has passed.
func late(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: channel timeout sending input to device", util.ErrTimeoutError)
	}
	return err
}
