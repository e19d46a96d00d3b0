package run

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
)

// ReadBaseline reads what to compare with; nil: nothing was recorded yet.
func ReadBaseline(path string, simulated bool) (*prove.Baseline, error) {
	b := new(prove.Baseline)
	there, err := readJSON(path, b)
	if err == nil && there {
		if err = b.Check(simulated); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	switch {
	case err != nil:
		return nil, hint.Wrap(err, "measure a new one: weft verify --save-baseline")
	case !there:
		return nil, nil
	}
	return b, nil
}

// KeepBaseline writes a baseline of what was measured, in addition to the flows that the
// file was holds; "": none is read. It returns the number of measured flows.
func KeepBaseline(was string, simulated bool, res *prove.Result, write func(text []byte) error) (int, error) {
	b := &prove.Baseline{Format: prove.BaselineFormat, Simulated: simulated}
	if was != "" {
		if there, err := readJSON(was, b); err != nil || there && b.Check(simulated) != nil {
			*b = prove.Baseline{Format: prove.BaselineFormat, Simulated: simulated} // what cannot be compared with is of no use
		}
	}
	n := b.Record(res, time.Now().UTC())
	if n == 0 {
		return 0, nil
	}
	text, err := json.Marshal(b)
	if err == nil {
		err = write(append(text, '\n'))
	}
	return n, err
}

// Baseline is what measurements are compared with where no file is named; nil: nothing
// was recorded yet.
func (r *Records) Baseline(ctx context.Context, simulated bool) (*prove.Baseline, error) {
	s, err := r.look(ctx)
	if s == nil {
		return nil, err
	}
	b := new(prove.Baseline)
	there, err := getLarge(ctx, s, keyBaseline(simulated), b)
	if err != nil {
		return nil, r.trouble(fmt.Errorf("the baseline: %w", err))
	}
	if !there {
		return nil, nil
	}
	if err := b.Check(simulated); err != nil {
		return nil, hint.Wrap(fmt.Errorf("the baseline: %w", err), "measure a new one: weft verify --save-baseline")
	}
	return b, nil
}

// KeepBaseline keeps what was measured there. It says how many flows that are.
func (r *Records) KeepBaseline(ctx context.Context, simulated bool, res *prove.Result) (int, error) {
	s, err := r.use(ctx)
	if err != nil {
		return 0, err
	}
	b := new(prove.Baseline)
	if there, err := getLarge(ctx, s, keyBaseline(simulated), b); err != nil || !there || b.Check(simulated) != nil {
		*b = prove.Baseline{Format: prove.BaselineFormat, Simulated: simulated} // what cannot be compared with is of no use
	}
	n := b.Record(res, time.Now().UTC())
	if n == 0 {
		return 0, nil
	}
	if err := putLarge(ctx, s, keyBaseline(simulated), b); err != nil {
		return 0, r.trouble(fmt.Errorf("keep the baseline: %w", err))
	}
	return n, nil
}
