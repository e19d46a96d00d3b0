package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
)

// defaultBaseline stands for the baseline of the directory.
const defaultBaseline = ".weft/baseline.json"

// baselineFile is where a baseline is kept: what the lab has measured never
// stands next to what was measured for real.
func (a *app) baselineFile(name string) string {
	switch {
	case name != "" && name != defaultBaseline && filepath.IsAbs(name):
		return name
	case name != "" && name != defaultBaseline:
		return filepath.Join(a.dir, name)
	case a.lab:
		return filepath.Join(a.dir, ".weft", "baseline-lab.json")
	}
	return filepath.Join(a.dir, ".weft", "baseline.json")
}

// lastVerify is where the last verification is kept, for the report.
func (a *app) lastVerify() string { return filepath.Join(a.dir, ".weft", "verify.json") }

// baseline reads what to compare with; nil: nothing was recorded yet. A file
// that is named must be there.
func (a *app) baseline(name string) (*prove.Baseline, error) {
	path := a.baselineFile(name)
	b := new(prove.Baseline)
	there, err := readJSON(path, b)
	if err == nil && there {
		if err = b.Check(a.lab); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	switch {
	case err != nil:
		return nil, hint.Wrap(err, "measure a new one: weft verify --save-baseline")
	case !there && name != "":
		return nil, fmt.Errorf("--baseline: there is no %s", path)
	case !there:
		return nil, nil
	}
	return b, nil
}

// record keeps what was measured, to compare with later. It says how many flows
// that are.
func (a *app) record(name string, res *prove.Result) (int, error) {
	path := a.baselineFile(name)
	b := &prove.Baseline{Format: prove.BaselineFormat, Simulated: a.lab}
	if there, err := readJSON(path, b); err != nil || there && b.Check(a.lab) != nil {
		*b = prove.Baseline{Format: prove.BaselineFormat, Simulated: a.lab} // what cannot be compared with is of no use
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
