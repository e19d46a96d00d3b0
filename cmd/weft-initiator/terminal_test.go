package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"weft/internal/agent"
	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/target"
	"weft/internal/nvme/tcp"
)

// TestHostileNames: whatever a target calls itself, no command passes on what a
// terminal would obey, nor a line or a cell of its making; JSON keeps the text.
func TestHostileNames(t *testing.T) {
	const (
		nqn    = "nqn.2026-11.net.example:\u009b31m\u202e\U000e0001st1"
		host   = "nqn.2026-11.net.example:h1"
		serial = "S\x1b]0;owned\a\r\n\terror:"
		model  = "1\x1b[2J\n\x7f"
		zone   = "[fe80::1%\x1b[31m\n]:4420"
	)
	m, err := backend.NewMemory(1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := target.New(target.Config{
		Subsystems: []target.Subsystem{{NQN: nqn, Serial: serial, AllowHosts: []string{host}, Namespaces: []target.Namespace{{ID: 1, Backend: m}}}},
		Portals:    []target.Portal{{Transport: "tcp", Address: zone}}, Firmware: model,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tgt.Close()
	l, err := (&tcp.Transport{}).Listen(t.Context(), fabric.ListenParams{
		Addr: "127.0.0.1:0", MaxDepth: target.MaxDepth, InCapsule: target.InCapsule, MaxTransfer: target.MaxTransfer,
	}, tgt.Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ask := func(status int, args ...string) (out, errs string) {
		t.Helper()
		var o, e strings.Builder
		if got := run(append(args, "--traddr", l.Addr(), "--hostnqn", host), &o, &e); got != status {
			t.Errorf("%q: exit status %d, want %d: %s", args, got, status, e.String())
		}
		for _, text := range []string{o.String(), e.String()} {
			for _, r := range strings.ReplaceAll(text, "\n", "") {
				if !unicode.IsPrint(r) {
					t.Errorf("%q prints %q in %q", args, r, text)
					break
				}
			}
		}
		return o.String(), e.String()
	}
	lines := func(text string, want int) {
		t.Helper()
		if got := strings.Count(text, "\n"); got != want {
			t.Errorf("%d lines, want %d: %q", got, want, text)
		}
	}
	out, _ := ask(0, "check", "--nqn", nqn)
	lines(out, 1)
	out, _ = ask(0, "discover")
	lines(out, 2)
	_, errs := ask(agent.ExitFailed, "check", "--nqn", nqn, "--nsid", "7")
	lines(errs, strings.Count(errs, "error:")+strings.Count(errs, "hint:"))
	ask(0, "run", "--nqn", nqn, "--runtime", "10ms", "--rw", "read")

	out, _ = ask(0, "check", "--json", "--nqn", nqn)
	var said []checked
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said) != 1 || said[0].Serial != serial[:20] || said[0].Firmware != model {
		t.Errorf("%q: %v", out, err)
	}
	out, _ = ask(0, "discover", "--json")
	var found []agent.Discovered
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 2 || found[1].NQN != nqn || found[1].Address != zone {
		t.Errorf("%q: %v", out, err)
	}
}
