package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Result is what Apply did.
type Result struct {
	Devices []DeviceResult // in the order of the plan
	err     error
	leftOut bool // err is only about devices that were to be left out
}

// A DeviceResult is what Apply did to one device.
type DeviceResult struct {
	Device  string // HCL address
	Outcome DeviceOutcome
	Err     error        // why not everything was applied on it
	Steps   []StepResult // in execution order
}

// DeviceOutcome says what state Apply left a device in.
type DeviceOutcome string

// The outcomes of a device.
const (
	DeviceUnchanged   DeviceOutcome = "unchanged"   // nothing was done to it
	DeviceChanged     DeviceOutcome = "changed"     // it committed, and keeps the changes
	DeviceRolledBack  DeviceOutcome = "rolled-back" // it is as it was, and proved it
	DeviceUnknown     DeviceOutcome = "unknown"     // putting it back is not proven
	DeviceUnreachable DeviceOutcome = "unreachable" // it could not be opened or read, or is the wrong one
)

func deviceOutcomes() []DeviceOutcome {
	return []DeviceOutcome{DeviceUnchanged, DeviceChanged, DeviceRolledBack, DeviceUnknown, DeviceUnreachable}
}

// A StepResult is what Apply did about one step of the plan.
type StepResult struct {
	ID      ID
	Outcome StepOutcome
	Err     error
}

// StepOutcome says what became of a step.
type StepOutcome string

// The outcomes of a step.
const (
	StepDone         StepOutcome = "done"          // applied, committed, its effect proven
	StepAlready      StepOutcome = "already"       // found as wanted; nothing was done
	StepFailedVerify StepOutcome = "failed-verify" // applied and committed; its effect is not proven
	StepFailed       StepOutcome = "failed"        // the device did not do it, or the journal not record it
	StepSkipped      StepOutcome = "skipped"       // not tried
	StepRolledBack   StepOutcome = "rolled-back"   // applied, then reverted
	StepUnknown      StepOutcome = "unknown"       // applied; taking it back is not proven
)

func stepOutcomes() []StepOutcome {
	return []StepOutcome{StepDone, StepAlready, StepFailedVerify, StepFailed, StepSkipped, StepRolledBack, StepUnknown}
}

// RunOutcome classifies a whole run.
type RunOutcome string

// The outcomes of a run, from best to worst.
const (
	RunDone           RunOutcome = "done"            // everything is as declared
	RunLeftOut        RunOutcome = "left-out"        // so it is on the devices that can be reached; the others were to be skipped
	RunNothingChanged RunOutcome = "nothing-changed" // an error before anything was changed
	RunRolledBack     RunOutcome = "rolled-back"     // an error; all that had changed was reverted and proven
	RunChanged        RunOutcome = "changed"         // an error; devices stay changed or may be
)

// Outcome classifies the run. It is RunDone exactly when Apply returned no
// error.
func (r *Result) Outcome() RunOutcome {
	switch {
	case r.err == nil:
		return RunDone
	case r.leftOut:
		return RunLeftOut
	}
	outcome := RunNothingChanged
	for _, d := range r.Devices {
		switch d.Outcome {
		case DeviceChanged, DeviceUnknown:
			return RunChanged
		case DeviceRolledBack:
			outcome = RunRolledBack
		}
	}
	return outcome
}

// Paused reports whether what is missing was left for later because an operator
// asked for a pause: nothing has failed, every device is either done or as it
// was, and the rest of the plan can be carried out another time.
func (r *Result) Paused() bool {
	paused := false
	for _, d := range r.Devices {
		if d.Err != nil && (!consequence(d.Err) || d.Outcome == DeviceUnknown) {
			return false
		}
		paused = paused || errors.Is(d.Err, ErrPaused)
	}
	return paused
}

// Held reports whether what is missing was left because another run is at
// work on a device: nothing has failed, every device is either done or as it
// was, and the rest of the plan can be carried out once they have ended.
func (r *Result) Held() bool {
	held := false
	for _, d := range r.Devices {
		byOthers := errors.As(d.Err, new(*HeldError))
		if d.Err != nil && (!byOthers && !consequence(d.Err) || d.Outcome == DeviceUnknown || d.Outcome == DeviceChanged) {
			return false
		}
		held = held || byOthers
	}
	return held
}

// Overtaken reports whether a device has refused because another run of the store has
// gone past this one: what is there is the other's, and so is what becomes of it.
func (r *Result) Overtaken() bool {
	return slices.ContainsFunc(r.Devices, func(d DeviceResult) bool {
		held := new(HeldError)
		return errors.As(d.Err, &held) && held.Past != ""
	})
}

// Err is why not everything in the plan is done and proven: the error that Apply
// returned.
func (r *Result) Err() error { return r.err }

// newResult says that nothing was done.
func newResult(p *Plan) *Result {
	r := &Result{Devices: make([]DeviceResult, len(p.Devices))}
	at := make(map[string]*DeviceResult, len(p.Devices))
	for i, d := range p.Devices {
		r.Devices[i] = DeviceResult{Device: d.Address, Outcome: DeviceUnchanged}
		at[d.Address] = &r.Devices[i]
	}
	for _, s := range p.Steps {
		if d := at[s.ID.Device]; d != nil {
			d.Steps = append(d.Steps, StepResult{ID: s.ID, Outcome: StepSkipped})
		}
	}
	return r
}

// end gives the result its error, if there is one.
func (r *Result) end(err error) (*Result, error) {
	r.err = err
	return r, err
}

// An UnreachableError lists the devices that could not be opened or read.
// Nothing was changed.
type UnreachableError struct {
	Devices []string // HCL addresses
	Err     error    // of the first
}

func (e *UnreachableError) Error() string {
	if len(e.Devices) == 1 {
		return fmt.Sprintf("%s cannot be reached: %v", e.Devices[0], e.Err)
	}
	return fmt.Sprintf("%d devices cannot be reached, the first is %s: %v", len(e.Devices), e.Devices[0], e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// A LedgerError is a device that was reached, and whose ledger this weft must not go
// by: what was done there is not known, and nothing is changed.
type LedgerError struct {
	Device string // HCL address
	Err    error
}

func (e *LedgerError) Error() string { return fmt.Sprintf("%s was reached, and %v", e.Device, e.Err) }

// Unwrap returns what is wrong with the ledger.
func (e *LedgerError) Unwrap() error { return e.Err }

// A blockedError is a step that was not tried, or a device that did not
// commit, because of what it needs.
type blockedError struct {
	needs ID
	why   string
}

func (e *blockedError) Error() string { return "it needs " + e.needs.String() + ", which " + e.why }

// collect gathers what the runs did and returns the error of the whole.
func (r *Result) collect(x *execution) error {
	at := make(map[string]*DeviceResult, len(r.Devices))
	for i := range r.Devices {
		at[r.Devices[i].Device] = &r.Devices[i]
	}
	for _, run := range x.runs {
		d := at[run.address]
		d.add(run)
		byID := make(map[ID]*stepRun, len(run.steps))
		for _, s := range run.steps {
			byID[s.ID] = s
		}
		for i := range d.Steps {
			if s := byID[d.Steps[i].ID]; s != nil {
				d.Steps[i].Outcome, d.Steps[i].Err = s.outcome, s.err
			}
		}
	}
	return r.conclude(x)
}

// add takes in one transaction on the device.
func (d *DeviceResult) add(run *deviceRun) {
	worse := func(o DeviceOutcome) int {
		return slices.Index([]DeviceOutcome{DeviceUnchanged, DeviceRolledBack, DeviceChanged, DeviceUnknown}, o)
	}
	if worse(run.outcome) > worse(d.Outcome) {
		d.Outcome = run.outcome
	}
	if d.Err == nil || run.err != nil && consequence(d.Err) && !consequence(run.err) {
		d.Err = run.err
	}
}

// conclude is the error of the whole.
func (r *Result) conclude(x *execution) error {
	var failed int
	var first, firstBlocked error
	var skipped UnreachableError
	for _, d := range r.Devices {
		switch {
		case d.Err == nil:
			continue
		case x.in.SkipUnreachable && d.Outcome == DeviceUnreachable:
			skipped.Devices = append(skipped.Devices, d.Device)
			skipped.Err = firstOf(skipped.Err, d.Err)
			continue
		}
		failed++
		// What was only blocked is a consequence: the cause tells more.
		if consequence(d.Err) {
			firstBlocked = firstOf(firstBlocked, d.Err)
		} else {
			first = firstOf(first, d.Err)
		}
	}
	first = firstOf(first, firstBlocked)
	if failed > 1 {
		first = fmt.Errorf("%d devices are not as planned, the first: %w", failed, first)
	}
	if first == nil && skipped.Err != nil {
		r.leftOut = true
		return &skipped
	}
	return first
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// A HeldError is a device that another weft is changing, or that belongs to a
// run of another user.
type HeldError struct {
	Device string        // HCL address
	Holder string        // who, for people
	Left   time.Duration // until the lease ends by itself, unless it is renewed

	Mark *Mark  // of that run, instead
	Gone string // or: the run that was to go on, and whose mark is gone
	Past string // or: how another run of a store has gone past this one
}

func (e *HeldError) Error() string {
	switch {
	case e.Mark != nil:
		return fmt.Sprintf("%s belongs to %s", e.Device, e.Mark.Text())
	case e.Gone != "":
		return fmt.Sprintf("%s does not carry the mark of run %s any more: that run was ended, or taken over", e.Device, e.Gone)
	case e.Past != "":
		return fmt.Sprintf("%s refuses this run: %s", e.Device, e.Past)
	}
	return fmt.Sprintf("%s is held by %s for another %s at least", e.Device, e.Holder, e.Left.Round(time.Second))
}
