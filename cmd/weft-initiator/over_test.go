package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
	"weft/internal/nvme/wire"
)

// late is a fabric whose devices find nobody at first.
type late struct {
	*verbstest.Fabric
	fails []error // of the next attempts
}

func (l *late) Resolve(ctx context.Context, r verbs.Route) (verbs.Link, error) {
	if len(l.fails) > 0 {
		err := l.fails[0]
		l.fails = l.fails[1:]
		return nil, err
	}
	return l.Fabric.Resolve(ctx, r)
}

// silent is a target that is connected to, and no more.
type silent struct{}

func (silent) Begin(*fabric.Exchange) (int, wire.Status) { return 0, wire.InvalidOpcode }
func (silent) Execute(*fabric.Exchange)                  {}
func (silent) Disconnected(error)                        {}

// TestPreference: a way that comes back while RDMA fails is no reason for TCP;
// anything else is.
func TestPreference(t *testing.T) {
	refused := errors.New("refused")
	for _, test := range []struct {
		name  string
		fails []error
		want  string
	}{
		{"RDMA connects", nil, "rdma"},
		{"the way comes back", []error{verbs.ErrNobody}, "rdma"},
		{"only for TCP", []error{verbs.ErrNobody, verbs.ErrNobody}, "tcp"},
		{"RDMA is not offered", []error{refused}, "tcp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &verbstest.Fabric{}
			accept := func(fabric.Conn) fabric.Handler { return silent{} }
			overTCP, err := (&tcp.Transport{}).Listen(t.Context(), fabric.ListenParams{Addr: "127.0.0.1:0"}, accept)
			if err != nil {
				t.Fatal(err)
			}
			defer overTCP.Close()
			overRDMA, err := (&rdma.Transport{Verbs: f}).Listen(t.Context(), fabric.ListenParams{Addr: overTCP.Addr()}, accept)
			if err != nil {
				t.Fatal(err)
			}
			defer overRDMA.Close()
			by := &carriage{told: func(string) {}}
			p := &preference{rdma: &rdma.Transport{Verbs: &late{f, test.fails}}, tcp: &tcp.Transport{}, by: by, chosen: map[string]fabric.Transport{}}
			q, err := p.Dial(t.Context(), fabric.DialParams{Addr: overTCP.Addr(), Depth: 8, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			used, degraded := by.result()
			if used != test.want || (degraded != "") != (used == "tcp") || p.chosen[overTCP.Addr()].Name() != used {
				t.Errorf("%s, degraded: %q", used, degraded)
			}
		})
	}
}

// TestTLSKeysOffered: a target may know a key by an identity of version 1, or only by one
// of version 0, which has no room for the longest names.
func TestTLSKeysOffered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("NVMeTLSkey-1:01:uCgb3RuYvaLat0p3YcjdfuWralsZqKq5NaWvnYKwltNL2sMp:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := "nqn.2026-11.net.example:" + strings.Repeat("l", 150)
	for subsystem, want := range map[string][]string{"nqn.2026-11.net.example:s": {"NVMe1R01 ", "NVMe0R01 "}, long: {"NVMe1R01 "}} {
		h := &host{way: agent.Way{HostNQN: "nqn.2026-11.net.example:" + strings.Repeat("h", 50), TLSKeyFile: file}}
		keys, err := h.tlsKeys(agent.Places{}, subsystem)
		if err != nil || len(keys) != len(want) {
			t.Fatalf("%v, %v", keys, err)
		}
		for i, k := range keys {
			if !strings.HasPrefix(k.Identity, want[i]) || k.Suite != tls13.AES128SHA256 {
				t.Errorf("%v, want %q", k, want[i])
			}
		}
	}
	if keys, err := new(host).tlsKeys(agent.Places{}, "nqn"); keys != nil || err != nil {
		t.Errorf("%v, %v without a key", keys, err)
	}
}
