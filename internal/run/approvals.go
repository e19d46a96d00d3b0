package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/approve"
	"weft/internal/hint"
	"weft/internal/slice"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// mostTold is how many approvals that do not count are named.
const mostTold = 8

// PutApproval keeps a signature that lets a phase begin, under the fingerprint of who
// signed; one of the same key is replaced. What it says is not judged here.
func (r *Record) PutApproval(ctx context.Context, phase, fingerprint string, text []byte) error {
	return r.records.trouble(put(ctx, r.store, r.approvals(phase)+"/"+store.Segment(fingerprint), text))
}

// WithdrawApproval takes back what PutApproval has kept of a signer, as long as the phase
// has not begun, and reports whether there was any.
func (r *Record) WithdrawApproval(ctx context.Context, phase, fingerprint, by string) (bool, error) {
	for _, p := range r.Run.Phases {
		still := p.State == rollout.Pending || p.State == rollout.Waiting
		if p.Name == phase && !still || phase == approve.AnyPhase && !still && p.State != rollout.Passed {
			return false, because(Misused, hint.Wrap(fmt.Errorf("phase %q has begun: it is %s", p.Name, p.State), "stop it with weft rollout pause %s", r.ID))
		}
	}
	key := r.approvals(phase) + "/" + store.Segment(fingerprint)
	e, err := r.store.Get(ctx, key)
	if errors.As(err, new(*store.NotFoundError)) {
		return false, nil
	}
	if err == nil {
		err = r.store.Delete(ctx, key, e.Revision)
	}
	if err != nil {
		return false, r.records.trouble(err)
	}
	return true, r.audit(ctx, AuditEntry{What: auditWithdrawn, Phase: phase, By: by})
}

// Approvals are the signatures that are kept for a phase, by the order of their keys.
func (r *Record) Approvals(ctx context.Context, phase string) ([][]byte, error) {
	entries, _, err := r.store.List(ctx, r.approvals(phase))
	if err != nil {
		return nil, r.records.trouble(err)
	}
	list := slice.Map(entries, func(e store.Entry) []byte { return e.Value })
	return list, nil
}

func (r *Record) approvals(phase string) string {
	return strings.Join([]string{"approval", store.Segment(r.ID), store.Segment(phase)}, "/")
}

// signed reports whether approvals of this run are signatures: signers are known here,
// or were when it began, or a phase asks for them.
func (s *staged) signed() bool {
	return s.env.Signers != nil || s.run.Signers != "" || slices.ContainsFunc(s.spec.Phases, func(p rollout.Phase) bool { return p.Approvals > 0 })
}

// approver judges approvals before each phase; nil: whoever promotes approves.
func (s *staged) approver() func(context.Context, *rollout.Phase) (string, error) {
	if !s.signed() {
		return nil
	}
	return func(ctx context.Context, p *rollout.Phase) (string, error) {
		by, signed, err := s.approved(ctx, p, "")
		if err == nil {
			err = s.noteApproved(ctx, p.Name, by, signed)
		}
		return by, err
	}
}

// approved judges who has signed that a phase may begin, or that something may stay
// without a verdict in it, and returns what they have signed.
func (s *staged) approved(ctx context.Context, p *rollout.Phase, accept string) (who string, signed []string, err error) {
	return s.judged(ctx, p, approve.Case{Accept: accept})
}

// wasApproved judges who had signed that a phase may begin which has begun since.
func (s *staged) wasApproved(ctx context.Context, p *rollout.Phase, accept string) (who string, signed []string, err error) {
	return s.judged(ctx, p, approve.Case{Accept: accept, Begun: true})
}

// judged judges what was signed for the plan in hand. The head of the run only adds authors:
// whoever writes to the store could leave out themselves.
func (s *staged) judged(ctx context.Context, p *rollout.Phase, c approve.Case) (who string, signed []string, err error) {
	switch known := s.env.Signers; {
	case known == nil:
		return "", nil, errors.New("it must be signed, but no list of signers is configured here: --signers, or WEFT_SIGNERS")
	case s.run.Signers != "" && s.run.Signers != known.Digest:
		return "", nil, errors.New("the list of signers is not the one that the run began with")
	}
	all, err := s.found(ctx, p.Name)
	if err != nil {
		return "", nil, err
	}
	if slices.Contains(p.NotBy, "author") {
		own, err := s.env.authors(s.plan)
		if err != nil {
			return "", nil, fmt.Errorf("its author may not approve it, and the author is unknown: %w", err)
		}
		c.Authors = slices.Concat(own, s.run.Authors)
	}
	c.Owner, c.Run, c.Phase, c.Plan = s.plan.Owner, s.run.ID, p.Name, string(s.digest)
	c.Signers, c.Now = *s.env.Signers, time.Now()
	by, refused, err := c.Judge(approve.Rule{Count: p.Approvals, Not: p.NotBy}, all)
	if err == nil {
		for _, x := range all {
			if !slices.ContainsFunc(refused, func(r approve.Refusal) bool { return r.Name == x.Name }) {
				signed = append(signed, string(x.Joined()))
			}
		}
		return fmt.Sprintf("%s, signed", strings.Join(by, " and ")), signed, nil
	}
	why := []string{err.Error()}
	if len(by) > 0 {
		why = append(why, "by "+strings.Join(by, " and "))
	}
	why = append(why, slice.Map(refused, approve.Refusal.String)...)
	if more := len(why) - mostTold; more > 0 {
		why = append(why[:mostTold], fmt.Sprintf("and %d more that do not count", more))
	}
	return "", nil, errors.New(strings.Join(why, "; "))
}

// found are the approvals that may be about a phase: those of the run, and those that
// lie in folders.
func (s *staged) found(ctx context.Context, phase string) ([]approve.Signed, error) {
	var all []approve.Signed
	for _, of := range []string{phase, approve.AnyPhase} {
		kept, err := s.rec.Approvals(ctx, of)
		if err != nil {
			return nil, err
		}
		for i, text := range kept {
			all = append(all, approve.Split(fmt.Sprintf("approval %d of phase %q", i+1, of), text))
		}
	}
	for _, dir := range s.env.Approvals {
		list, err := approve.Read(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if s.env.Beside != "" {
		list, err := approve.ReadBeside(s.env.Beside)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// authors are who wrote a plan, as far as can be told here.
func (e *Env) authors(p *plan.Plan) ([]string, error) {
	if e.Authors == nil {
		return nil, errors.New("no author is named")
	}
	return e.Authors(p)
}

// promotable refuses to promote a phase by order where approvals are signed.
func (s *staged) promotable(ctx context.Context, phase string) error {
	if phase == "" {
		return nil // what is signed goes on
	}
	i := slices.IndexFunc(s.spec.Phases, func(p rollout.Phase) bool { return p.Name == phase })
	if i < 0 {
		return HasPhase(s.spec, phase)
	}
	if _, _, err := s.approved(ctx, &s.spec.Phases[i], ""); err != nil {
		return hint.Wrap(because(Waits, fmt.Errorf("phase %q is approved by signatures, not by order: %w", phase, err)), "weft approve %s --phase %s", s.run.ID, phase)
	}
	return nil
}

// mayAccept refuses to do without a verdict where approvals are signed and that is not.
func (s *staged) mayAccept(ctx context.Context, names []string) (notes []AuditEntry, err error) {
	notes = slice.Map(names, func(name string) AuditEntry { return AuditEntry{What: auditAccepted, Text: name, By: s.env.By} })
	if len(names) == 0 || !s.signed() {
		return notes, nil
	}
	at := slices.IndexFunc(s.run.Phases, func(p rollout.PhaseRun) bool { return p.State != rollout.Passed })
	if at < 0 {
		return notes, nil
	}
	for i, name := range names {
		name = strings.TrimPrefix(name, "validation.")
		notes[i].Phase = s.spec.Phases[at].Name
		if notes[i].By, notes[i].Signed, err = s.approved(ctx, &s.spec.Phases[at], name); err != nil {
			return nil, hint.Wrap(because(Waits, fmt.Errorf("--accept %s: approvals of this run are signed, and so must this be: %w", name, err)),
				"weft approve %s --phase %s --accept %s", s.run.ID, s.spec.Phases[at].Name, name)
		}
	}
	return notes, nil
}
