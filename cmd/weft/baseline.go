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

// baseline reads what to compare with; nil: nothing was recorded yet. A file
// that is named must be there.
func (c *verifyCommand) baseline(ctx context.Context, name string) (*prove.Baseline, error) {
	if name == "" {
		return c.store.records().Baseline(ctx, c.opts.lab)
	}
	b, err := run.ReadBaseline(c.opts.inDir(name), c.opts.lab)
	if err == nil && b == nil {
		return nil, fmt.Errorf("--baseline: there is no %s", c.opts.inDir(name))
	}
	return b, err
}

// keepBaseline keeps what was measured, to compare with later.
func (c *verifyCommand) keepBaseline(ctx context.Context, name string, res *prove.Result) error {
	if name == keptBaseline {
		_, err := c.store.records().KeepBaseline(ctx, c.opts.lab, res)
		return err
	}
	path := c.opts.inDir(name)
	was := path
	if !isFile(path) {
		was = "" // a device or FIFO holds no baseline
	}
	_, err := run.KeepBaseline(was, c.opts.lab, res, func(text []byte) error {
		if !onStdout(name) {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
		}
		return c.out.write(ctx, path, text, outfile.Options{})
	})
	if err != nil {
		return hint.Wrap(fmt.Errorf("--save-baseline: %w", err), "%s", hint.Of(err))
	}
	return nil
}
