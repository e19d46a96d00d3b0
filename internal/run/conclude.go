package run

import (
	"context"
	"fmt"
	"time"

	"weft/internal/prove"
	"weft/plan"
)

// conclude judges checks and computes outputs after an apply, and keeps them in
// the record of a run for the report. What was applied stays whatever they say.
func (e *Env) conclude(ctx context.Context, s *Site, rec *Record) error {
	hosts := s.Logins()
	defer hosts.End()
	checks, outputs := prove.Conclude(ctx, prove.Input{Model: s.Model, Host: hosts.Host, Attached: s.Attached})
	if e.Audience != nil {
		e.Audience.Concluded(checks, outputs)
	}
	verdict := prove.Checked(checks)
	if !rec.Plain() && len(checks)+len(outputs) > 0 {
		res := &prove.Result{Checks: checks, Outputs: outputs, Verdict: verdict}
		k := Kept{After: true, Time: time.Now().UTC(), Simulated: e.Simulated, Files: SumOf(s.Model), Result: res}
		if err := rec.measured(ctx, afterAll, k); err != nil {
			return err
		}
	}
	if verdict != prove.Pass {
		return &VerdictError{verdict}
	}
	return nil
}

// partial reports whether a plan is about a part of what the files describe.
func partial(p *plan.Plan) bool {
	return len(p.Select.Target)+len(p.Select.Exclude) > 0 || p.Select.Only != nil || p.Skip
}

// afterAll names what was concluded when the last phase had passed; no phase
// has that name.
const afterAll = "after apply"

// A VerdictError says that a plan was carried out, and that its checks have not
// passed; which ones was shown.
type VerdictError struct{ Verdict prove.Verdict }

func (e *VerdictError) Error() string {
	return fmt.Sprintf("everything was applied; the checks: %s", e.Verdict)
}
