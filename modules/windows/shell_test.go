//go:build unix

package windows

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/lab/simwindows"
	"weft/internal/remote"
)

// Whatever shell a login has, the line that it gets to see is one of plain words, and what
// became of a script stands in its document: PowerShell 7 ends with 1 for any other status.
func TestShells(t *testing.T) {
	h, err := simwindows.New(simwindows.Spec{Name: "win1", Probe: func(context.Context, []byte, []string, []byte) ([]byte, []byte, int, error) {
		return []byte("out"), nil, 3, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	b := &box{Host: h, t: t}
	b.Plant(probeExe, "MZ", false)
	fault := func(names ...string) {
		t.Helper()
		for _, name := range append([]string{"mended"}, names...) {
			if err := b.Fault(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	look := ask("x", "$value = '<a>ü'\n")
	read := func() (string, error) {
		seen, err := OS().Open(reach{b}).Read(t.Context(), []remote.Look{look})
		return seen.Of(look).Text(), err
	}
	for _, shell := range []string{"mended", "pwsh"} { // cmd.exe is what there is otherwise
		fault(shell)
		if got, err := read(); got != "<a>ü" || err != nil {
			t.Errorf("%s: %q %v", shell, got, err)
		}
		var exit *remote.ExitError
		_, err := OS().Open(b).Run(t.Context(), remote.Cmd{Args: []string{agent.ProbeBin, "do"}})
		if !errors.As(err, &exit) || exit.Code != 3 || string(exit.Output.Stdout) != "out" {
			t.Errorf("%s: %v", shell, err)
		}
		fault(shell, "no-stdin")
		if got, err := read(); got != "<a>ü" || err != nil {
			t.Errorf("%s, as a file: %q %v", shell, got, err)
		}
		fault(shell, "constrained")
		if _, err := read(); err == nil || !strings.Contains(err.Error(), "language mode ConstrainedLanguage") {
			t.Errorf("%s: %v", shell, err)
		}
		fault(shell, "no-admin")
		if _, err := read(); err == nil || !strings.Contains(err.Error(), `WIN1\admin is no administrator there`) {
			t.Errorf("%s: %v", shell, err)
		}
	}
	// What a profile prints stands before the document.
	fault("greeting")
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "Welcome to the file servers") || !strings.Contains(hint.Of(err), "prints a greeting") {
		t.Errorf("%v; %s", err, hint.Of(err))
	}
}

// Two adapters of one description are told apart by where they are: what is for one of them
// is set on that one.
func TestTwins(t *testing.T) {
	b := newBox(t, simwindows.NIC{PCI: nicA, RDMA: true}, simwindows.NIC{PCI: nicB, RDMA: true})
	if err := b.Fault("twins"); err != nil {
		t.Fatal(err)
	}
	doAll(t, b.transport(), (&Adapter{PCI: nicB, Values: map[string]string{kwJumbo: "9014"}}).Steps(&Adapter{PCI: nicB, Values: map[string]string{kwJumbo: "1514"}}))
	seen, err := b.transport().Read(t.Context(), adapterLooks())
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAdapters(seen)
	if err != nil || len(all) != 3 {
		t.Fatal(len(all), err)
	}
	for _, a := range all {
		if want := map[bool]int{true: 9000, false: 1500}[a.PCI == nicB]; a.MTU != want || a.Model != all[0].Model || b.Restarts(a.PCI) != map[bool]int{true: 1}[a.PCI == nicB] {
			t.Errorf("%s, %s: MTU %d, %d restarts", a.PCI, a.Model, a.MTU, b.Restarts(a.PCI))
		}
	}
}
