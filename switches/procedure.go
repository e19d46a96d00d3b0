package switches

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Procedure is how an OS guards lines.
type Procedure interface {
	// Probe finds out whether the switch has what Begin needs, and changes
	// nothing.
	Probe(ctx context.Context, t *Transaction) error
	// Begin gets ready for lines. After an error nothing is left armed.
	Begin(ctx context.Context, t *Transaction) error
	// Apply puts the lines in force, if sending them has not done so yet, with
	// the revert armed.
	Apply(ctx context.Context, t *Transaction) error
	// Keep disarms the revert.
	Keep(ctx context.Context, t *Transaction) error
	// Back takes everything back.
	Back(ctx context.Context, t *Transaction, undo Undo) error
}

// What follows is what a Procedure speaks, and arms its revert, through.

// Switch is the name of the switch, for messages.
func (t *Transaction) Switch() string { return t.s.name }

// Say types one line and returns what came back, without echo and prompts.
func (t *Transaction) Say(ctx context.Context, line string) (string, error) {
	return t.s.say(ctx, line, t.s.timeout)
}

// SayPatiently is Say for a line that takes as long as a commit may.
func (t *Transaction) SayPatiently(ctx context.Context, line string) (string, error) {
	return t.s.say(ctx, line, max(t.s.timeout, slowest))
}

// Log says what is worth knowing while something takes long.
func (t *Transaction) Log(format string, args ...any) { t.s.log(format, args...) }

// Prompt is what the switch has printed as its prompt last.
func (t *Transaction) Prompt() string { return t.s.prompt }

// Left reports whether the prompt is where commands are run: no mode of
// configuration is entered.
func (t *Transaction) Left() bool { return t.s.exec.MatchString(t.s.prompt) }

// Leave returns to where commands are run.
func (t *Transaction) Leave(ctx context.Context) error { return t.s.leave(ctx) }

// Settle gets back to where commands are run, through another login if need be.
func (t *Transaction) Settle(ctx context.Context) error { return t.s.settle(ctx) }

// Alive reports whether the login lasts.
func (t *Transaction) Alive() bool { return t.s.wire.IsAlive() }

// Refused reports whether a reply is known to be a refusal.
func (t *Transaction) Refused(reply string) bool { return t.s.refused(reply) }

// Unguarded tells a refusal of an operator who may not type a line from that of a
// switch which has no such line.
func (t *Transaction) Unguarded(err error) error {
	var no *RefusedError
	if !errors.As(err, &no) || !t.s.absent.MatchString(no.Reply) {
		return err
	}
	return &GuardError{Err: err}
}

// Forget drops what was heard so far.
func (t *Transaction) Forget() { t.s.wire.forget() }

// Heard is all that the switch has said since Forget, also unasked.
func (t *Transaction) Heard() string { return t.s.wire.said() }

// Owned reports whether the transaction writes on the switch whose it is.
func (t *Transaction) Owned() bool { return t.guard.Owner != "" }

// Mark writes on the switch that a timed revert is about to run; the prompt is where
// commands are run.
func (t *Transaction) Mark(ctx context.Context) error { return t.mark(ctx, t.s) }

// MarkAside is Mark through a login of its own: what is kept aside in this one
// would go if it left its mode.
func (t *Transaction) MarkAside(ctx context.Context) error {
	if !t.Owned() {
		return nil
	}
	aside, err := Open(ctx, t.s.name, t.s.os, t.s.dial, t.s.timeout)
	if err != nil {
		return fmt.Errorf("a second login: %w", err)
	}
	defer aside.Close()
	return t.mark(ctx, aside)
}

// Sent reports whether a line was typed.
func (t *Transaction) Sent() bool { return t.sent }

// Armed reports whether the switch reverts by itself until told otherwise.
func (t *Transaction) Armed() bool { return t.armed }

// Disarmed says that it does not, any more.
func (t *Transaction) Disarmed() { t.armed = false }

// Arm types the line that starts the timed revert. From before it is typed
// until the switch has answered the timer may start at any moment.
func (t *Transaction) Arm(ctx context.Context, line string) (string, error) {
	t.s.wire.forget()
	t.armed, t.first = true, time.Now().Add(t.Confirm)
	reply, err := t.s.say(ctx, line, max(t.s.timeout, slowest))
	t.last = time.Now().Add(t.Confirm + margin)
	if err != nil {
		return "", err
	}
	t.s.log("%s reverts by itself at %s unless confirmed (%s)", t.s.name, t.first.Format(time.TimeOnly), line)
	return reply, nil
}

// Rearmed says that the timer runs anew, for another time.
func (t *Transaction) Rearmed(after time.Duration) {
	t.first = time.Now().Add(after)
	t.last = t.first.Add(margin)
}

// Due is when the switch may revert at the earliest, and has reverted at the latest.
func (t *Transaction) Due() (first, last time.Time) { return t.first, t.last }

// Late reports a revert that has fired, or may fire before we are heard.
func (t *Transaction) Late() error {
	if time.Until(t.first) < margin {
		return fmt.Errorf("%s: the timed revert of %s has fired or is about to; not confirmed", t.s.name, t.Confirm)
	}
	return nil
}

// Outlast waits until the switch has reverted by itself: until it says so,
// until its time is up, or, where nobody would hear it say so, until its own
// clock shows that.
func (t *Transaction) Outlast(ctx context.Context, said string) error {
	t.s.log("%s: waiting until it reverts by itself, at the latest at %s", t.s.name, t.last.Format(time.TimeOnly))
	listens := said != "" && t.s.wire.IsAlive()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	asked := time.Time{}
	for time.Now().Before(t.last) && (said == "" || !t.s.wire.hears(said)) {
		if !listens && time.Since(asked) > awaitPause {
			if t.passed(ctx) {
				break
			}
			asked = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s will revert by itself at %s: %w", t.s.name, t.last.Format(time.TimeOnly), ctx.Err())
		case <-tick.C:
		}
	}
	t.armed = false
	return nil
}
