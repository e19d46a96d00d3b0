package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"weft/internal/report"
	"weft/internal/run"
	"weft/plan"
)

// courseOf is how a run went: when its phases changed devices, by its journal, what was
// decided about it, by its trail, and what failed on devices.
func courseOf(ctx context.Context, rec *run.Record, p *plan.Plan) (*report.Course, error) {
	c := new(report.Course)
	trail, err := rec.Audit(ctx)
	if err != nil {
		return nil, err
	}
	for _, line := range trail {
		var x run.AuditEntry
		if err := json.Unmarshal(line, &x); err != nil {
			return nil, fmt.Errorf("the trail of run %s: %w", rec.ID, err)
		}
		c.Happens = append(c.Happens, report.Happening{Time: x.Time, Phase: x.Phase, What: x.What, By: x.By, Text: x.Text})
	}
	phases := map[string]string{} // of steps
	for _, s := range p.Steps {
		phases[s.ID.String()] = s.Phase
	}
	journal, err := rec.Journal(ctx)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReader(journal)
	for {
		line, err := lines.ReadBytes('\n')
		var e run.JournalEntry
		if json.Unmarshal(line, &e) == nil && e.Device != "" { // a line may have been cut off
			if phase, ok := phases[e.ID]; ok && e.Do == "step" {
				c.Wrote(phase, e.Time)
			}
			if e.State == "failed" {
				c.Happens = append(c.Happens, report.Happening{Time: e.Time, Phase: phases[e.ID], What: e.Do + " failed", By: e.Device, Text: e.Error})
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return c, nil
		case err != nil:
			return nil, err
		}
	}
}
