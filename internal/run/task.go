package run

import (
	"context"
	"errors"

	"weft/internal/store"
	"weft/plan"
)

// A job is what kind of work a task is.
type job string

const (
	jobMark    job = "mark"    // devices for the run, after a look at their cables
	jobUnmark  job = "unmark"  // devices
	jobApply   job = "apply"   // steps of the plan
	jobReverse job = "reverse" // steps of the run
	jobMeasure job = "measure" // validations
	jobKeep    job = "keep"    // what switches do, over a restart
)

// A task is what the workers of a site are asked to do. It stands in the store until
// whoever leads the run knows what came of it; while it stands, any worker of the site
// may take it up again: what is done already is found done.
type task struct {
	ID   string `json:"id"`
	Run  string `json:"run"`
	Lead string `json:"lead"` // who has given it, and holds the lease of the fabric meanwhile
	Do   job    `json:"do"`
	Stop bool   `json:"stop,omitempty"` // nothing more of it is to be begun

	Phase       string     `json:"phase,omitempty"`
	Steps       []plan.ID  `json:"steps,omitempty"`
	Unavailable int        `json:"unavailable,omitempty"`
	Failures    int        `json:"failures,omitempty"`
	Devices     []string   `json:"devices,omitempty"`
	Mark        *plan.Mark `json:"mark,omitempty"`
	Validations []string   `json:"validations,omitempty"`
}

// task reads what the workers of a site are asked to do; nil: nothing.
func (r *Records) task(ctx context.Context, simulated bool, site string) (*task, error) {
	s, err := r.use(ctx)
	if err != nil {
		return nil, err
	}
	t := new(task)
	there, err := getLarge(ctx, s, keyWork(simulated, site), t)
	if errors.As(err, new(*store.NotFoundError)) { // its blob: it was taken away meanwhile
		return nil, nil
	}
	if err != nil || !there {
		return nil, r.trouble(err)
	}
	return t, nil
}

// leads reports whether whoever has given a task still leads the run.
func (r *Records) leads(ctx context.Context, simulated bool, lead string) (bool, error) {
	s, err := r.use(ctx)
	if err != nil {
		return false, err
	}
	list, err := s.Leases(ctx, "fabric")
	if err != nil && !isCorrupt(err) {
		return false, r.trouble(err)
	}
	for _, l := range list {
		if l.Key == leaseOf(simulated) && l.Left > 0 && (lead == "" || l.Holder == lead) {
			return true, nil
		}
	}
	return false, nil
}
