package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"weft/internal/prove"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// An outcome is what came of a task.
type outcome struct {
	Task string `json:"task"`
	By   string `json:"by"`

	Result  *plan.Result   `json:"result,omitempty"`
	Alarm   *rollout.Alarm `json:"alarm,omitempty"`
	Left    []string       `json:"left,omitempty"` // devices that may carry the mark all the same
	Seen    *prove.Result  `json:"seen,omitempty"`
	Nothing bool           `json:"nothing,omitempty"` // there is nothing to measure at the site
	Err     *plan.Reported `json:"error,omitempty"`
	Cause   Cause          `json:"cause,omitempty"`

	unreadable bool // the document is not what a worker writes
}

// note writes down an error, and what an alarm says.
func (o *outcome) note(err error) {
	var alarm *rollout.Alarm
	if errors.As(err, &alarm) {
		o.Alarm = alarm
	}
	var cause *Error
	if errors.As(err, &cause) {
		o.Cause = cause.Cause
	}
	o.Err = plan.Report(err)
}

// tell keeps what came of a task. The blob of one that was told before is deleted by
// who reads: workers may delete none.
func (r *Records) tell(ctx context.Context, t *task, o *outcome) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	s, err := r.use(ctx)
	if err != nil {
		return err
	}
	text, err := large(ctx, s, raw)
	if err == nil {
		err = put(ctx, s, keySite(t.Run, r.site)+"/done", text)
	}
	return r.trouble(err)
}

// told reads what a site says came of a task, and the document in which it does; nil: nothing
// yet. A document that cannot be read is an outcome with that error.
func (r *Record) told(ctx context.Context, site, id string) (*outcome, store.Entry, error) {
	e, err := r.store.Get(ctx, keySite(r.ID, site)+"/done")
	if errors.As(err, new(*store.NotFoundError)) {
		return nil, e, nil
	}
	if err != nil {
		return nil, e, err
	}
	o := new(outcome)
	err = openLarge(ctx, r.store, e, o)
	switch {
	case isCorrupt(err), errors.As(err, new(*store.NotFoundError)):
		return &outcome{Err: plan.Report(fmt.Errorf("its answer cannot be read: %w", err)), unreadable: true}, e, nil
	case err != nil || o.Task != id:
		return nil, e, err
	}
	return o, e, nil
}

// answered is what an outcome says of the task that it answers, and of nothing else: of
// devices, steps and validations that the site was asked for. An answer that is incomplete, or
// contradicts itself, is an error of the site.
func (o *outcome) answered(site string, t *task, part *plan.Plan, here func(device string) bool) *outcome {
	err := o.Err.Err()
	if !o.unreadable {
		if err = o.fits(t, part, here); err == nil {
			return o
		}
		err = fmt.Errorf("its answer is incomplete: %w", err)
	}
	bad := &outcome{Task: t.ID, By: "unknown", Err: plan.Report(err)}
	if t.Do == jobApply { // it may have done what it does not say
		bad.Result = plan.UnknownResult(part, bad.err(site))
	}
	return bad
}

// fits checks and narrows an outcome.
func (o *outcome) fits(t *task, part *plan.Plan, here func(device string) bool) (err error) {
	if o.By == "" {
		return errors.New("it does not say which worker gave it")
	}
	if o.Cause < Ended || o.Cause > Stopped {
		return fmt.Errorf("%d is no cause", o.Cause)
	}
	if t.Do != jobApply {
		o.Alarm = nil
	}
	if o.Alarm != nil && (!slices.Contains(rollout.Verdicts(), o.Alarm.Verdict) || o.Alarm.Verdict == rollout.Pass) {
		return fmt.Errorf("%q is no verdict of an alarm", o.Alarm.Verdict)
	}
	switch t.Do {
	case jobApply, jobReverse:
		if o.Result != nil {
			o.Result, err = o.Result.Asked(part, t.Do == jobApply)
			return err
		}
		if o.Err == nil {
			return errors.New("it has neither a result nor an error")
		}
	case jobMeasure:
		switch {
		case o.Err != nil:
		case o.Nothing || o.Seen == nil:
			return errors.New("it has neither a measurement nor an error")
		default:
			return o.Seen.Asked(t.Validations, here)
		}
	case jobUnmark:
		o.Left = slices.DeleteFunc(o.Left, func(d string) bool { return !slices.Contains(t.Devices, d) })
	case jobMark, jobKeep:
	}
	return nil
}
