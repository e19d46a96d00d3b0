//go:build unix

package labctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/hint"
)

// fake writes a shell script that stands in for weft-lab.
func fake(t *testing.T, script string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+strings.ReplaceAll(script, "HELLO", fmt.Sprintf(`echo '{"version": "%s"}'`, Version()))+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestStartRefuses: a program that is not weft-lab of this version gets no order, and one that
// fails is reported with its own words.
func TestStartRefuses(t *testing.T) {
	for name, c := range map[string]struct{ script, want, hint string }{
		"another version": {`echo '{"version": "0.0.9 (other)"}'; exec cat >"$0.order"`, "is version 0.0.9 (other), and this weft is version " + Version(), "make build"},
		"no weft-lab":     {`echo usage; exec cat >"$0.order"`, "does not state its version", ""},
		"no version":      {`echo '{}'; exec cat >"$0.order"`, "does not state its version", ""},
		"ends at once":    {`echo no such library >&2; exit 3`, "no such library", ""},
		"fails":           {`HELLO; echo '{"error": "no room", "hint": "make some"}'; exec cat >/dev/null`, "no room", "make some"},
		"dies":            {`HELLO; echo out of memory >&2; kill -9 $$`, "ended early: signal: killed:\nout of memory", ""},
		"no state":        {`HELLO; echo '{}'; exec cat >/dev/null`, "did not report a state", ""},
	} {
		t.Run(name, func(t *testing.T) {
			program := fake(t, c.script)
			_, err := Start(t.Context(), program, Order{}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.hint) {
				t.Errorf("%v, hint %q; want %q, %q", err, hint.Of(err), c.want, c.hint)
			}
			if order, err := os.ReadFile(program + ".order"); err == nil && len(order) > 0 {
				t.Errorf("it got an order: %s", order)
			}
		})
	}
}

// TestStartInterrupted: an interrupt ends the start of a lab, whether or not the program has
// stated its version.
func TestStartInterrupted(t *testing.T) {
	for _, script := range []string{`echo started >&2; exec cat >/dev/null`, `HELLO; echo started >&2; cat >/dev/null; echo '{"error": "interrupted"}'`} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Start(ctx, fake(t, script), Order{}, onWrite(cancel))
		if err == nil {
			t.Errorf("%s: it started", script)
		}
		cancel()
	}
}

// TestWait: the lab's end is reported with what went wrong.
func TestWait(t *testing.T) {
	p, err := Start(t.Context(), fake(t, `HELLO; echo '{"state": {"pid": 7}}'; cat >/dev/null; echo '{"error": "a device remains"}'`), Order{}, io.Discard)
	if err != nil || p.State.PID != 7 {
		t.Fatal(err)
	}
	if err := p.Stop(); err == nil || err.Error() != "a device remains" {
		t.Errorf("%v", err)
	}
	p, err = Start(t.Context(), fake(t, `HELLO; echo '{"state": {"pid": 7}}'; exit 4`), Order{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "ended early: exit status 4") {
		t.Errorf("%v", err)
	}
}

// TestGrammarVersion: the grammar of another version is refused.
func TestGrammarVersion(t *testing.T) {
	if _, err := ReadGrammar(t.Context(), fake(t, `echo '{"version": "0.0.9", "lines": []}'`)); err == nil || !strings.Contains(err.Error(), "0.0.9") {
		t.Errorf("%v", err)
	}
	if _, err := ReadGrammar(t.Context(), fake(t, `exit 64`)); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// onWrite calls a function at each write.
type onWrite func()

// Write implements io.Writer.
func (f onWrite) Write(text []byte) (int, error) {
	f()
	return len(text), nil
}
