package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/prove"
	"weft/internal/run"
)

// keptBaseline stands for the baseline that is kept with the runs.
const keptBaseline = "the store"

// lastVerify is where the last verification is kept, for the report.
func (a *app) lastVerify() string { return filepath.Join(a.dir, ".weft", "verify.json") }

// baseline reads what to compare with; nil: nothing was recorded yet. A file
// that is named must be there.
func (a *app) baseline(ctx context.Context, name string) (*prove.Baseline, error) {
	if name == "" {
		return a.runs().Baseline(ctx, a.lab)
	}
	b, err := run.ReadBaseline(a.inDir(name), a.lab)
	if err == nil && b == nil {
		return nil, fmt.Errorf("--baseline: there is no %s", a.inDir(name))
	}
	return b, err
}

// keepBaseline keeps what was measured, to compare with later.
func (a *app) keepBaseline(ctx context.Context, name string, res *prove.Result) error {
	if name == keptBaseline {
		_, err := a.runs().KeepBaseline(ctx, a.lab, res)
		return err
	}
	path := a.inDir(name)
	was := path
	if !isFile(path) {
		was = "" // a device or FIFO holds no baseline
	}
	_, err := run.KeepBaseline(was, a.lab, res, func(text []byte) error {
		if !onStdout(name) {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
		}
		return a.write(ctx, path, text, outfile.Options{})
	})
	if err != nil {
		return hint.Wrap(fmt.Errorf("--save-baseline: %w", err), "%s", hint.Of(err))
	}
	return nil
}

// inDir is a file that was named, seen from the directory of --chdir.
func (a *app) inDir(name string) string {
	if filepath.IsAbs(name) || onStdout(name) {
		return name
	}
	return filepath.Join(a.dir, name)
}
