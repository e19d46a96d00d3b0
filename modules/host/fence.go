package host

import (
	"context"
	"errors"
	"fmt"

	"weft/internal/hint"
	"weft/modules/claim"
	"weft/plan"
)

// past is the refusal of a machine on which a token stands that is not this run's.
func (d *Machine) past(mine claim.Token, stands string) error {
	what := fmt.Sprintf("the server has the fencing token %s, and this run the lower one %s: another run of the store changed the server since", stands, mine)
	advice := "see weft rollout status whose run it is"
	if mine.None() {
		what = fmt.Sprintf("it belongs to runs that are kept in a store, the last with the token %s, and this one is not", stands)
		advice = "go on with that store"
	}
	return hint.Wrap(&plan.HeldError{Device: d.name, Past: what}, "%s; if the store is lost for good, weft unlock --force '%s' takes the token away", advice, d.name)
}

// behind is the way to change the machine under the lease: it refuses who was
// overtaken. Without a token there is no such way, and it is as it always was.
func (d *Machine) behind(t Transport) Transport {
	if d.lease == nil || d.lease.Token.None() || d.os.Fence == nil {
		return t
	}
	return d.os.Fence.Behind(t, d.lease.Claim)
}

// overtaken names the device that has refused.
func (d *Machine) overtaken(err error) error {
	var fenced *FencedError
	if !errors.As(err, &fenced) {
		return err
	}
	return hint.Wrap(&plan.HeldError{Device: d.name, Past: fmt.Sprintf("%s, and nothing more is changed by this one, which has the token %s", fenced, d.asked.Token)},
		"this weft was stopped for too long, or its lease was broken: see weft rollout status")
}

// Token implements plan.Fenced: it opens the machine.
func (d *Machine) Token(ctx context.Context) (string, error) {
	if d.os.Fence == nil {
		return "", nil
	}
	if err := d.reach(ctx); err != nil {
		return "", err
	}
	return d.os.Fence.Token(ctx, d.host)
}

// Yield implements plan.Fenced.
func (d *Machine) Yield(ctx context.Context) error {
	if err := d.os.Lacks(Fencing); err != nil {
		return err
	}
	if err := d.reach(ctx); err != nil {
		return err
	}
	return d.os.Fence.Yield(ctx, d.host)
}
