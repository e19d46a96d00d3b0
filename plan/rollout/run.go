package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/slice"
	"weft/plan"
)

// Format is the number of a run's format.
const Format = 1

// A Run is how far a rollout has come. It is kept next to the journal, holds no
// secrets, and is written before and after everything that is done: whoever
// was killed goes on from it.
type Run struct {
	Format    int        `json:"format"`
	ID        string     `json:"id"`
	Rollout   string     `json:"rollout"`
	Owner     string     `json:"owner"`
	Simulated bool       `json:"simulated"`
	Begun     time.Time  `json:"begun"`
	State     State      `json:"state"`
	Why       string     `json:"why,omitempty"` // it stands still
	Phases    []PhaseRun `json:"phases"`

	Signers string   `json:"signers,omitempty"` // the digest of the list of those who may approve; "": whoever promotes approves
	Authors []string `json:"authors,omitempty"` // who wrote what is rolled out, as far as it was known

	// Accepted is what an operator has decided not to wait for where it cannot be
	// judged: a validation, or VALIDATION.METRIC. What fails, fails.
	Accepted []Acceptance `json:"accepted,omitempty"`
}

// An Acceptance is such a decision.
type Acceptance struct {
	What string    `json:"what"`
	By   string    `json:"by"`
	Time time.Time `json:"time"`
}

// Accepts reports whether a metric of a validation may stay without verdict.
func (r *Run) Accepts(validation, metric string) bool {
	return slices.ContainsFunc(r.Accepted, func(a Acceptance) bool {
		return a.What == validation || a.What == validation+"."+metric
	})
}

// State is that of a run or of a phase.
type State string

// The states of runs and phases.
const (
	Pending    State = "pending"     // not begun
	Running    State = "running"     // or cut off
	Restarting State = "restarting"  // applied; devices are restarted before it is proven
	Gating     State = "gating"      // applied, not yet proven
	Soaking    State = "soaking"     // proven, and watched until its time has come
	Waiting    State = "waiting"     // for an approval, for a window or for the soak
	Paused     State = "paused"      // until it is resumed
	Passed     State = "passed"      // proven; of a run: done
	Failed     State = "failed"      // and left as it is
	Reversing  State = "reversing"   // being reverted, or cut off while it was
	RolledBack State = "rolled-back" // and proven to be as before
	Aborted    State = "aborted"     // by an operator; left as it is
)

// Over reports whether nothing follows.
func (s State) Over() bool {
	return s == Passed || s == RolledBack || s == Aborted || s == Failed
}

// Underway reports whether a weft is at work on it just now, or was cut off.
func (s State) Underway() bool { return s == Running || s == Reversing }

// A PhaseRun is how far a phase has come.
type PhaseRun struct {
	Name     string             `json:"name"`
	State    State              `json:"state"`
	Asked    bool               `json:"asked,omitempty"`    // it waits for an approval
	Approved string             `json:"approved,omitempty"` // by whom and when
	Until    time.Time          `json:"soak_until,omitzero"`
	Steps    []plan.PlannedStep `json:"steps,omitempty"` // carried out, in that order
	Begun    []plan.PlannedStep `json:"begun,omitempty"` // being carried out, or cut off
	Verdicts []Sample           `json:"verdicts,omitempty"`

	Restarted  []string `json:"restarted,omitempty"`  // devices, since their steps were carried out
	Restarting string   `json:"restarting,omitempty"` // the device that is being restarted, or was when that was cut off
}

// A Sample is one judgement of a gate.
type Sample struct {
	Time        time.Time `json:"time"`
	Validations []string  `json:"validations"`
	Verdict     Verdict   `json:"verdict"`
	Why         string    `json:"why,omitempty"`
	Recorded    bool      `json:"recorded,omitempty"` // measured only: it stops nothing
}

// A Stretch is what a gate said several times, one after another, the last time as it stands.
type Stretch struct {
	Sample
	Since time.Time // the first time
	Times int
}

// Stretches are the verdicts of a phase, those that repeat one another as one: a gate looks
// thousands of times during a long soak.
func (p PhaseRun) Stretches() (out []Stretch) {
	for _, v := range p.Verdicts {
		if n := len(out); n > 0 && out[n-1].Verdict == v.Verdict && out[n-1].Recorded == v.Recorded && out[n-1].Why == v.Why {
			out[n-1].Times++
			out[n-1].Time = v.Time
			continue
		}
		out = append(out, Stretch{v, v.Time, 1})
	}
	return out
}

// A Verdict is the judgement of a gate. Only a pass lets a rollout go on.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive"
	Partial      Verdict = "partial" // what was measured passes, and something that was declared was not measured
)

// Verdicts are all verdicts of gates, worst first.
func Verdicts() []Verdict { return []Verdict{Fail, Inconclusive, Partial, Pass} }

// Open reports whether a gate could not decide: the rollout pauses.
func (v Verdict) Open() bool { return v != Pass && v != Fail }

// NewRun is a run of which nothing has begun.
func NewRun(id string, s *Spec, p *plan.Plan, now time.Time) *Run {
	r := &Run{Format: Format, ID: id, Rollout: s.Name, Owner: p.Owner, Simulated: p.Simulated, Begun: now.UTC(), State: Running}
	r.Phases = slice.Map(s.Phases, func(phase Phase) PhaseRun { return PhaseRun{Name: phase.Name, State: Pending} })
	return r
}

// Read is the inverse of json.Marshal; it refuses what it does not know.
func Read(raw []byte) (*Run, error) {
	var r Run
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("it is not a run: %w", err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("it has format %d, this weft knows %d", r.Format, Format)
	}
	return &r, nil
}

// Has reports whether the run has a phase of that name.
func (r *Run) Has(phase string) bool {
	return slices.ContainsFunc(r.Phases, func(p PhaseRun) bool { return p.Name == phase })
}

// Fits reports whether a run is one of that rollout as it is declared now.
func (r *Run) Fits(s *Spec) bool {
	if r.Rollout != s.Name || len(r.Phases) != len(s.Phases) {
		return false
	}
	for i, phase := range s.Phases {
		if r.Phases[i].Name != phase.Name {
			return false
		}
	}
	return true
}

// Approve lets a phase that waits for an approval begin: the one of that name, "":
// the first there is. A window is nobody's to open.
func (r *Run) Approve(phase, who string, now time.Time) error {
	for i := range r.Phases {
		p := &r.Phases[i]
		switch {
		case phase != "" && p.Name != phase, phase == "" && !p.Asked:
			continue
		case !p.Asked:
			return fmt.Errorf("phase %q waits for no approval, it is %s; the run is %s", p.Name, p.State, r.now())
		}
		p.Asked = false
		p.Approved = fmt.Sprintf("%s at %s", who, now.UTC().Format(time.RFC3339))
		p.State, r.State, r.Why = Pending, Running, ""
		return nil
	}
	if phase != "" {
		return r.noPhase(phase)
	}
	return fmt.Errorf("no phase waits for approval; the run is %s", r.now())
}

// now says where the run stands, and why.
func (r *Run) now() string {
	if r.Why == "" {
		return string(r.State)
	}
	return string(r.State) + ": " + r.Why
}

// noPhase says that there is none of that name, and which there are.
func (r *Run) noPhase(name string) error {
	all := slice.Map(r.Phases, func(p PhaseRun) string { return p.Name })
	return fmt.Errorf("the run has no phase %q: there are %s", name, strings.Join(all, ", "))
}

// Done are the steps that the run has carried out.
func (r *Run) Done() map[plan.ID]bool {
	done := map[plan.ID]bool{}
	for _, p := range r.Phases {
		for _, s := range p.Steps {
			done[s.ID] = true
		}
	}
	return done
}

// touched are the steps that have been carried out, or may have been, in that
// order. A kill between the two documents that say so leaves some in both.
func (p *PhaseRun) touched() []plan.PlannedStep {
	done := ids(p.Steps)
	begun := slices.DeleteFunc(slices.Clone(p.Begun), func(s plan.PlannedStep) bool { return done[s.ID] })
	return slices.Concat(p.Steps, begun)
}
