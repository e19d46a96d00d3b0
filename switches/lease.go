package switches

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"weft/internal/hint"
	"weft/internal/pattern"
	"weft/internal/wait"
)

// A Guard says how a transaction is kept from harm.
type Guard struct {
	// Confirm is when the switch reverts by itself unless the transaction has
	// been committed; 0: no such guard, lines are in force directly.
	Confirm time.Duration

	// Owner and Who are written on the switch for as long as the transaction
	// lasts. Without an Owner nothing is written, and nobody else is heeded.
	Owner, Who string

	// Gone reports whether the holder of a lease is known to be gone. May be
	// nil.
	Gone func(Hold) bool

	// Mine reports whether a run that the switch belongs to is the one on behalf of
	// which it is changed; nil: none is.
	Mine func(RunMark) bool

	// Lines is about how many lines will be sent.
	Lines int

	// Wrote are the frame lengths among them that no name tells whose they are.
	Wrote []Wrote
}

// leaseTime is how long a lease lasts; it is not renewed.
const leaseTime = 30 * time.Minute

// unsafe are the characters that names on a switch do without.
var unsafe = pattern.New(`[^A-Za-z0-9_-]+`)

// who is the holder as it stands in names.
func (g Guard) who() string {
	s := unsafe.ReplaceAllString(g.Who, "-")
	return s[:min(len(s), 60)]
}

// hold takes the lease, and keeps a copy of what is there before the first line.
func (t *Transaction) hold(ctx context.Context) error {
	if t.guard.Owner == "" {
		return nil
	}
	m, err := t.lease(ctx)
	if err == nil {
		err = t.guard.admits(m)
	}
	if err != nil {
		return err
	}
	if err := t.keepBase(ctx, m); err != nil {
		return err
	}
	return t.markWrote(ctx, m)
}

// lease takes the lease, in place of one that has ended or whose holder is
// gone. Others may be about to do the same: whoever makes the directory has
// it, and the one who is refused looks again at who that is.
func (t *Transaction) lease(ctx context.Context) (Marks, error) {
	const tries = 3 // each time another weft came first, and has let go again
	for try := 1; ; try++ {
		m, err := t.tryHold(ctx)
		raced := t.held != "" || m.Hold != nil // else it is no matter of who comes first
		if err == nil || !raced || !errors.As(err, new(*RefusedError)) || try == tries {
			return m, err
		}
		if late := t.release(ctx); late != nil {
			return m, errors.Join(err, late)
		}
	}
}

// tryHold tries once. The error is a *RefusedError where a line was refused, be
// it because another weft was faster.
func (t *Transaction) tryHold(ctx context.Context) (Marks, error) {
	m, err := t.s.Marks(ctx)
	if err == nil && m.Now.IsZero() {
		m.Now, err = t.s.clock(ctx)
	}
	if err != nil {
		return m, err
	}
	for _, a := range m.Running() {
		return m, &HeldError{Armed: &a, Now: m.Now}
	}
	if h := m.Hold; h != nil && !t.over(*h, m.Now) {
		return m, &HeldError{Hold: h, Now: m.Now}
	}
	for _, a := range m.Armed {
		if a.Owner == t.guard.Owner { // it has fired
			if err := t.s.rmdir(ctx, a.name); err != nil {
				return m, fmt.Errorf("remove the mark of a revert that has fired: %w", err)
			}
		}
	}
	return m, t.claim(ctx, m)
}

// over reports whether a holder's time has come, or it is known to be gone.
func (t *Transaction) over(h Hold, now time.Time) bool {
	return h.Owner != "" && !now.Before(h.Until) || t.guard.Gone != nil && t.guard.Gone(h)
}

// claim makes the directories of the lease. The holder's name comes first: a
// lease always has one, also where weft is killed on the way.
func (t *Transaction) claim(ctx context.Context, m Marks) error {
	lasts := max(leaseTime, 3*t.Confirm)
	t.held = fmt.Sprintf("%s%d.%s.%s", markHeld, m.Now.Add(lasts).Unix(), t.guard.Owner, t.guard.who())
	var no *RefusedError
	if err := t.s.mkdir(ctx, t.held); err != nil {
		if errors.As(err, &no) {
			t.held = ""
		}
		return hint.Wrap(fmt.Errorf("take the lease: %w", err),
			"weft needs the right to make directories on the file system of the switch, and room for them")
	}
	gone := t.gone(m)
	if h := m.Hold; h != nil {
		if err := t.s.breakLease(ctx, gone); err != nil {
			return fmt.Errorf("end the lease of %s, which is gone: %w", h.Who, err)
		}
		gone = nil
	}
	begun := time.Now()
	t.claimed = true
	if err := t.s.mkdir(ctx, markLease); err != nil {
		t.claimed = !errors.As(err, &no)
		return fmt.Errorf("take the lease: %w", err)
	}
	t.leased, t.pace = true, time.Since(begun)
	for _, name := range gone {
		if err := t.s.rmdir(ctx, name); err != nil {
			return fmt.Errorf("remove what a holder of the lease has left: %w", err)
		}
	}
	return nil
}

// gone are the names of holders who are: of the lease, or killed before they had
// made it, or when they had removed it. Who is just about either removes its name
// itself.
func (t *Transaction) gone(m Marks) []string {
	return slices.DeleteFunc(slices.Clone(m.holds), func(name string) bool {
		h, ok := parseHold(name)
		return ok && !t.over(h, m.Now)
	})
}

// keepBase copies what is there before the owner's first line ever. A transaction
// that is not proven leaves no line, and so no copy: an operator may change the switch
// before the next one, which copies what is there then.
func (t *Transaction) keepBase(ctx context.Context, m Marks) error {
	file := baseFile(t.guard.Owner)
	if m.Base(t.guard.Owner) {
		return nil
	}
	t.based = true
	err := t.s.copyRunning(ctx, file)
	if err == nil {
		err = t.s.whole(ctx, file)
	}
	if err != nil {
		return hint.Wrap(fmt.Errorf("keep a copy of the configuration in %s before the first change: %w", file, err),
			"nothing is changed without that copy, which says what was there before weft; is there room on the file system?")
	}
	t.s.log("%s: what was there before weft is kept in %s", t.s.name, file)
	return nil
}

// whole compares a copy of the running configuration with it, as far as weft
// reads it: one that was cut short would later be taken for what was there
// before.
func (s *Session) whole(ctx context.Context, file string) error {
	cmd := fmt.Sprintf(s.os.Files.Print, file)
	out, err := s.Show(ctx, []string{cmd, s.dialect.Running})
	if err != nil {
		return err
	}
	kept, err := s.os.Parse(map[string]string{s.dialect.Running: out[cmd]})
	if err != nil {
		return err
	}
	now, err := s.os.Parse(map[string]string{s.dialect.Running: out[s.dialect.Running]})
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(kept.read.Global, now.read.Global) || !reflect.DeepEqual(kept.read.Port, now.read.Port) {
		return errors.New("the switch says that it was written, and it does not read as the running configuration")
	}
	return nil
}

// Enough refuses work that would take more than a part of the time that the switch
// waits. What a plan may take is less than what a transaction may, so that a switch
// which is a little slower by then refuses nothing that was planned.
func (t *Transaction) Enough(part, of time.Duration) error {
	if t.pace <= 0 || time.Duration(t.guard.Lines) <= t.Confirm/of*part/t.pace {
		return nil
	}
	work := time.Duration(t.guard.Lines) * t.pace
	return hint.Wrap(fmt.Errorf("%d lines at %s each take about %s, more than %d/%d of the %s after which the switch reverts by itself",
		t.guard.Lines, t.pace.Round(time.Millisecond), work.Round(time.Second), part, of, t.Confirm),
		"a longer commit_confirm gives the switch time")
}

// mark writes on the switch that a timed revert is about to run; through s,
// which must not be configuring.
func (t *Transaction) mark(ctx context.Context, s *Session) error {
	if t.guard.Owner == "" {
		return nil
	}
	now, err := s.clock(ctx)
	if err != nil {
		return err
	}
	t.ahead = time.Until(now)
	t.markName = fmt.Sprintf("%s%d.%s.%s.%s", markArmed, now.Add(t.Confirm).Unix(), fingerprint(t.before), t.guard.Owner, t.guard.who())
	if err := s.mkdir(ctx, t.markName); err != nil {
		if errors.As(err, new(*RefusedError)) {
			t.markName = ""
		}
		return fmt.Errorf("mark that a timed revert will run: %w", err)
	}
	return nil
}

// release reverts what the transaction has written beside the
// configuration. What is left is no harm: a lease ends by itself, and a mark
// whose time has passed says what has happened.
func (t *Transaction) release(ctx context.Context) error {
	if t.guard.Owner == "" {
		return nil
	}
	return t.s.again(ctx, func() error { return t.letGo(ctx) })
}

// letGo removes of all that only what is still there: the answer about some of
// it may have been lost. The lease goes before the name of its holder, so that
// nobody finds one without the other.
func (t *Transaction) letGo(ctx context.Context) error {
	m, err := t.s.listing(ctx)
	if err != nil {
		return err
	}
	if t.based && m.Base(t.guard.Owner) {
		if _, err := t.s.agree(ctx, fmt.Sprintf(t.s.os.Files.Delete, baseFile(t.guard.Owner))); err != nil {
			return err
		}
	}
	names := append(t.drop, t.markName, t.held)
	if t.leased || t.claimed && len(m.holds) == 1 && m.holds[0] == t.held {
		names = append(t.drop, t.markName, markLease, t.held)
	}
	for _, name := range names {
		if name != "" && slices.Contains(m.files, name) {
			if err := t.s.rmdir(ctx, name); err != nil {
				return err
			}
		}
	}
	t.markName, t.held, t.leased, t.claimed, t.based, t.drop = "", "", false, false, false, nil
	return nil
}

// BreakLease ends the lease that another holds, if it is still that one.
func (s *Session) BreakLease(ctx context.Context, h Hold) error {
	m, err := s.Marks(ctx)
	if err != nil {
		return err
	}
	if m.Hold == nil || *m.Hold != h {
		return errors.New("it has another holder by now")
	}
	return s.breakLease(ctx, m.holds)
}

// breakLease removes a lease and the names of its holders, those first: of two who
// try one is refused.
func (s *Session) breakLease(ctx context.Context, holds []string) error {
	for _, name := range holds {
		if err := s.rmdir(ctx, name); err != nil {
			return err
		}
	}
	return s.rmdir(ctx, markLease)
}

// Await waits until no timed revert of the owner runs any more, by the clock
// of the switch.
func (s *Session) Await(ctx context.Context, owner string) error {
	said := false
	for {
		m, err := s.Marks(ctx)
		if err != nil {
			return err
		}
		mine := slices.DeleteFunc(m.Running(), func(a Armed) bool { return a.Owner != owner })
		if len(mine) == 0 {
			return nil
		}
		due := mine[0].Due
		if !said {
			s.log("%s reverts at %s, in %s, what an apply that ended without a proof has changed: waiting for that",
				s.name, due.Format(time.TimeOnly), due.Sub(m.Now).Round(time.Second))
			said = true
		}
		if !wait.For(ctx, min(awaitPause, max(due.Add(margin).Sub(m.Now), 100*time.Millisecond))) {
			return fmt.Errorf("%s reverts by itself at %s: %w", s.name, due.Format(time.TimeOnly), ctx.Err())
		}
	}
}

// awaitPause is how often a switch is asked for its time while it is about to
// revert: an operator may set its clock.
const awaitPause = 2 * time.Second
