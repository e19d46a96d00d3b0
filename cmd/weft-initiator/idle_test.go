//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/nvme/initiator"
	"weft/internal/nvme/tcp"
)

// resident is the memory of a process in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("no VmRSS in %q", text)
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestIdleTargetIsSmall: a target whose 64 connections have all moved data, and are
// silent now, holds less than 64 MB, and one with 1,024 on which nobody asks for anything
// less than 100 MB.
func TestIdleTargetIsSmall(t *testing.T) {
	bin := buildAgent(t, "weft-target")
	for mode, args := range map[string][]string{"event": nil, "poll": {"--poll", "1"}} {
		for _, tt := range []struct {
			hosts int // with 64 connections each, one of which is of an admin queue
			moves bool
			most  int
		}{{1, true, 64_000_000}, {16, false, 100_000_000}} {
			t.Run(fmt.Sprintf("%s/%d", mode, 64*tt.hosts), func(t *testing.T) {
				if mode == "poll" && !canPoll() {
					t.Skip("polling needs two processors")
				}
				p := newTargetProcess(t, bin, restartConfig, args...)
				if err := p.start(); err != nil {
					t.Fatal(err)
				}
				defer p.kill()
				empty := resident(t, p.cmd.Process.Pid)
				for range tt.hosts {
					connectIdle(t, p.port, tt.moves)
				}
				got := resident(t, p.cmd.Process.Pid)
				if got >= tt.most {
					t.Errorf("%d bytes with %d connections, want less than %d", got, 64*tt.hosts, tt.most)
				}
				t.Logf("%.1f MB without a connection, %.1f MB with %d", float64(empty)/1e6, float64(got)/1e6, 64*tt.hosts)
			})
		}
	}
}

// connectIdle makes 64 connections until the end of the test, which move data first where
// moves says so.
func connectIdle(t *testing.T, port string, moves bool) {
	t.Helper()
	const queues = 63 // and an admin queue
	carrier := &tcp.Transport{DialAddr: func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", port)
	}}
	c, err := initiator.Connect(t.Context(), carrier, initiator.Options{
		Addr: "10.40.1.11:4420", SubNQN: "nqn.2026-11.net.example:pilot:st1", HostNQN: "nqn.2026-11.net.example:pilot:h1",
		Queues: queues, QueueSize: 1023, KATO: time.Minute, Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // its target may be gone
	if len(c.Queues()) != queues {
		t.Fatalf("%d queues", len(c.Queues()))
	}
	if !moves {
		return
	}
	ns, data := c.Namespaces()[0], make([]byte, 128<<10)
	for _, q := range c.Queues() {
		if err := q.Write(ns, 0, data); err != nil {
			t.Fatal(err)
		}
		if err := q.Read(ns, 0, data); err != nil {
			t.Fatal(err)
		}
	}
}
