package run

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/store"
	"weft/inventory"
	"weft/modules"
	"weft/plan"
	"weft/plan/rollout"
)

// measured measures for a gate or a record of the run, as far as it has come:
// what is not rolled out yet is left out. While a phase soaks, counters are
// counted on from the sample before.
func (s *staged) measured(ctx context.Context, validations []string) (*prove.Result, error) {
	phase := s.current()
	res, since, err := s.looked(ctx, phase, validations)
	if err != nil || phase == nil {
		return res, err
	}
	return res, s.keep(ctx, phase, validations, since, res)
}

// looked measures, here or at the sites of the workers. since is the reading that was
// counted on from.
func (s *staged) looked(ctx context.Context, phase *rollout.PhaseRun, validations []string) (*prove.Result, *prove.Snapshot, error) {
	var since *prove.Snapshot
	if phase != nil && phase.State == rollout.Soaking {
		since = s.former(ctx)
	}
	if s.crew != nil {
		res, err := s.crew.measure(ctx, validations)
		return res, since, err
	}
	base, err := s.env.Records.Baseline(ctx, s.env.Simulated)
	if err != nil {
		return nil, nil, err
	}
	done := s.run.Done()
	left := s.left(done)
	in := prove.Input{Names: validations, There: left.there, Settled: left.settled, Ready: left.ready, Baseline: base, Classes: true, Since: since}
	res, err := s.env.measure(ctx, s.site, in)
	if err != nil || phase == nil {
		return res, since, err
	}
	if phase.State == rollout.Gating || phase.State == rollout.Soaking {
		res.Add(&prove.Result{Judgements: s.asApplied(ctx, done)})
	}
	return res, since, nil
}

// current is the phase that the run is in; nil: none is left.
func (s *staged) current() *rollout.PhaseRun {
	i := slices.IndexFunc(s.run.Phases, func(p rollout.PhaseRun) bool { return p.State != rollout.Passed })
	if i < 0 {
		return nil
	}
	return &s.run.Phases[i]
}

// A remainder is what a run has left to do, by device.
type remainder map[string][]plan.ID

func (s *staged) left(done map[plan.ID]bool) remainder {
	of := remainder{}
	for _, x := range s.plan.Steps {
		if !done[x.ID] {
			of[x.ID.Device] = append(of[x.ID.Device], x.ID)
		}
	}
	return of
}

// settled reports whether the run has left nothing to do about a device.
func (left remainder) settled(device string) bool { return len(left[device]) == 0 }

// ready reports whether the run has left nothing to do about a port of a switch
// or a NIC of a server.
func (left remainder) ready(device, port string) bool {
	return !slices.ContainsFunc(left[device], func(id plan.ID) bool { return id.Name == port || id.Kind == "qos" })
}

// there reports whether the run has left nothing to do about the agents of a
// pair, or the connections of a host without one: those of later phases are not judged before.
func (left remainder) there(from *inventory.Server, to *inventory.Target) bool {
	if slices.ContainsFunc(left[from.Addr], func(id plan.ID) bool { return id.Kind == "agent" && id.Name == "weft-initiator" }) {
		return false
	}
	// A host that is asked what it knows of its connections has to have them.
	if os := modules.HostOS(from.OS); os != nil && os.Witness != nil &&
		slices.ContainsFunc(left[from.Addr], func(id plan.ID) bool { return id.Kind == "nvme_connection" }) {
		return false
	}
	if to.Server == nil {
		return true // it is there whatever the run does
	}
	// weft-initiator measures what the storage itself takes.
	return !slices.ContainsFunc(left[to.Server.Addr], func(id plan.ID) bool {
		return id.Kind == "agent" || to.Engine == "nvmet" && strings.HasPrefix(id.Kind, "nvmet_")
	})
}

// asApplied judges whether what the run has made of switches and NICs is still
// there: an operator may have changed it by hand since. It says nothing where it is.
func (s *staged) asApplied(ctx context.Context, done map[plan.ID]bool) []prove.Judgement {
	in := s.site.Input
	in.Emit, in.Select.Only = nil, []plan.ID{}
	only := map[plan.ID]bool{}
	for _, step := range s.plan.Steps {
		if !slices.Contains(measuredKinds(), step.ID.Kind) && done[step.ID] && !step.Prune {
			in.Select.Only = append(in.Select.Only, step.ID)
			only[step.ID] = true
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
		if !only[step.ID] {
			continue
		}
		what := slice.Map(step.Changes, func(c plan.Change) string { return c.Path + " is " + c.Before + ", was set to " + c.After })
		out = append(out, prove.Judgement{Validation: prove.AsApplied, Metric: "configuration", Pair: step.ID.String(), Counted: true, Value: 1,
			Verdict: prove.Fail, Why: "it has changed since: " + strings.Join(what, "; "), Where: "at " + step.ID.String()})
	}
	return out
}

// measuredKinds are those that what is measured tells more about than their
// configuration.
func measuredKinds() []string { return []string{"agent", "nvme_connection", "boot"} }

// former is the last reading of this run; nil: there is none that can be used.
func (s *staged) former(ctx context.Context) *prove.Snapshot {
	r := new(prove.Snapshot)
	there, err := getLarge(ctx, s.rec.store, keyRecord(s.run.ID, "counters"), r)
	if err != nil || !there || len(r.Samples) == 0 {
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

// keep keeps a result for the report, and the reading for the next sample. Where the
// store is away the result is judged all the same.
func (s *staged) keep(ctx context.Context, phase *rollout.PhaseRun, validations []string, since *prove.Snapshot, res *prove.Result) error {
	k := Kept{Phase: phase.Name, Validations: validations, Time: time.Now().UTC(), Simulated: s.run.Simulated, Files: SumOf(s.site.Model), Result: res, Thresholds: Thresholds(s.site.Model),
		Recorded: phase.State != rollout.Gating && phase.State != rollout.Soaking}
	name := phase.Name
	ctx = context.WithoutCancel(ctx) // it is measured, and a pause may be wanted
	var err error
	if k.Recorded {
		name += ".record"
		_, err = s.env.Records.KeepBaseline(ctx, s.env.Simulated, res)
	}
	if err == nil {
		err = s.rec.measured(ctx, name, k)
	}
	if err == nil && res.After != nil {
		err = putLarge(ctx, s.rec.store, keyRecord(s.run.ID, "counters"), res.After.Since(since))
	}
	if err == nil {
		err = s.sampled(ctx, k)
	}
	if errors.As(err, new(*store.UnavailableError)) {
		s.env.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "the results are not stored: " + err.Error()})
		return nil
	}
	return err
}

// sampled adds a look to the timeline of the run.
func (s *staged) sampled(ctx context.Context, k Kept) error {
	line, err := json.Marshal(soakSample(k))
	if err != nil {
		return fmt.Errorf("keep what was measured: %w", err)
	}
	s.looks.Lock()
	defer s.looks.Unlock()
	if s.soak == nil {
		s.soak = &tail{folder: s.env.Records.soaks(s.run.ID) + "/" + store.Segment(plan.NewRunID(time.Now()))}
	}
	if err := s.soak.add(ctx, s.rec.store, append(line, '\n')); err != nil {
		return fmt.Errorf("keep what was measured: %w", err)
	}
	return nil
}

// soakSample is a result in short: of each metric the worst value.
func soakSample(k Kept) prove.Look {
	line := prove.Look{Phase: k.Phase, Time: k.Time, Recorded: k.Recorded, Files: k.Files, Verdict: k.Result.Verdict, Worst: map[string]float64{}, Verdicts: map[string]prove.Verdict{}}
	for _, j := range k.Result.Judgements {
		name := j.Validation + "." + j.Metric
		if w := j.Weight(); w != prove.Pass {
			line.Verdicts[name] = prove.Worse(line.Verdicts[name], w)
		}
		if j.Verdict != prove.Pass && j.Verdict != prove.Fail {
			continue
		}
		if v, seen := line.Worst[name]; !seen || j.Value > v && !j.Least || j.Value < v && j.Least {
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

// readJSON reads what writeJSON has written; a file that is not there is none.
func readJSON(path string, v any) (there bool, err error) {
	raw, err := os.ReadFile(path)
	if absent(err) {
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

// measured keeps a result of the run, in place of the last one of that name.
func (r *Record) measured(ctx context.Context, name string, k Kept) error {
	if err := putLarge(ctx, r.store, keyRecord(r.ID, "measured", name), k); err != nil {
		return fmt.Errorf("keep what was measured: %w", err)
	}
	return nil
}

// Measured are the latest results of the run's gates and records.
func (r *Record) Measured(ctx context.Context) ([]Kept, error) {
	entries, _, err := r.store.List(ctx, keyRecord(r.ID, "measured"))
	if err != nil {
		return nil, r.records.trouble(err)
	}
	var list []Kept
	for _, e := range entries {
		var k Kept
		if err := openLarge(ctx, r.store, e, &k); err != nil {
			return nil, r.records.trouble(err)
		}
		list = append(list, k)
	}
	return list, nil
}

// Soak is the timeline of the run: every look.
func (r *Record) Soak(ctx context.Context) ([]prove.Look, error) {
	text, err := r.records.ofSites(ctx, r.store, r.Head, "soak")
	if err != nil {
		return nil, err
	}
	var list []prove.Look
	in := bufio.NewScanner(text)
	in.Buffer(nil, store.MaxValue)
	for in.Scan() {
		var l prove.Look
		if json.Unmarshal(in.Bytes(), &l) == nil { // one of an older weft that was killed may be cut off
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(a, b prove.Look) int { return a.Time.Compare(b.Time) })
	return list, in.Err()
}
