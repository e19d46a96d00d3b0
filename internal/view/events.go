package view

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"weft/plan"
)

// JSON writes every event as one line.
func JSON(w io.Writer) plan.Emit {
	var mu sync.Mutex
	return func(e plan.Event) {
		line, err := json.Marshal(e)
		if err != nil {
			line, _ = json.Marshal(plan.Event{Time: e.Time, Type: plan.EventDiagnostic, Level: "error", Message: err.Error()})
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%s\n", line)
	}
}

// Progress writes the events that a waiting person wants to see as lines.
func Progress(w io.Writer, s Style) plan.Emit {
	var mu sync.Mutex
	failed := 0
	return func(e plan.Event) {
		mark, ok := s.mark(e)
		if !ok {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if e.Type == plan.EventProbe && e.Level == "error" && !s.Verbose { // the result has them all
			if failed++; failed > mostPlaces {
				if failed == mostPlaces+1 {
					fmt.Fprintf(w, "  %s further measurements fail: see the result\n", mark)
				}
				return
			}
		}
		fmt.Fprintf(w, "  %s %s\n", mark, e.Message)
	}
}

func (s Style) mark(e plan.Event) (string, bool) {
	switch {
	case e.Level == "error":
		return s.dress(red, "✗"), e.Type != plan.EventDiagnostic && e.Type != plan.EventRunSummary
	case e.Level == "warn":
		return s.dress(yellow, "!"), e.Data["left_alone"] == nil // the plan shows that
	}
	switch e.Type {
	case plan.EventApplyComplete, plan.EventCommit:
		return s.dress(green, "✓"), true
	case plan.EventGate, plan.EventPhase:
		return s.dress(bold, "▸"), true
	case plan.EventRollback:
		return s.dress(yellow, "↩"), true
	case plan.EventHeartbeat:
		return s.dress(faint, "…"), true
	}
	return "", false
}
