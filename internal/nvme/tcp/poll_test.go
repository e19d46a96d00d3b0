//go:build linux

package tcp_test

import (
	"runtime"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/require"
)

// pollers are threads that end with the test, after its listeners.
func pollers(t testing.TB) *tcp.Pollers {
	t.Helper()
	return pollersBy(t, tcp.NewPollers)
}

func pollersBy(t testing.TB, start func(tcp.PollerOptions) (*tcp.Pollers, error)) *tcp.Pollers {
	t.Helper()
	if before := runtime.GOMAXPROCS(0); before < 3 {
		runtime.GOMAXPROCS(3)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
	p, err := start(tcp.PollerOptions{Threads: 2, Empty: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestConformancePolled(t *testing.T) {
	require.Long(t, "3 s")
	for name, header := range map[string]bool{"plain": false, "digests": true} {
		t.Run(name, func(t *testing.T) {
			nvmetest.Conformance(t, func(t *testing.T) fabric.Transport {
				tr := &tcp.Transport{Poll: true, Pollers: pollers(t)}
				return withDigests{tr, header, header}
			}, "127.0.0.1:0")
		})
	}
	t.Run("host only", func(t *testing.T) {
		nvmetest.Conformance(t, func(*testing.T) fabric.Transport { return &tcp.Transport{Poll: true} }, "127.0.0.1:0")
	})
	t.Run("target only", func(t *testing.T) {
		nvmetest.Conformance(t, func(t *testing.T) fabric.Transport { return &tcp.Transport{Pollers: pollers(t)} }, "127.0.0.1:0")
	})
	t.Run("crowd", func(t *testing.T) {
		nvmetest.Conformance(t, func(t *testing.T) fabric.Transport {
			return &tcp.Transport{Pollers: pollersBy(t, tcp.NewCrowdedPollers)}
		}, "127.0.0.1:0")
	})
}

// TestPollersAreBounded: one processor is left for everything else.
func TestPollersAreBounded(t *testing.T) {
	most := runtime.GOMAXPROCS(0) - 1
	for _, o := range []tcp.PollerOptions{{Threads: most + 1}, {Threads: -1}, {Threads: max(most, 1), CPUs: []int{1000}}, {Empty: -1}} {
		if p, err := tcp.NewPollers(o); err == nil {
			p.Close()
			t.Errorf("%+v were started", o)
		}
	}
	if most < 1 {
		return
	}
	p, err := tcp.NewPollers(tcp.PollerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

// TestBadHostsPolled: what hostile and silent hosts meet is the same.
func TestBadHostsPolled(t *testing.T) {
	require.Long(t, "4 s")
	badHosts(t, &tcp.Transport{Pollers: pollers(t)})
}

// TestBadHostsCrowded: also where pollers ask which connections have something.
func TestBadHostsCrowded(t *testing.T) {
	require.Long(t, "4 s")
	badHosts(t, &tcp.Transport{Pollers: pollersBy(t, tcp.NewCrowdedPollers)})
}

func badHosts(t *testing.T, tr *tcp.Transport) {
	t.Run("hostile", func(t *testing.T) { hostileHosts(t, tr) })
	t.Run("strangers", func(t *testing.T) { strangers(t, tr) })
	t.Run("windows", func(t *testing.T) { windowsHost(t, tr) })
	t.Run("command ids", func(t *testing.T) { commandIDs(t, tr) })
	t.Run("silent", func(t *testing.T) { silentHosts(t, tr) })
	t.Run("deaf", func(t *testing.T) { deafDeepHost(t, tr) })
	t.Run("deaf writer", func(t *testing.T) { deafDeepWriter(t, tr) })
	t.Run("deaf beside others", func(t *testing.T) { deafHostHoldsUpNobody(t, tr) })
	t.Run("deaf for long", func(t *testing.T) { deafHostIsLeft(t, tr) })
}
