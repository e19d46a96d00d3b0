package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/text"
	"weft/plan"
	"weft/plan/rollout"
)

// A Head is a run in short, as it is listed.
type Head struct {
	Format    int          `json:"format"`
	ID        string       `json:"id"`
	Owner     string       `json:"owner"`
	Rollout   string       `json:"rollout,omitempty"` // HCL address; "": the plan was carried out at once
	Simulated bool         `json:"simulated"`
	Begun     time.Time    `json:"begun"`
	Who       string       `json:"who,omitempty"`    // user@host that began it
	By        string       `json:"by,omitempty"`     // the person or pipeline that asked for it
	Commit    string       `json:"commit,omitempty"` // of the files, where that is known
	Plan      store.Digest `json:"plan"`             // the blob that is the plan file
	Changed   time.Time    `json:"changed"`          // when the state was last kept

	State    rollout.State        `json:"state"`
	Why      string               `json:"why,omitempty"`
	Phases   []headPhase          `json:"phases,omitempty"`
	Accepted []rollout.Acceptance `json:"accepted,omitempty"`

	Sites []string `json:"sites,omitempty"` // whose workers carry it out; nil: whoever works on the run does

	Signers string   `json:"signers,omitempty"` // as in the rollout's run
	Authors []string `json:"authors,omitempty"`
}

// A headPhase is a phase without what grows with devices or with time.
type headPhase struct {
	Name     string        `json:"name"`
	State    rollout.State `json:"state"`
	Asked    bool          `json:"asked,omitempty"`
	Approved string        `json:"approved,omitempty"`
	Until    time.Time     `json:"soak_until,omitzero"`

	Restarted  []string `json:"restarted,omitempty"`
	Restarting string   `json:"restarting,omitempty"`
}

// headFormat is the number of the format of heads.
const headFormat = 1

// Closed is the state of a run without a rollout of which an older weft has kept only
// the journal.
const Closed rollout.State = "ended"

// longest is how much is kept of a reason: one that names every device has all of them
// in the journal.
const longest = 8 << 10

func clip(reason string) string {
	head, missing := text.Head(reason, longest)
	if missing == 0 {
		return reason
	}
	return head + "… (the journal has all of it)"
}

// Plain reports whether it is a plan that is carried out at once.
func (h *Head) Plain() bool { return h.Rollout == "" }

// Over reports whether nothing follows.
func (h *Head) Over() bool { return h.State.Over() || h.State == Closed }

// put fills in how far a rollout has come.
func (h *Head) put(r *rollout.Run) {
	h.State, h.Why, h.Accepted, h.Phases = r.State, clip(r.Why), r.Accepted, nil
	h.Signers, h.Authors = r.Signers, r.Authors
	for _, p := range r.Phases {
		h.Phases = append(h.Phases, headPhase{p.Name, p.State, p.Asked, p.Approved, p.Until, p.Restarted, p.Restarting})
	}
}

// run is the rollout's run without steps and verdicts.
func (h *Head) run() *rollout.Run {
	r := &rollout.Run{Format: rollout.Format, ID: h.ID, Rollout: h.Rollout, Owner: h.Owner, Simulated: h.Simulated, Begun: h.Begun,
		State: h.State, Why: h.Why, Accepted: h.Accepted,
		Signers: h.Signers, Authors: h.Authors}
	for _, p := range h.Phases {
		r.Phases = append(r.Phases, rollout.PhaseRun{Name: p.Name, State: p.State, Asked: p.Asked, Approved: p.Approved, Until: p.Until,
			Restarted: p.Restarted, Restarting: p.Restarting})
	}
	return r
}

func readHead(e store.Entry) (*Head, error) {
	h := new(Head)
	if err := decode(e.Value, store.MaxValue, h); err != nil {
		return nil, hint.Wrap(fmt.Errorf("%s is no run: %w", e.Key, err), "look at the devices with weft plan")
	}
	if h.Format != headFormat {
		return nil, hint.Wrap(fmt.Errorf("the run %s has format %d, this weft knows %d", h.ID, h.Format, headFormat), "use the weft that began it")
	}
	return h, nil
}

// Heads are all runs, the oldest first: those of the lab, or of the real devices.
func (r *Records) Heads(ctx context.Context, simulated bool) ([]*Head, error) {
	s, err := r.look(ctx)
	if s == nil {
		return nil, err
	}
	entries, _, err := s.List(ctx, "run")
	if err != nil {
		return nil, r.trouble(err)
	}
	var list []*Head
	for _, e := range entries {
		h, err := readHead(e)
		if err != nil {
			return nil, err
		}
		if h.Simulated == simulated {
			list = append(list, h)
		}
	}
	slices.SortStableFunc(list, func(a, b *Head) int { return a.Begun.Compare(b.Begun) })
	return list, nil
}

// last finds the latest run that is wanted; nil: there is none.
func (r *Records) last(ctx context.Context, simulated bool, wanted func(*Head) bool) (*Head, error) {
	list, err := r.Heads(ctx, simulated)
	if err != nil {
		return nil, err
	}
	for _, h := range slices.Backward(list) {
		if wanted(h) {
			return h, nil
		}
	}
	return nil, nil
}

// Unfinished finds the latest run of a rollout that is not over, among those of
// the lab or of the real devices; nil: there is none.
func (r *Records) Unfinished(ctx context.Context, simulated bool) (*Record, error) {
	latest, err := r.Latest(ctx, simulated)
	if latest == nil || latest.Run.State.Over() {
		return nil, err
	}
	return latest, nil
}

// Latest finds the latest run of a rollout; nil: there is none.
func (r *Records) Latest(ctx context.Context, simulated bool) (*Record, error) {
	h, err := r.last(ctx, simulated, func(h *Head) bool { return !h.Plain() })
	if err != nil || h == nil {
		return nil, err
	}
	return r.Find(ctx, h.ID)
}

// Find reads all that is kept of a run; nil: there is none of that name.
func (r *Records) Find(ctx context.Context, id string) (*Record, error) {
	rec, err := r.glance(ctx, id)
	if err != nil || rec == nil {
		return nil, err
	}
	return rec, rec.load(ctx)
}

// glance finds a run without what its devices have got and its gates have said.
func (r *Records) glance(ctx context.Context, id string) (*Record, error) {
	s, err := r.look(ctx)
	if s == nil {
		return nil, err
	}
	e, err := s.Get(ctx, keyRun(id))
	if errors.As(err, new(*store.NotFoundError)) {
		return nil, nil
	}
	if err != nil {
		return nil, r.trouble(err)
	}
	h, err := readHead(e)
	if err != nil {
		return nil, err
	}
	return &Record{Head: h, Run: h.run(), records: r, store: s, at: e.Revision}, nil
}

// create keeps a run of a plan that has not begun: as long as it is there no other is
// begun of that plan.
func (r *Records) create(ctx context.Context, h *Head, made *plan.Plan) (*Record, error) {
	s, err := r.use(ctx)
	if err != nil {
		return nil, err
	}
	h.Format, h.Changed = headFormat, time.Now().UTC()
	rec := &Record{Head: h, Run: h.run(), records: r, store: s, plan: made, kept: map[string]keptDoc{}, fresh: true}
	if h.Plan, err = putPlan(ctx, s, made); err != nil {
		return nil, r.trouble(err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	rec.at, err = s.Create(ctx, keyRun(h.ID), text)
	if errors.As(err, new(*store.ExistsError)) {
		return nil, r.started(ctx, h.ID)
	}
	return rec, r.trouble(err)
}

// started says that a plan has begun its run already.
func (r *Records) started(ctx context.Context, id string) error {
	there, err := r.Find(ctx, id)
	if err != nil || there == nil {
		return err
	}
	h := there.Head
	text := fmt.Sprintf("this plan has started run %s already, at %s by %s: that run is %s", id, h.Begun.Format("2006-01-02 15:04 MST"), h.Who, h.State)
	if h.Why != "" {
		text += ": " + h.Why
	}
	advice := "a plan starts one run: plan again"
	if !h.Over() {
		advice = "go on with it: weft rollout status shows how"
	}
	return because(Spent, hint.Wrap(errors.New(text), "%s", advice))
}

// Named finds a run by its name, or by the beginning of it.
func (r *Records) Named(ctx context.Context, name string, simulated bool) (*Record, error) {
	list, err := r.Heads(ctx, simulated)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, h := range list {
		if h.ID == name {
			return r.Find(ctx, name)
		}
		if strings.HasPrefix(h.ID, name) {
			found = append(found, h.ID)
		}
	}
	switch len(found) {
	case 0:
		return nil, because(None, r.noSuch(name, list))
	case 1:
		return r.Find(ctx, found[0])
	}
	return nil, because(Misused, fmt.Errorf("%s is the beginning of %d runs: %s", name, len(found), text.Few(found, ", ")))
}

// noSuch says which runs there are instead, the latest of them.
func (r *Records) noSuch(name string, list []*Head) error {
	err := fmt.Errorf("no run %q is kept in %s", name, r.Where())
	if len(list) == 0 {
		return hint.Wrap(err, "weft apply keeps one")
	}
	const shown = 5
	var latest []string
	for _, h := range slices.Backward(list[max(0, len(list)-shown):]) {
		latest = append(latest, h.ID)
	}
	return hint.Wrap(err, "the latest of %d: %s", len(list), strings.Join(latest, ", "))
}
