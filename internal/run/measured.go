package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/prove"
	"weft/plan"
	"weft/plan/rollout"
)

// What a run keeps of what its gates have measured.
const (
	MeasuredDir  = "measured"      // the latest result of each phase
	countersFile = "counters.json" // the last reading: a soak counts on from it
	SoakFile     = "soak.jsonl"    // every sample, in a line
)

// measured measures for a gate or a record of the run, as far as it has come:
// what is not rolled out yet is left out. While a phase soaks, counters are
// counted on from the sample before.
func (s *staged) measured(ctx context.Context, validations []string) (*prove.Result, error) {
	base, err := ReadBaseline(s.env.Baseline, s.env.Simulated)
	if err != nil {
		return nil, err
	}
	in := prove.Input{Names: validations, There: s.there, Ready: s.ready, Baseline: base, Classes: true}
	phase := s.current()
	if phase != nil && phase.State == rollout.Soaking {
		in.Since = s.former()
	}
	res, err := s.env.measure(ctx, s.site, in)
	if err != nil || phase == nil {
		return res, err
	}
	if phase.State == rollout.Gating || phase.State == rollout.Soaking {
		res.Add(&prove.Result{Judgements: s.asApplied(ctx)})
	}
	return res, s.keep(phase, validations, in.Since, res)
}

// current is the phase that the run is in; nil: none is left.
func (s *staged) current() *rollout.PhaseRun {
	i := slices.IndexFunc(s.run.Phases, func(p rollout.PhaseRun) bool { return p.State != rollout.Passed })
	if i < 0 {
		return nil
	}
	return &s.run.Phases[i]
}

// ready reports whether the run has left nothing to do about a port of a switch
// or a NIC of a server.
func (s *staged) ready(device, port string) bool {
	return !slices.ContainsFunc(s.plan.Steps, func(step plan.PlannedStep) bool {
		return step.ID.Device == device && (step.ID.Name == port || step.ID.Kind == "qos") && !s.run.HasDone(step.ID)
	})
}

// asApplied judges whether what the run has made of switches and NICs is still
// there: somebody may have changed it by hand since. It says nothing where it is.
func (s *staged) asApplied(ctx context.Context) []prove.Judgement {
	in := s.site.Input
	in.Emit, in.Select.Only = nil, []plan.ID{}
	for _, step := range s.plan.Steps {
		if !slices.Contains(measuredKinds(), step.ID.Kind) && s.run.HasDone(step.ID) && !step.Prune {
			in.Select.Only = append(in.Select.Only, step.ID)
		}
	}
	if len(in.Select.Only) == 0 {
		return nil
	}
	made, err := plan.Make(ctx, in)
	if err != nil {
		return []prove.Judgement{{Validation: prove.AsApplied, Metric: "configuration", Pair: s.spec.Name, Counted: true, Verdict: prove.Inconclusive, Why: err.Error()}}
	}
	var out []prove.Judgement
	for _, d := range made.Unreachable() {
		out = append(out, prove.Judgement{Validation: prove.AsApplied, Metric: "configuration", Pair: d.Address, Counted: true, Verdict: prove.Inconclusive, Why: d.Error})
	}
	for _, step := range made.Steps {
		if !slices.Contains(in.Select.Only, step.ID) {
			continue
		}
		var what []string
		for _, c := range step.Changes {
			what = append(what, c.Path+" is "+c.Before+", was set to "+c.After)
		}
		out = append(out, prove.Judgement{Validation: prove.AsApplied, Metric: "configuration", Pair: step.ID.String(), Counted: true, Value: 1,
			Verdict: prove.Fail, Why: "it has changed since: " + strings.Join(what, "; "), Where: "at " + step.ID.String()})
	}
	return out
}

// measuredKinds are those that what is measured tells more about than their
// configuration.
func measuredKinds() []string { return []string{"agent", "nvme_connection", "boot"} }

// former is the last reading of this run; nil: there is none that can be used.
func (s *staged) former() *prove.Reading {
	raw, err := os.ReadFile(filepath.Join(s.dir, countersFile))
	r := new(prove.Reading)
	if err != nil || json.Unmarshal(raw, r) != nil || len(r.Samples) == 0 {
		return nil // a fresh one is made
	}
	return r
}

// A Kept result is what was measured, for the report.
type Kept struct {
	Phase       string        `json:"phase"`
	Validations []string      `json:"validations"`
	Time        time.Time     `json:"time"`
	Simulated   bool          `json:"simulated"`
	Recorded    bool          `json:"recorded,omitempty"` // measured before the phase began, to compare with
	After       bool          `json:"after,omitempty"`    // concluded when all was applied
	Files       string        `json:"files,omitempty"`    // sum of what the files said
	Result      *prove.Result `json:"result"`

	Thresholds []prove.Threshold `json:"thresholds,omitempty"` // that it was held against
}

// keep keeps a result for the report, and the reading for the next sample.
func (s *staged) keep(phase *rollout.PhaseRun, validations []string, since *prove.Reading, res *prove.Result) error {
	k := Kept{Phase: phase.Name, Validations: validations, Time: time.Now().UTC(), Simulated: s.run.Simulated, Files: SumOf(s.site.Model), Result: res, Thresholds: Thresholds(s.site.Model),
		Recorded: phase.State != rollout.Gating && phase.State != rollout.Soaking}
	name := phase.Name
	if k.Recorded {
		name += ".record"
		if _, err := KeepBaseline(s.env.Baseline, s.env.Simulated, res); err != nil {
			return err
		}
	}
	err := writeJSON(filepath.Join(s.dir, MeasuredDir, name+".json"), k)
	if err == nil && res.After != nil {
		err = writeJSON(filepath.Join(s.dir, countersFile), res.After.Since(since))
	}
	if err == nil {
		err = s.sampled(k)
	}
	return err
}

// sampled adds a look to the timeline of the run.
func (s *staged) sampled(k Kept) error {
	return appendJSON(filepath.Join(s.dir, SoakFile), soakSample(k))
}

// soakSample is a result in short: of each metric the worst value.
func soakSample(k Kept) prove.Look {
	line := prove.Look{Phase: k.Phase, Time: k.Time, Recorded: k.Recorded, Files: k.Files, Verdict: k.Result.Verdict, Worst: map[string]float64{}, Verdicts: map[string]prove.Verdict{}}
	for _, j := range k.Result.Judgements {
		name := j.Validation + "." + j.Metric
		if j.Verdict == prove.NotMeasured {
			continue
		}
		if j.Verdict != prove.Pass && line.Verdicts[name] != prove.Fail {
			line.Verdicts[name] = j.Verdict
		}
		if j.Verdict == prove.Inconclusive {
			continue
		}
		if v, seen := line.Worst[name]; !seen || j.Value > v {
			line.Worst[name] = j.Value
		}
	}
	return line
}

// writeJSON replaces a file, whole.
func writeJSON(path string, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path+".new", append(raw, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("keep what was measured: %w", err)
	}
	return nil
}

// appendJSON adds a line to a file.
func appendJSON(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("keep what was measured: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep what was measured: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	return errors.Join(err, f.Close())
}

// readJSON reads what writeJSON has written; a file that is not there is none.
func readJSON(path string, v any) (there bool, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// ReadKept reads what WriteKept has written; a file that is not there is none.
func ReadKept(path string, k *Kept) (there bool, err error) { return readJSON(path, k) }

// WriteKept keeps a result in a file.
func WriteKept(path string, k Kept) error { return writeJSON(path, k) }
