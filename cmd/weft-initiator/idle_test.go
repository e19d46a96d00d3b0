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

// TestIdleTargetIsSmall: a target whose 64 connections have all moved data, and
// are silent now, holds less than 64 MB.
func TestIdleTargetIsSmall(t *testing.T) {
	const most, queues = 64_000_000, 63 // and an admin queue
	bin := buildAgent(t, "weft-target")
	for name, args := range map[string][]string{"event": nil, "poll": {"--poll", "1"}} {
		t.Run(name, func(t *testing.T) {
			if name == "poll" && !canPoll() {
				t.Skip("polling needs two processors")
			}
			p := newTargetProcess(t, bin, restartConfig, args...)
			if err := p.start(); err != nil {
				t.Fatal(err)
			}
			defer p.kill()
			empty := resident(t, p.cmd.Process.Pid)
			carrier := &tcp.Transport{DialAddr: func(ctx context.Context, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "tcp", p.port)
			}}
			c, err := initiator.Connect(t.Context(), carrier, initiator.Options{
				Addr: "10.40.1.11:4420", SubNQN: "nqn.2026-11.net.example:pilot:st1", HostNQN: "nqn.2026-11.net.example:pilot:h1",
				Queues: queues, QueueSize: 1023, KATO: time.Minute, Timeout: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if len(c.Queues()) != queues {
				t.Fatalf("%d queues", len(c.Queues()))
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
			got := resident(t, p.cmd.Process.Pid)
			if got >= most {
				t.Errorf("%d bytes with 64 connections, want less than %d", got, most)
			}
			t.Logf("%.1f MB without a connection, %.1f MB with 64", float64(empty)/1e6, float64(got)/1e6)
		})
	}
}
