package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"weft/internal/hint"
	"weft/internal/slice"
)

// A Reported error is one that happened in another process: its words, and what those
// who decide by errors ask for.
type Reported struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
	Kind string `json:"kind,omitempty"` // paused, follows or interrupted

	Held        *HeldError        `json:"held,omitempty"`
	Stale       *StaleError       `json:"stale,omitempty"`
	Wrong       *WrongDeviceError `json:"wrong,omitempty"`
	Unreachable []string          `json:"unreachable,omitempty"` // devices
}

// Report writes an error down; nil: there is none.
func Report(err error) *Reported {
	if err == nil {
		return nil
	}
	r := &Reported{Text: err.Error(), Hint: hint.Of(err)}
	var away *UnreachableError
	switch {
	case errors.Is(err, ErrPaused):
		r.Kind = "paused"
	case consequence(err):
		r.Kind = "follows"
	case errors.As(err, &r.Held), errors.As(err, &r.Stale), errors.As(err, &r.Wrong):
	case errors.As(err, &away):
		r.Unreachable = away.Devices
	case errors.Is(err, context.Canceled):
		r.Kind = "interrupted"
	}
	return r
}

// Err is the error that was written down.
func (r *Reported) Err() error {
	if r == nil {
		return nil
	}
	e := &reportedError{text: r.Text}
	switch {
	case r.Kind == "paused":
		e.is = ErrPaused
	case r.Kind == "follows":
		e.is = &heldBackError{}
	case r.Kind == "interrupted":
		e.is = context.Canceled
	case r.Held != nil:
		e.is = r.Held
	case r.Stale != nil && len(r.Stale.Moved) > 0:
		e.is = r.Stale
	case r.Wrong != nil:
		e.is = r.Wrong
	case len(r.Unreachable) > 0:
		e.is = &UnreachableError{Devices: r.Unreachable, Err: errors.New(r.Text)}
	}
	if r.Hint != "" {
		return hint.Wrap(e, "%s", r.Hint)
	}
	return e
}

type reportedError struct {
	text string
	is   error // nil: nobody decides by it
}

func (e *reportedError) Error() string { return e.text }
func (e *reportedError) Unwrap() error { return e.is }

// resultDoc is a Result as it is written down.
type resultDoc struct {
	Devices []deviceDoc `json:"devices"`
	Err     *Reported   `json:"error,omitempty"`
	LeftOut bool        `json:"left_out,omitempty"`
}

type deviceDoc struct {
	Device  string        `json:"device"`
	Outcome DeviceOutcome `json:"outcome"`
	Err     *Reported     `json:"error,omitempty"`
	Steps   []stepDoc     `json:"steps"`
}

type stepDoc struct {
	Kind    string      `json:"kind"`
	Name    string      `json:"name"`
	Outcome StepOutcome `json:"outcome"`
	Err     *Reported   `json:"error,omitempty"`
}

// MarshalJSON writes a result down for another process.
func (r *Result) MarshalJSON() ([]byte, error) {
	doc := resultDoc{Err: Report(r.err), LeftOut: r.leftOut}
	for _, d := range r.Devices {
		x := deviceDoc{Device: d.Device, Outcome: d.Outcome, Err: Report(d.Err)}
		x.Steps = slice.Map(d.Steps, func(s StepResult) stepDoc { return stepDoc{s.ID.Kind, s.ID.Name, s.Outcome, Report(s.Err)} })
		doc.Devices = append(doc.Devices, x)
	}
	return json.Marshal(doc)
}

// UnmarshalJSON is its inverse, as far as anybody decides by it.
func (r *Result) UnmarshalJSON(raw []byte) error {
	var doc resultDoc
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	*r = Result{err: doc.Err.Err(), leftOut: doc.LeftOut}
	for _, d := range doc.Devices {
		if !slices.Contains(deviceOutcomes(), d.Outcome) {
			return fmt.Errorf("%q is no outcome of a device", d.Outcome)
		}
		for _, s := range d.Steps {
			if !slices.Contains(stepOutcomes(), s.Outcome) {
				return fmt.Errorf("%q is no outcome of a step", s.Outcome)
			}
		}
		x := DeviceResult{Device: d.Device, Outcome: d.Outcome, Err: d.Err.Err()}
		x.Steps = slice.Map(d.Steps, func(s stepDoc) StepResult { return StepResult{ID{d.Device, s.Kind, s.Name}, s.Outcome, s.Err.Err()} })
		r.Devices = append(r.Devices, x)
	}
	return nil
}

// Asked is what a result that another process wrote down says of a part of a plan, which
// that process was asked to carry out, or to revert where whole is false: then steps without
// effect are not named. Other devices and steps are left out. The error says what contradicts
// that all is done.
func (r *Result) Asked(part *Plan, whole bool) (*Result, error) {
	out := newResult(part)
	out.err, out.leftOut = r.err, r.leftOut && r.err != nil
	devices, steps := map[string]DeviceResult{}, map[ID]StepResult{}
	for _, d := range r.Devices {
		if _, twice := devices[d.Device]; twice {
			return nil, fmt.Errorf("it names %s twice", d.Device)
		}
		devices[d.Device] = d
		for _, s := range d.Steps {
			if _, twice := steps[s.ID]; twice {
				return nil, fmt.Errorf("it names %s twice", s.ID)
			}
			steps[s.ID] = s
		}
	}
	for i := range out.Devices {
		d := &out.Devices[i]
		if said, ok := devices[d.Device]; ok {
			d.Outcome, d.Err = said.Outcome, said.Err
		}
		if r.err == nil && d.Err != nil {
			return nil, fmt.Errorf("it says that all is done, and of %s: %w", d.Device, d.Err)
		}
		for n := range d.Steps {
			said, named := steps[d.Steps[n].ID]
			if named {
				d.Steps[n] = said
			}
			if o := d.Steps[n].Outcome; r.err == nil && (named || whole) && o != StepDone && o != StepAlready {
				return nil, fmt.Errorf("it says that all is done, and %s is %s", d.Steps[n].ID, o)
			}
		}
	}
	return out, nil
}

// UnknownResult is that nobody can say what became of a plan, and why.
func UnknownResult(p *Plan, why error) *Result {
	r := newResult(p)
	r.err = why
	for i := range r.Devices {
		d := &r.Devices[i]
		d.Outcome, d.Err = DeviceUnknown, why
		for n := range d.Steps {
			d.Steps[n].Outcome, d.Steps[n].Err = StepUnknown, why
		}
	}
	return r
}

// PausedResult is that nothing of a plan was begun, for a pause was requested.
func PausedResult(p *Plan) *Result {
	r := newResult(p)
	for i := range r.Devices {
		r.Devices[i].Err = ErrPaused
	}
	r.err = ErrPaused
	return r
}

// Undone is that nothing of a plan was done, and why.
func Undone(p *Plan, why error) *Result {
	r := newResult(p)
	r.err = why
	return r
}

// JoinResults is what parts of a plan, which were carried out by several processes,
// come to together.
func JoinResults(p *Plan, parts []*Result) (*Result, error) {
	all := newResult(p)
	at := make(map[string]int, len(all.Devices))
	for i, d := range all.Devices {
		at[d.Device] = i
	}
	var cause, follows error
	n := 0
	all.leftOut = true
	for _, part := range parts {
		for _, d := range part.Devices {
			if i, ok := at[d.Device]; ok {
				all.Devices[i] = d
			}
		}
		if part.err == nil {
			continue
		}
		n++
		all.leftOut = all.leftOut && part.leftOut
		if consequence(part.err) {
			follows = firstOf(follows, part.err)
		} else {
			cause = firstOf(cause, part.err)
		}
	}
	all.leftOut = all.leftOut && n > 0
	err := firstOf(cause, follows)
	if n > 1 {
		err = fmt.Errorf("at %d sites, the first: %w", n, err)
	}
	return all.end(err)
}
