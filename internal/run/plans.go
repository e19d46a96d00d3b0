package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/text"
	"weft/plan"
)

// A keptPlan is what a store says of a plan that it keeps before it has a run.
type keptPlan struct {
	Run       string    `json:"run"` // that it is to be
	Owner     string    `json:"owner"`
	Simulated bool      `json:"simulated"`
	Created   time.Time `json:"created"`
	By        string    `json:"by"`
}

// KeepPlan keeps a saved plan for whoever applies it by its digest.
func (r *Records) KeepPlan(ctx context.Context, p *plan.Plan, by string) (store.Digest, error) {
	s, err := r.use(ctx)
	if err != nil {
		return "", err
	}
	d, err := putPlan(ctx, s, p)
	if err != nil {
		return "", r.trouble(err)
	}
	text, err := json.Marshal(keptPlan{p.Run, p.Owner, p.Simulated, p.Created, by})
	if err == nil {
		err = put(ctx, s, keyPlan(d), text)
	}
	return d, r.trouble(err)
}

// leastDigits are how many digits of a digest name a plan: with fewer, whoever may keep plans
// could make one with the same beginning.
const leastDigits = 16

// PlanText reads a plan that is kept, by its digest or the beginning of it.
func (r *Records) PlanText(ctx context.Context, digest string) ([]byte, error) {
	if digits := strings.TrimPrefix(digest, "sha256-"); len(digits) < leastDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return nil, because(Misused, hint.Wrap(fmt.Errorf("store:%s: a plan is named by sha256- and at least %d hexadecimal digits", digest, leastDigits),
			"weft plan --out shows them; all 64 cannot be taken by another plan"))
	}
	s, err := r.use(ctx)
	if err != nil {
		return nil, err
	}
	entries, _, err := s.List(ctx, "plan")
	if err != nil {
		return nil, r.trouble(err)
	}
	var found []string
	for _, e := range entries {
		name := strings.TrimPrefix(e.Key, "plan/")
		if strings.HasPrefix(name, digest) || strings.HasPrefix(strings.TrimPrefix(name, "sha256-"), digest) {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 0:
		return nil, because(Misused, hint.Wrap(fmt.Errorf("no plan %q is kept in %s", digest, r.Where()), "weft plan --out FILE keeps one there"))
	case len(found) > 1:
		return nil, because(Misused, fmt.Errorf("%s is the beginning of %d plans: %s", digest, len(found), text.Few(found, ", ")))
	}
	blob, err := readBlob(ctx, s, store.Digest(found[0]), plan.MaxFile)
	return blob, r.trouble(err)
}

// Begun finds the rollout's run that a plan has started already, to go on with it; nil:
// it has started none, or one without a rollout that is not over. One that is over is
// an Error of the cause Spent.
func (r *Records) Begun(ctx context.Context, p *plan.Plan) (*Record, error) {
	if p.Run == "" {
		return nil, nil
	}
	rec, err := r.Find(ctx, p.Run)
	switch {
	case err != nil || rec == nil:
		return nil, err
	case rec.Over():
		return nil, r.started(ctx, rec.ID)
	}
	made, err := p.Digest()
	if err != nil {
		return nil, err
	}
	if rec.Head.Plan != store.Digest("sha256-"+made) {
		return nil, because(Spent, errors.New("run "+rec.ID+" is on its way with another plan than this one, which has the same name of a run"))
	}
	if rec.Plain() {
		return nil, nil
	}
	return rec, nil
}
