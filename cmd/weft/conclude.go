package main

import (
	"context"
	"path/filepath"
	"time"

	"weft/internal/prove"
	"weft/internal/remote"
	"weft/internal/view"
	"weft/inventory"
	"weft/modules"
	"weft/plan"
)

// attached asks a server what its kernel has of an initiator.
func attached(ctx context.Context, h remote.Host, i *inventory.Initiator) (*prove.Attached, error) {
	p, err := modules.ReadPaths(ctx, h, i)
	if err != nil {
		return nil, err
	}
	return &prove.Attached{LivePaths: p.Fewest(), Devices: p.Devices}, nil
}

// conclude judges checks and computes outputs after an apply, and keeps them in
// the folder of a run for the report. What was applied stays whatever they say.
func (a *app) conclude(ctx context.Context, p *project, run string) error {
	hosts := &logins{project: p}
	defer hosts.end()
	checks, outputs := prove.Conclude(ctx, prove.Input{Model: p.model, Host: hosts.host, Attached: attached})
	if a.json {
		a.emitConclusions(checks, outputs)
	} else {
		view.Conclusions(a.stdout, checks, outputs, a.style(a.stdout))
	}
	verdict := prove.Checked(checks)
	if run != "" && len(checks)+len(outputs) > 0 {
		res := &prove.Result{Checks: checks, Outputs: outputs, Verdict: verdict}
		k := kept{After: true, Time: time.Now().UTC(), Simulated: a.lab, Files: sumOf(p.model), Result: res}
		if err := writeJSON(filepath.Join(run, measuredDir, afterFile), k); err != nil {
			return err
		}
	}
	if verdict != prove.Pass {
		return &quietError{proven(verdict)}
	}
	return nil
}

// partial reports whether a plan is about a part of what the files describe.
func partial(p *plan.Plan) bool {
	return len(p.Select.Target)+len(p.Select.Exclude) > 0 || p.Select.Only != nil || p.Skip
}

// afterFile keeps what was concluded when the last phase had passed; no phase
// has that name.
const afterFile = "after apply.json"

func (a *app) emitConclusions(checks []prove.Check, outputs []prove.Output) {
	for _, c := range checks {
		e := plan.Event{Type: plan.EventVerdict, Message: string(c.Verdict) + " " + c.Name, Data: map[string]any{"check": c}}
		if c.Verdict == prove.Fail {
			e.Level = "error"
		}
		a.emit(e)
	}
	for _, o := range outputs {
		a.emit(plan.Event{Type: plan.EventOutput, Message: o.Name, Data: map[string]any{"output": o}})
	}
}
