package run

import (
	"fmt"
	"os"
	"path/filepath"
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

// KeepBaseline keeps what was measured, to compare with later. It says how many
// flows that are.
func KeepBaseline(path string, simulated bool, res *prove.Result) (int, error) {
	b := &prove.Baseline{Format: prove.BaselineFormat, Simulated: simulated}
	if there, err := readJSON(path, b); err != nil || there && b.Check(simulated) != nil {
		*b = prove.Baseline{Format: prove.BaselineFormat, Simulated: simulated} // what cannot be compared with is of no use
	}
	n := b.Record(res, time.Now().UTC())
	if n == 0 {
		return 0, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, fmt.Errorf("keep the baseline: %w", err)
	}
	return n, writeJSON(path, b)
}
