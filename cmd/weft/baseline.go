package main

import (
	"fmt"
	"path/filepath"

	"weft/internal/prove"
	"weft/internal/run"
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
	b, err := run.ReadBaseline(path, a.lab)
	if err == nil && b == nil && name != "" {
		return nil, fmt.Errorf("--baseline: there is no %s", path)
	}
	return b, err
}
