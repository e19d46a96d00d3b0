package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Whoever ends record is told what was interrupted.
func TestRecordInterrupted(t *testing.T) {
	dir := t.TempDir()
	const files = `
weft {
  name = "pod"
}
credential "lab" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}
switch "a" {
  os         = "nxos"
  host       = "a.example.net"
  credential = credential.lab
}
`
	if err := os.WriteFile(filepath.Join(dir, "a.weft.hcl"), []byte(files), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WEFT_SWITCH_PASSWORD", "lab")
	t.Setenv("HOME", dir)
	p := newServices(nil, io.Discard, io.Discard, nil)
	p.opts.dir, p.opts.parallelism = dir, 1
	c := &recordCommand{opts: p.opts, out: p.out, fabric: p.fabric}
	ctx, end := context.WithCancelCause(t.Context())
	end(signalled{os.Interrupt})
	err := c.recordSwitch(ctx, "switch.a", "", false)
	if err == nil || err.Error() != "interrupted while asking switch.a, nothing is written: interrupt signal received" || exitCode(ctx, err) != exitInterrupted {
		t.Errorf("%v, exit %d", err, exitCode(ctx, err))
	}
}
