package switches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Transaction is lines that a switch takes together, guarded by a revert of
// its own where it has one: begun, sent, proven by a second login, kept.
type Transaction struct {
	Confirm time.Duration // after which the switch reverts by itself; a Procedure may round it
	Own     any           // what only the Procedure knows of

	s      *Session
	how    Procedure
	guard  Guard
	before string    // the running configuration, as pin writes it
	sent   bool      // at least one line was typed
	armed  bool      // the switch reverts by itself until told otherwise
	first  time.Time // when it may revert, at the earliest
	last   time.Time // when it must have reverted, at the latest

	ahead time.Duration // of the clock of the switch; known once markName is

	pace     time.Duration // what a line takes, about
	claimed  bool          // the lease was asked for, and may be ours without our knowing
	leased   bool          // it is ours
	based    bool          // the copy of what was there before is of this transaction, and goes with it
	drop     []string      // marks of what was written that go with the lease: its own, until it is proven
	stale    []string      // those that say nothing any more once it is
	held     string        // name of the directory that says who holds the lease
	markName string        // of that which says that a timed revert runs
}

// An Undo returns lines that lead back from what is there now.
type Undo func(context.Context) ([]string, error)

// Begin prepares a transaction that the switch reverts by itself unless it is
// committed in time: it takes the lease, keeps what is there before the first
// line ever, and gets ready for lines. After an error nothing is left armed.
func (s *Session) Begin(ctx context.Context, g Guard) (*Transaction, error) {
	t := &Transaction{s: s, guard: g, Confirm: g.Confirm}
	var err error
	if t.how, err = s.procedure(g.Confirm); err != nil {
		return nil, err
	}
	err = t.hold(ctx)
	if err == nil {
		t.before, err = s.pin(ctx)
	}
	if err == nil {
		err = t.how.Begin(ctx, t)
	}
	if err == nil {
		return t, nil
	}
	if ctx.Err() == nil && t.held != "" {
		err = errors.Join(err, t.release(ctx))
	}
	return nil, err
}

// procedure is how this OS guards lines that are to be reverted after a time.
func (s *Session) procedure(confirm time.Duration) (Procedure, error) {
	switch {
	case confirm == 0:
		return direct{}, nil
	case confirm < s.dialect.Confirm:
		return nil, &GuardError{Err: fmt.Errorf("a timed revert after %s: %s takes at least %s", confirm, s.os.Name, s.dialect.Confirm)}
	}
	if err := s.os.Lacks(Guarding); err != nil {
		return nil, &GuardError{Err: err}
	}
	return s.os.Guard, nil
}

// A GuardError says that a switch cannot be changed safely: it has no timed revert
// that weft could arm, or lacks what that needs.
type GuardError struct {
	Err  error
	Lack string // what it lacks; "": the timed revert
}

func (e *GuardError) Error() string {
	return cmp.Or(e.Lack, "no timed revert that weft can arm") + ": " + e.Err.Error()
}

// Unwrap returns why.
func (e *GuardError) Unwrap() error { return e.Err }

// Probe finds out whether the switch has what Begin would need: its timed revert,
// time for so many lines within it, and what marks are kept with. It changes
// nothing. A *GuardError says that it lacks something; after a *RefusedError, or
// where the session is lost, that is not known.
func (s *Session) Probe(ctx context.Context, g Guard) error {
	how, err := s.procedure(g.Confirm)
	if err == nil {
		err = s.os.Lacks(Filing) // where the lease is, and what was there before
	}
	if err == nil {
		err = s.settle(ctx)
	}
	if err == nil && g.Owner != "" {
		err = s.probeMarks(ctx)
	}
	if err != nil {
		return err
	}
	return how.Probe(ctx, &Transaction{s: s, how: how, guard: g, Confirm: g.Confirm})
}

// Send types configuration lines and stops at the first that the switch
// refuses or says anything unforeseen about, with a *RefusedError.
func (t *Transaction) Send(ctx context.Context, lines []string) error {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		t.sent = true
		reply, err := t.s.say(ctx, line, t.s.timeout)
		if err != nil {
			return err
		}
		if no := t.s.objection(reply); no != "" {
			return NewRefusedError(line, no)
		}
		if t.s.exec.MatchString(t.s.prompt) {
			return fmt.Errorf("%s left configuration after %q", t.s.name, Redact(line))
		}
	}
	return nil
}

// Commit puts the lines in force with the revert armed, has prove look at the
// result through a second, fresh login while the first stays open, and only
// then disarms the revert. It does not save. After an error the revert is
// still armed, or nothing was applied: call Abort.
func (t *Transaction) Commit(ctx context.Context, prove func(context.Context, *Session) error) error {
	if err := t.how.Apply(ctx, t); err != nil {
		return err
	}
	if err := t.prove(ctx, prove); err != nil {
		return fmt.Errorf("proof by a second login: %w", err)
	}
	if err := t.how.Keep(ctx, t); err != nil {
		if t.s.wire.IsAlive() || ctx.Err() != nil {
			return err
		}
		if err := t.unheard(ctx, prove, err); err != nil {
			return err
		}
	}
	t.armed, t.based, t.drop = false, false, t.stale
	t.remember(ctx)
	return nil
}

// unheard finds out whether a switch whose answer was lost has been told to
// keep the changes: what it reads when the time of its revert is over tells.
func (t *Transaction) unheard(ctx context.Context, prove func(context.Context, *Session) error, lost error) error {
	if err := t.Outlast(ctx, ""); err != nil {
		return errors.Join(lost, err)
	}
	if err := t.prove(ctx, prove); err != nil {
		return fmt.Errorf("%w; once the time of its revert was over: %w", lost, err)
	}
	t.s.log("%s: its answer was lost (%v), but it has kept the changes: a new login proves it", t.s.name, lost)
	return nil
}

// remember keeps a copy of what is proven and releases the lease. The changes
// are there to stay: what cannot be written here is only said.
func (t *Transaction) remember(ctx context.Context) {
	if t.guard.Owner == "" {
		return
	}
	err := t.s.again(ctx, func() error { return t.s.copyRunning(ctx, leftFile(t.guard.Owner)) })
	if err = errors.Join(err, t.release(ctx)); err != nil {
		t.s.log("%s: the changes are proven and stay, but not all that weft keeps on the switch could be written: %v", t.s.name, err)
	}
}

func (t *Transaction) prove(ctx context.Context, look func(context.Context, *Session) error) error {
	fresh, err := Open(ctx, t.s.name, t.s.os, t.s.dial, t.s.timeout)
	if err != nil {
		return err
	}
	defer fresh.Close()
	return look(ctx, fresh)
}

// Abort reverts what the transaction did. undo gives lines that lead back;
// they are used where lines are in force as they are sent, and left aside where
// the switch takes everything back itself. It returns nil when the running
// configuration reads as before the transaction and no revert is pending. It
// may have to wait for the switch to revert by itself, up to the time given to
// Begin.
func (t *Transaction) Abort(ctx context.Context, undo Undo) error {
	if err := t.how.Back(ctx, t, undo); err != nil {
		return err
	}
	if err := t.Restored(ctx); err != nil {
		return err
	}
	if err := t.release(ctx); err != nil {
		t.s.log("%s: it reads as before; its lease could not be released: %v", t.s.name, err)
	}
	return nil
}

// Restored compares the running configuration with that before the
// transaction.
func (t *Transaction) Restored(ctx context.Context) error {
	now := ""
	err := t.s.again(ctx, func() (err error) {
		now, err = t.s.pin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if now == t.before {
		return nil
	}
	was, is := strings.Split(t.before, "\n"), strings.Split(now, "\n")
	var diff []string
	for _, l := range was {
		if !slices.Contains(is, l) {
			diff = append(diff, "missing: "+l)
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			diff = append(diff, "added: "+l)
		}
	}
	if len(diff) > 5 {
		diff = append(diff[:5], fmt.Sprintf("and %d more", len(diff)-5))
	}
	return fmt.Errorf("%s does not read as before: %s", t.s.name, strings.Join(diff, "; "))
}

// pin reads the running configuration in a form that does not depend on the
// order of its sections: each line after the headers that lead to it.
func (s *Session) pin(ctx context.Context) (string, error) {
	cmd := s.dialect.Running
	out, err := s.Show(ctx, []string{cmd})
	if err != nil {
		return "", err
	}
	return strings.Join(flatten(parseTree(out[cmd])), "\n"), nil
}

// margin is what a confirmation may take on its way.
const margin = 2 * time.Second

// passed reports whether the time of the revert is over by the clock of the
// switch. A switch that cannot be asked may yet be waiting.
func (t *Transaction) passed(ctx context.Context) bool {
	if t.markName == "" || t.s.settle(ctx) != nil {
		return false
	}
	now, err := t.s.clock(ctx)
	return err == nil && !now.Before(t.last.Add(t.ahead))
}

// direct is configuration without a guard: each line is in force at once.
type direct struct{}

func (direct) Probe(context.Context, *Transaction) error { return nil }

func (direct) Begin(ctx context.Context, t *Transaction) error { return t.Configure(ctx) }

// Configure enters the mode in which lines are in force at once.
func (t *Transaction) Configure(ctx context.Context) error {
	line := t.s.net.PrivilegeLevels["configuration"].Escalate
	begun := time.Now()
	reply, err := t.s.say(ctx, line, t.s.timeout)
	if err != nil {
		return err
	}
	t.pace = cmp.Or(t.pace, time.Since(begun))
	if no := t.s.objection(reply); no != "" || t.s.exec.MatchString(t.s.prompt) {
		return NewRefusedError(line, reply)
	}
	return nil
}

func (direct) Apply(ctx context.Context, t *Transaction) error { return t.s.leave(ctx) }

func (direct) Keep(context.Context, *Transaction) error { return nil }

func (direct) Back(ctx context.Context, t *Transaction, undo Undo) error {
	return t.Undo(ctx, undo)
}

// Undo sends lines that lead back, from wherever the session is.
func (t *Transaction) Undo(ctx context.Context, undo Undo) error {
	lines, err := undo(ctx)
	if err != nil || len(lines) == 0 {
		return err
	}
	if err := t.s.settle(ctx); err != nil {
		return err
	}
	if err := t.Configure(ctx); err != nil {
		return err
	}
	return t.Send(ctx, lines)
}
