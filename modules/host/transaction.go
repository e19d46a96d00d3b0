package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/wait"
	"weft/plan"
)

// Begin implements plan.Device: nobody else may change the server until the
// transaction ends, and the ledger knows what is about to be done.
func (d *Machine) Begin(ctx context.Context, steps []plan.Step) error {
	return d.overtaken(d.begin(ctx, steps))
}

func (d *Machine) begin(ctx context.Context, steps []plan.Step) error {
	d.done, d.planned, d.armedHere = nil, steps, false
	if err := d.wake(ctx); err != nil {
		return err
	}
	if d.owner == "" {
		return nil
	}
	var mark *plan.Mark
	if len(steps) > 0 {
		mark = steps[0].Mark
	}
	now, err := d.take(ctx, mark, false)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, d.ledgers.raw) {
		return errors.Join(errMoved, d.release(ctx))
	}
	d.before = d.ledgers.own
	if err := d.sweep(ctx); err != nil {
		return errors.Join(err, d.release(ctx))
	}
	intent := d.before.next(steps)
	if intent.Roster == nil && !intent.gone { // the devices of the owner come with a whole apply
		intent.Roster = []plan.Member{d.member}
	}
	d.leaves, intent.gone = intent.gone, false // it goes when the rest has
	if d.ledgers.raw == nil && !slices.ContainsFunc(steps, func(s plan.Step) bool { _, ok := s.Resource.(*unproven); return !ok }) {
		d.leaves = true // to sweep is nothing to remember
	}
	if err := d.write(ctx, intent, d.host); err != nil {
		return errors.Join(err, d.release(ctx))
	}
	return d.arm(ctx, steps)
}

// Apply implements plan.Device.
func (d *Machine) Apply(ctx context.Context, s plan.Step) error {
	d.done = append(d.done, carried{Step: s})
	now := &d.done[len(d.done)-1]
	for _, step := range s.Resource.(Resource).steps(s.Have) {
		now.begun = append(now.begun, step)
		if err := d.overtaken(do(ctx, d.behind(d.host), step)); err != nil {
			return explained(ctx, d.host, s.Resource.(Thing), err)
		}
	}
	return nil
}

// do carries out one step; what the server answered to a refused one is in
// the error.
func do(ctx context.Context, t Transport, step remote.Step) error {
	err := t.Do(ctx, step)
	var exit *remote.ExitError
	if errors.As(err, &exit) {
		refused := &plan.RefusedError{Line: step.Short(), Reply: fmt.Sprintf("exit %d: %s", exit.Code, said(exit.Output))}
		if advice := hint.Of(err); advice != "" {
			return hint.Wrap(refused, "%s", advice)
		}
		return refused
	}
	return err
}

// said is what a command complained of, without secrets; some tools do so on standard output.
func said(out remote.Output) string {
	return remote.Redact(cmp.Or(strings.TrimSpace(string(out.Stderr)), strings.TrimSpace(string(out.Stdout))))
}

// Commit implements plan.Device: a fresh login must read every resource of
// the transaction as wanted.
func (d *Machine) Commit(ctx context.Context) error { return d.overtaken(d.commit(ctx)) }

func (d *Machine) commit(ctx context.Context) error {
	host, close, err := d.login(ctx, true)
	if err != nil {
		return fmt.Errorf("fresh login: %w", err)
	}
	defer close()
	if err := d.settled(ctx, func() error { return d.converged(ctx, host) }); err != nil || d.owner == "" {
		return converging(ctx, host, err)
	}
	if d.os.Last != nil {
		if err := d.os.Last(ctx, d.behind(host)); err != nil {
			return fmt.Errorf("make the changes last: %w", err)
		}
	}
	if err := d.disarm(ctx, host); err != nil {
		return err
	}
	proven := d.ledgers.own.done(d.planned, d.seen)
	proven.gone = d.leaves
	if err := d.write(ctx, proven, host); err != nil {
		return err
	}
	// The changes stay whatever becomes of the lease, which ends by itself.
	_ = d.release(ctx)
	return nil
}

// settled tries until check passes or patience is at its end.
func (d *Machine) settled(ctx context.Context, check func() error) error {
	for deadline := time.Now().Add(d.patience); ; {
		err := check()
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		wait.For(ctx, 200*time.Millisecond)
	}
}

func (d *Machine) converged(ctx context.Context, host Transport) error {
	states, _, err := read(ctx, host, d.resources(), remote.Seen{})
	if err != nil {
		return err
	}
	for i, s := range d.done {
		r, ok := s.Resource.(Thing)
		if !ok {
			continue // bookkeeping: done by the transaction itself, after this
		}
		diff := s.Resource.Diff(states[i])
		if diff.Err != nil {
			return fmt.Errorf("%s: %w", s.ID, diff.Err)
		}
		for _, c := range diff.Changes {
			if r.tries(states[i], c) {
				continue
			}
			err := fmt.Errorf("%s: %s reads %q after the change, wanted %q", s.ID, c.Path, c.Before, c.After)
			return &unmet{r, err}
		}
		if err := r.lost(s.Have, states[i]); err != nil {
			return &unmet{r, fmt.Errorf("%s: %w", s.ID, err)}
		}
	}
	return nil
}

func (d *Machine) resources() []plan.Resource {
	return slice.Map(d.done, func(c carried) plan.Resource { return c.Resource })
}

// A carried step is one of a transaction and how far it has come.
type carried struct {
	plan.Step
	begun []remote.Step // what was sent of it
}

// undo reverts what was begun.
func (c *carried) undo() []remote.Step {
	if r, ok := c.Resource.(Thing); ok {
		return r.undoBegun(c.Have, c.begun)
	}
	return nil
}
