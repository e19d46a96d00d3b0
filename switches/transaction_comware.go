package switches

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"weft/internal/hint"
)

// commitDelay is "configuration commit delay" of Comware: the switch goes back
// to what it was when the command was given, unless "configuration commit"
// follows in time. Lines are in force as they are sent. There is one timer in
// the switch, and what others change meanwhile goes too.
type commitDelay struct{}

const (
	comwareDelay = "configuration commit delay"
	comwareKeep  = "configuration commit"
)

// Help for a number: "  INTEGER<1-65535>  Delay time in minutes".
var comwareHelp = regexp.MustCompile(`(?i)<(\d+)-(\d+)>(.*)`)

// probe asks for the timer and leaves again.
func (commitDelay) probe(ctx context.Context, t *Transaction) error {
	if _, err := t.delay(ctx); err != nil {
		return err
	}
	if err := t.enough(1, 2); err != nil {
		return &GuardError{Err: err, lack: "too many lines for its timed revert"}
	}
	return t.s.leave(ctx)
}

// delay is the timed revert in the unit of the switch, which it is asked for
// where lines are in force at once.
func (t *Transaction) delay(ctx context.Context) (n int, err error) {
	if err := t.configure(ctx); err != nil {
		return 0, err
	}
	unit, least, most, err := t.askDelay(ctx)
	if errors.As(err, new(*GuardError)) {
		return 0, hint.Wrap(err, `without a timed revert that is understood weft changes nothing here: a job of its scheduler is none (switches/comware.md says why). With commit_confirm = "none" weft itself takes its lines back when something fails, as long as it reaches the switch; have its console at hand`)
	}
	if err != nil {
		return 0, err
	}
	n = int((t.confirm + unit - 1) / unit)
	if n < least || n > most {
		return 0, &GuardError{Err: fmt.Errorf("a timed revert after %s: %s takes %d to %d times %s", t.confirm, t.s.name, least, most, unit)}
	}
	t.confirm, t.least, t.leastLine = time.Duration(n)*unit, time.Duration(least)*unit, fmt.Sprintf("%s %d", comwareDelay, least)
	return n, nil
}

func (c commitDelay) begin(ctx context.Context, t *Transaction) error {
	n, err := t.delay(ctx)
	if err != nil {
		return err
	}
	if err := t.enough(3, 4); err != nil {
		return err
	}
	if t.guard.Owner != "" {
		if err := t.s.leave(ctx); err != nil {
			return err
		}
		if err := t.mark(ctx, t.s); err != nil {
			return err
		}
		if err := t.configure(ctx); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%s %d", comwareDelay, n)
	reply, err := t.arm(ctx, line)
	if err != nil {
		return t.calm(ctx, err)
	}
	if t.s.refused(reply) {
		return &RefusedError{Line: line, Reply: reply}
	}
	if reply != "" {
		t.s.log("%s: %s", t.s.name, reply)
	}
	t.s.log("%s: what others change until then goes too", t.s.name)
	return nil
}

// calm stops a timer that may have started without our hearing of it. No line
// was sent yet: what it would go back to is what is there.
func (t *Transaction) calm(ctx context.Context, lost error) error {
	err := t.s.settle(ctx)
	if err == nil {
		err = t.configure(ctx)
	}
	if err == nil {
		_, err = t.s.say(ctx, comwareKeep, t.s.timeout) // refused where none runs
	}
	if err != nil {
		return fmt.Errorf("%w; a timer may run, which by %s leads back to what is there now: %w", lost, t.last.Format(time.TimeOnly), err)
	}
	t.armed = false
	return lost
}

// askDelay asks the switch for the unit of its timer, which manuals leave open.
// A question mark is answered before the line ends, perhaps together with the
// echo, and the line that is left then ends incomplete: what counts is that
// the help was heard.
func (t *Transaction) askDelay(ctx context.Context) (unit time.Duration, least, most int, err error) {
	line := comwareDelay + " ?"
	t.s.wire.forget()
	reply, err := t.s.say(ctx, line, t.s.timeout)
	if err != nil {
		return 0, 0, 0, err
	}
	m := comwareHelp.FindStringSubmatch(t.s.wire.said())
	if m == nil {
		return 0, 0, 0, t.s.unguarded(&RefusedError{Line: line, Reply: reply})
	}
	switch text := strings.ToLower(m[3]); {
	case strings.Contains(text, "minute"):
		unit = time.Minute
	case strings.Contains(text, "second"):
		unit = time.Second
	default:
		return 0, 0, 0, &GuardError{Err: fmt.Errorf("%s does not tell the unit of its timed revert: %s", t.s.name, strings.TrimSpace(m[0]))}
	}
	return unit, atoi(m[1]), atoi(m[2]), nil
}

// apply has nothing to put in force.
func (commitDelay) apply(context.Context, *Transaction) error { return nil }

func (commitDelay) keep(ctx context.Context, t *Transaction) error {
	if err := t.late(); err != nil {
		return err
	}
	return t.disarm(ctx)
}

func (t *Transaction) disarm(ctx context.Context) error {
	reply, err := t.s.say(ctx, comwareKeep, max(t.s.timeout, slowest))
	if err != nil {
		return err
	}
	if t.s.refused(reply) {
		return &RefusedError{Line: comwareKeep, Reply: reply}
	}
	t.armed = false
	return nil
}

// back sends the lines that lead back and disarms the timer once the switch
// reads as before. If they do not lead there, the timer does, which is set to
// run out as soon as the switch can.
func (c commitDelay) back(ctx context.Context, t *Transaction, undo Undo) error {
	if !t.armed {
		if !t.sent {
			return nil
		}
		return t.undo(ctx, undo)
	}
	err := c.hurry(ctx, t, undo)
	if err == nil {
		return nil
	}
	t.s.log("%s: undo did not lead back: %v", t.s.name, err)
	if late := t.shorten(ctx); late != nil {
		t.s.log("%s: the timer could not be shortened: %v", t.s.name, late)
	}
	if late := t.outlast(ctx, ""); late != nil {
		return errors.Join(err, late)
	}
	return nil // how it reads now is looked at through whatever login there is
}

// shorten arms the timer again, with the least that the switch takes: what it
// goes back to stays that of the first time.
func (t *Transaction) shorten(ctx context.Context) error {
	if time.Until(t.first) <= t.least {
		return nil
	}
	if err := t.s.settle(ctx); err != nil {
		return err
	}
	if err := t.configure(ctx); err != nil {
		return err
	}
	reply, err := t.s.say(ctx, t.leastLine, t.s.timeout)
	if err != nil {
		return err
	}
	if t.s.refused(reply) {
		return &RefusedError{Line: t.leastLine, Reply: reply}
	}
	t.first, t.last = time.Now().Add(t.least), time.Now().Add(t.least+margin)
	return nil
}

// hurry leads back without waiting for the timer.
func (commitDelay) hurry(ctx context.Context, t *Transaction, undo Undo) error {
	if t.sent {
		if err := t.undo(ctx, undo); err != nil {
			return err
		}
	}
	if err := t.restored(ctx); err != nil {
		return err
	}
	if err := t.late(); err != nil {
		return err
	}
	if err := t.configure(ctx); err != nil {
		return err
	}
	return t.disarm(ctx)
}
