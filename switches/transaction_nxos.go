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

// dualStage is NX-OS two-stage commit. Lines are kept aside until "commit
// confirmed": the switch verifies them all, applies them, and rolls back by
// itself unless "commit" follows in time.
type dualStage struct{}

const (
	nxosDual     = "configure dual-stage"
	nxosDualMode = "(config-dual-stage"

	// What a switch says, word by word as one printed it.
	nxosVerified   = "Verification Succeeded"
	nxosRolledBack = "Configuration committed by rollback"
	nxosFired      = "Confirm commit Timer expired"
)

var nxosNotVerified = regexp.MustCompile(`(?im)^failed\. err=|commit verification failed`)

// probe enters the mode and leaves it again, with nothing to commit.
func (d dualStage) probe(ctx context.Context, t *Transaction) error {
	if err := d.begin(ctx, t); err != nil {
		return err
	}
	return d.back(ctx, t, nil)
}

func (dualStage) begin(ctx context.Context, t *Transaction) error {
	if t.confirm > 65535*time.Second {
		return &GuardError{Err: fmt.Errorf("a timed revert after %s: nxos takes at most 65535 seconds", t.confirm)}
	}
	reply, err := t.s.say(ctx, nxosDual, t.s.timeout)
	if err == nil && !strings.Contains(t.s.prompt, nxosDualMode) {
		err = &RefusedError{Line: nxosDual, Reply: reply}
	}
	if err = t.s.unguarded(err); errors.As(err, new(*GuardError)) {
		return hint.Wrap(err, `two-stage commit needs NX-OS 10, and no other timed revert can be had here (switches/nxos.md says why). With commit_confirm = "none" weft itself takes its lines back when something fails, as long as it reaches the switch; have its console at hand`)
	}
	return err
}

func (dualStage) apply(ctx context.Context, t *Transaction) error {
	// From within an interface or a policy, up to where commit is known.
	for depth := 0; !strings.Contains(t.s.prompt, nxosDualMode+")"); depth++ {
		if depth > 4 || t.s.exec.MatchString(t.s.prompt) {
			return fmt.Errorf("%s is not in two-stage configuration: the prompt is %q", t.s.name, t.s.prompt)
		}
		if _, err := t.s.say(ctx, "exit", t.s.timeout); err != nil {
			return err
		}
	}
	if err := t.markAside(ctx); err != nil {
		return err
	}
	line := fmt.Sprintf("commit confirmed %d", int((t.confirm+time.Second-1)/time.Second))
	reply, err := t.arm(ctx, line)
	if err != nil {
		return err
	}
	if nxosNotVerified.MatchString(reply) || !strings.Contains(reply, nxosVerified) && t.s.refused(reply) {
		t.armed = false // nothing was applied
		return &RefusedError{Line: line, Reply: reply}
	}
	if !strings.Contains(reply, nxosVerified) || t.s.refused(reply) {
		return &RefusedError{Line: line, Reply: reply}
	}
	return nil
}

// markAside marks through a login of its own: what is kept aside in this one
// would go if it left its mode.
func (t *Transaction) markAside(ctx context.Context) error {
	if t.guard.Owner == "" {
		return nil
	}
	aside, err := Open(ctx, t.s.name, t.s.os, t.s.dial, t.s.timeout)
	if err != nil {
		return fmt.Errorf("a second login: %w", err)
	}
	defer aside.Close()
	return t.mark(ctx, aside)
}

func (dualStage) keep(ctx context.Context, t *Transaction) error {
	if err := t.late(); err != nil {
		return err
	}
	reply, err := t.s.say(ctx, "commit", max(t.s.timeout, slowest))
	if err != nil {
		return err
	}
	if t.s.refused(reply) {
		return &RefusedError{Line: "commit", Reply: reply}
	}
	if t.s.wire.hears(nxosFired) || t.s.wire.hears(nxosRolledBack) {
		return fmt.Errorf("%s has reverted by itself before it was told to keep the changes", t.s.name)
	}
	return nil
}

// back drops lines that were never applied; applied ones it leaves to the
// timer, the only way back out of a pending confirmation that was ever seen to
// work.
func (dualStage) back(ctx context.Context, t *Transaction, _ Undo) error {
	if t.armed {
		return t.outlast(ctx, nxosRolledBack)
	}
	if !t.s.wire.IsAlive() || t.s.exec.MatchString(t.s.prompt) {
		return nil // what was kept aside went with the session
	}
	reply, err := t.s.say(ctx, "abort", t.s.timeout)
	if err != nil && !t.s.wire.IsAlive() && ctx.Err() == nil {
		return nil // so it did now
	}
	if err != nil {
		return err
	}
	if t.s.refused(reply) || !t.s.exec.MatchString(t.s.prompt) {
		return &RefusedError{Line: "abort", Reply: reply}
	}
	return nil
}

// settle gets back to a prompt after the switch has spoken unasked.
func (s *Session) settle(ctx context.Context) error {
	if !s.wire.IsAlive() {
		return s.login(ctx)
	}
	return s.leave(ctx)
}
