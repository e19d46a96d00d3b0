package comware

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/pattern"
	"weft/switches"
)

// commitDelay is "configuration commit delay" of Comware: the switch goes back
// to what it was when the command was given, unless "configuration commit"
// follows in time. Lines are in force as they are sent. There is one timer in
// the switch, and what others change meanwhile goes too.
type commitDelay struct{}

// shortest is the shortest timed revert of a switch, which has told it.
type shortest struct {
	after time.Duration
	line  string // that arms it
}

const (
	delayLine  = "configuration commit delay"
	commitLine = "configuration commit"
)

// Help for a number: "  INTEGER<1-65535>  Delay time in minutes".
var help = pattern.New(`(?i)<(\d+)-(\d+)>(.*)`)

// Probe asks for the timer and leaves again.
func (c commitDelay) Probe(ctx context.Context, t *switches.Transaction) error {
	if _, err := c.delay(ctx, t); err != nil {
		return err
	}
	if err := t.Enough(1, 2); err != nil {
		return &switches.GuardError{Err: err, Lack: "too many lines for its timed revert"}
	}
	return t.Leave(ctx)
}

// delay is the timed revert in the unit of the switch, which it is asked for
// where lines are in force at once.
func (c commitDelay) delay(ctx context.Context, t *switches.Transaction) (n int, err error) {
	if err := t.Configure(ctx); err != nil {
		return 0, err
	}
	unit, least, most, err := c.askDelay(ctx, t)
	if errors.As(err, new(*switches.GuardError)) {
		return 0, hint.Wrap(err, `without a timed revert that is understood weft changes nothing here: a job of its scheduler is none. With commit_confirm = "none" weft itself takes its lines back when something fails, as long as it reaches the switch; have its console at hand`)
	}
	if err != nil {
		return 0, err
	}
	n = int((t.Confirm + unit - 1) / unit)
	if n < least || n > most {
		return 0, &switches.GuardError{Err: fmt.Errorf("a timed revert after %s: %s takes %d to %d times %s", t.Confirm, t.Switch(), least, most, unit)}
	}
	t.Confirm, t.Own = time.Duration(n)*unit, shortest{time.Duration(least) * unit, fmt.Sprintf("%s %d", delayLine, least)}
	return n, nil
}

func (c commitDelay) Begin(ctx context.Context, t *switches.Transaction) error {
	n, err := c.delay(ctx, t)
	if err != nil {
		return err
	}
	if err := t.Enough(3, 4); err != nil {
		return err
	}
	if t.Owned() {
		if err := t.Leave(ctx); err != nil {
			return err
		}
		if err := t.Mark(ctx); err != nil {
			return err
		}
		if err := t.Configure(ctx); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%s %d", delayLine, n)
	reply, err := t.Arm(ctx, line)
	if err != nil {
		return c.calm(ctx, t, err)
	}
	if t.Refused(reply) {
		return switches.NewRefusedError(line, reply)
	}
	if reply != "" {
		t.Log("%s: %s", t.Switch(), reply)
	}
	t.Log("%s: changes by other users until then are lost as well", t.Switch())
	return nil
}

// calm stops a timer that may have started without our hearing of it. No line
// was sent yet: what it would go back to is what is there.
func (c commitDelay) calm(ctx context.Context, t *switches.Transaction, lost error) error {
	err := t.Settle(ctx)
	if err == nil {
		err = t.Configure(ctx)
	}
	if err == nil {
		_, err = t.Say(ctx, commitLine) // refused where none runs
	}
	if err != nil {
		_, last := t.Due()
		return fmt.Errorf("%w; a timer may run, which by %s leads back to what is there now: %w", lost, last.Format(time.TimeOnly), err)
	}
	t.Disarmed()
	return lost
}

// askDelay asks the switch for the unit of its timer, which manuals leave open.
// A question mark is answered before the line ends, perhaps together with the
// echo, and the line that is left then ends incomplete: what counts is that
// the help was heard.
func (c commitDelay) askDelay(ctx context.Context, t *switches.Transaction) (unit time.Duration, least, most int, err error) {
	line := delayLine + " ?"
	t.Forget()
	reply, err := t.Say(ctx, line)
	if err != nil {
		return 0, 0, 0, err
	}
	m := help.FindStringSubmatch(t.Heard())
	if m == nil {
		return 0, 0, 0, t.Unguarded(switches.NewRefusedError(line, reply))
	}
	switch text := strings.ToLower(m[3]); {
	case strings.Contains(text, "minute"):
		unit = time.Minute
	case strings.Contains(text, "second"):
		unit = time.Second
	default:
		return 0, 0, 0, &switches.GuardError{Err: fmt.Errorf("%s does not tell the unit of its timed revert: %s", t.Switch(), strings.TrimSpace(m[0]))}
	}
	return unit, switches.Number(m[1]), switches.Number(m[2]), nil
}

// Apply has nothing to put in force.
func (c commitDelay) Apply(context.Context, *switches.Transaction) error { return nil }

func (c commitDelay) Keep(ctx context.Context, t *switches.Transaction) error {
	if err := t.Late(); err != nil {
		return err
	}
	return c.disarm(ctx, t)
}

func (c commitDelay) disarm(ctx context.Context, t *switches.Transaction) error {
	reply, err := t.SayPatiently(ctx, commitLine)
	if err != nil {
		return err
	}
	if t.Refused(reply) {
		return switches.NewRefusedError(commitLine, reply)
	}
	t.Disarmed()
	return nil
}

// Back sends the lines that lead back and disarms the timer once the switch
// reads as before. If they do not lead there, the timer does, which is set to
// run out as soon as the switch can.
func (c commitDelay) Back(ctx context.Context, t *switches.Transaction, undo switches.Undo) error {
	if !t.Armed() {
		if !t.Sent() {
			return nil
		}
		return t.Undo(ctx, undo)
	}
	err := c.hurry(ctx, t, undo)
	if err == nil {
		return nil
	}
	t.Log("%s: undo did not lead back: %v", t.Switch(), err)
	if late := c.shorten(ctx, t); late != nil {
		t.Log("%s: the timer could not be shortened: %v", t.Switch(), late)
	}
	if late := t.Outlast(ctx, ""); late != nil {
		return errors.Join(err, late)
	}
	return nil // how it reads now is looked at through whatever login there is
}

// shorten arms the timer again, with the least that the switch takes: what it
// goes back to stays that of the first time.
func (c commitDelay) shorten(ctx context.Context, t *switches.Transaction) error {
	least, known := t.Own.(shortest)
	if first, _ := t.Due(); !known || time.Until(first) <= least.after {
		return nil
	}
	if err := t.Settle(ctx); err != nil {
		return err
	}
	if err := t.Configure(ctx); err != nil {
		return err
	}
	reply, err := t.Say(ctx, least.line)
	if err != nil {
		return err
	}
	if t.Refused(reply) {
		return switches.NewRefusedError(least.line, reply)
	}
	t.Rearmed(least.after)
	return nil
}

// hurry leads back without waiting for the timer.
func (c commitDelay) hurry(ctx context.Context, t *switches.Transaction, undo switches.Undo) error {
	if t.Sent() {
		if err := t.Undo(ctx, undo); err != nil {
			return err
		}
	}
	if err := t.Restored(ctx); err != nil {
		return err
	}
	if err := t.Late(); err != nil {
		return err
	}
	if err := t.Configure(ctx); err != nil {
		return err
	}
	return c.disarm(ctx, t)
}
