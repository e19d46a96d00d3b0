package main

import (
	"context"
	"fmt"
	"os"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/plan"
)

// elsewhere is why there is no run here to go on with: one of the same owner that
// was begun elsewhere is on its way. What cannot be asked says nothing.
func (a *app) elsewhere(ctx context.Context) error {
	m, diags, err := a.parse(os.DirFS(a.dir), nil)
	if err != nil || diags.HasErrors() {
		return nil
	}
	p, err := a.reach(m)
	if err != nil {
		return nil
	}
	defer p.Close()
	for _, mark := range p.Standing(ctx) {
		if mark.Owner == m.Name {
			return &codeError{exitHeld, hint.Wrap(plan.NewMarkedError(mark.Device, mark.Mark), "go on with it where it was begun: its record is in .weft/store there; if it will not be: weft apply --takeover=%s", mark.Run)}
		}
	}
	return nil
}

// warnMarked says whose runs devices belong to.
func (a *app) warnMarked(ctx context.Context, p *run.Site) {
	for _, m := range p.Standing(ctx) {
		a.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Device: m.Device,
			Message: fmt.Sprintf("%s belongs to %s: what is measured may change under it", m.Device, m.Text()), Data: map[string]any{"mark": m.Mark}})
	}
}
