package nxos

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

// dualStage is NX-OS two-stage commit. Lines are kept aside until "commit
// confirmed": the switch verifies them all, applies them, and rolls back by
// itself unless "commit" follows in time.
type dualStage struct{}

const (
	dual     = "configure dual-stage"
	dualMode = "(config-dual-stage"

	// The longest timed revert, in seconds; see Confirm of the dialect.
	longest = 65535

	// What a switch says, word by word as one printed it.
	verified   = "Verification Succeeded"
	rolledBack = "Configuration committed by rollback"
	fired      = "Confirm commit Timer expired"
)

var notVerified = pattern.New(`(?im)^failed\. err=|commit verification failed`)

// Probe enters the mode and leaves it again, with nothing to commit.
func (d dualStage) Probe(ctx context.Context, t *switches.Transaction) error {
	if err := d.Begin(ctx, t); err != nil {
		return err
	}
	return d.Back(ctx, t, nil)
}

func (dualStage) Begin(ctx context.Context, t *switches.Transaction) error {
	if t.Confirm > longest*time.Second {
		return &switches.GuardError{Err: fmt.Errorf("a timed revert after %s: nxos takes at most %d seconds", t.Confirm, longest)}
	}
	reply, err := t.Say(ctx, dual)
	if err == nil && !strings.Contains(t.Prompt(), dualMode) {
		err = switches.NewRefusedError(dual, reply)
	}
	if err = t.Unguarded(err); errors.As(err, new(*switches.GuardError)) {
		return hint.Wrap(err, `two-stage commit needs NX-OS 10, and no other timed revert can be had here. With commit_confirm = "none" weft itself takes its lines back when something fails, as long as it reaches the switch; have its console at hand`)
	}
	return err
}

func (dualStage) Apply(ctx context.Context, t *switches.Transaction) error {
	// From within an interface or a policy, up to where commit is known.
	for depth := 0; !strings.Contains(t.Prompt(), dualMode+")"); depth++ {
		if depth > 4 || t.Left() {
			return fmt.Errorf("%s is not in two-stage configuration: the prompt is %q", t.Switch(), t.Prompt())
		}
		if _, err := t.Say(ctx, "exit"); err != nil {
			return err
		}
	}
	if err := t.MarkAside(ctx); err != nil {
		return err
	}
	line := fmt.Sprintf("commit confirmed %d", int((t.Confirm+time.Second-1)/time.Second))
	reply, err := t.Arm(ctx, line)
	if err != nil {
		return err
	}
	if notVerified.MatchString(reply) || !strings.Contains(reply, verified) && t.Refused(reply) {
		t.Disarmed() // nothing was applied
		return switches.NewRefusedError(line, reply)
	}
	if !strings.Contains(reply, verified) || t.Refused(reply) {
		return switches.NewRefusedError(line, reply)
	}
	return nil
}

func (dualStage) Keep(ctx context.Context, t *switches.Transaction) error {
	if err := t.Late(); err != nil {
		return err
	}
	reply, err := t.SayPatiently(ctx, "commit")
	if err != nil {
		return err
	}
	if t.Refused(reply) {
		return switches.NewRefusedError("commit", reply)
	}
	if strings.Contains(t.Heard(), fired) || strings.Contains(t.Heard(), rolledBack) {
		return fmt.Errorf("%s reverted automatically before the changes were confirmed", t.Switch())
	}
	return nil
}

// Back drops lines that were never applied; applied ones it leaves to the
// timer, the only way back out of a pending confirmation that was ever seen to
// work.
func (dualStage) Back(ctx context.Context, t *switches.Transaction, _ switches.Undo) error {
	if t.Armed() {
		return t.Outlast(ctx, rolledBack)
	}
	if !t.Alive() || t.Left() {
		return nil // what was kept aside went with the session
	}
	reply, err := t.Say(ctx, "abort")
	if err != nil && !t.Alive() && ctx.Err() == nil {
		return nil // so it did now
	}
	if err != nil {
		return err
	}
	if t.Refused(reply) || !t.Left() {
		return switches.NewRefusedError("abort", reply)
	}
	return nil
}
