//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An spdk is the programs of an SPDK that is on this machine. They have memory of
// their own kind, in huge pages where the machine has set some aside.
type spdk struct {
	target, perf string
	memory       []string // flags
	pages        string   // which that is, for people
}

// spdkMemory is what each of its two programs takes, MB: each of 1,024 connections has over 1 MB of buffers.
const spdkMemory = 4096

// findSPDK skips the benchmark where the folder that SPDK names has not been built.
func findSPDK(b *testing.B) *spdk {
	b.Helper()
	dir := os.Getenv("SPDK")
	if dir == "" {
		b.Skip("no SPDK to measure beside: SPDK=DIR names one that was built here, with build/bin/nvmf_tgt in it")
	}
	s := &spdk{target: filepath.Join(dir, "build/bin/nvmf_tgt"), perf: filepath.Join(dir, "build/bin/spdk_nvme_perf")}
	for _, bin := range []string{s.target, s.perf} {
		if _, err := os.Stat(bin); err != nil {
			b.Skipf("SPDK=%s is no SPDK that was built here: %v", dir, err)
		}
	}
	size := fmt.Sprint(spdkMemory)
	s.memory, s.pages = []string{"-s", size}, "huge pages"
	if freeHuge(b) < 2*spdkMemory {
		s.memory, s.pages = []string{"--no-huge", "-s", size}, "no huge pages"
	}
	return s
}

// freeHuge is how many MB of huge pages are free.
func freeHuge(b *testing.B) int {
	b.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		b.Fatal(err)
	}
	of := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			of[f[0]], _ = strconv.Atoi(f[1])
		}
	}
	return of["HugePages_Free:"] * of["Hugepagesize:"] / 1024
}

// serve starts its target on the first processor, with the same subsystems as
// peerConfig has, and waits until it listens. That is at 127.0.0.1: on every other address,
// of the loopback interface too, SPDK sends without copying, by MSG_ZEROCOPY, where a command
// then waits 40 ms for an acknowledgement that its host delays.
func (s *spdk) serve(b *testing.B) *peerEnd {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free now
	if err != nil {
		b.Fatal(err)
	}
	e := &peerEnd{name: "SPDK", addr: l.Addr().String(), said: &transcript{}}
	_ = l.Close()
	dir := b.TempDir()
	file := filepath.Join(dir, "nvmf.json")
	if err := os.WriteFile(file, spdkConfig(b, e.addr), 0o600); err != nil {
		b.Fatal(err)
	}
	args := append([]string{"-m", "0x1", "--no-pci", "-c", file, "-r", filepath.Join(dir, "rpc")}, s.memory...)
	e.cmd = exec.Command(s.target, args...)
	e.cmd.Stdout, e.cmd.Stderr = e.said, e.said
	if err := e.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(e.end)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", e.addr); err == nil {
			_ = c.Close()
			return e
		}
	}
	b.Fatalf("SPDK's target does not listen:\n%s", e.said.String())
	return nil
}

// spdkConfig is JSON as its framework reads it with -c.
func spdkConfig(b *testing.B, addr string) []byte {
	b.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		b.Fatal(err)
	}
	type params map[string]any
	type call struct {
		Method string `json:"method"`
		Params params `json:"params"`
	}
	var disks []call
	nvmf := []call{{"nvmf_create_transport", params{"trtype": "TCP", "max_queue_depth": 256}}}
	for n := range peerSubsystems {
		disk, nqn := fmt.Sprint("disk", n), peerNQN(n)
		disks = append(disks, call{"bdev_malloc_create", params{"name": disk, "block_size": 512, "num_blocks": peerSize(n) / 512}})
		nvmf = append(nvmf,
			call{"nvmf_create_subsystem", params{"nqn": nqn, "serial_number": fmt.Sprint("SPDK", n), "allow_any_host": true}},
			call{"nvmf_subsystem_add_ns", params{"nqn": nqn, "namespace": params{"bdev_name": disk}}},
			call{"nvmf_subsystem_add_listener", params{"nqn": nqn, "listen_address": params{"trtype": "TCP", "adrfam": "IPv4", "traddr": host, "trsvcid": port}}})
	}
	type subsystem struct {
		Name  string `json:"subsystem"`
		Calls []call `json:"config"`
	}
	text, err := json.Marshal(map[string]any{"subsystems": []subsystem{{"bdev", disks}, {"nvmf", nvmf}}})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// run puts a target under a load of SPDK's perf, which polls on the second processor.
func (s *spdk) run(b *testing.B, e *peerEnd, row peerRow) peerFigure {
	b.Helper()
	queues, subsystems := row.queues(), row.subsystems()
	host, port, err := net.SplitHostPort(e.addr)
	if err != nil {
		b.Fatal(err)
	}
	args := append([]string{
		"-c", "0x2", "-L", "-t", "1", "-a", "1", "-w", row.pattern, "-o", fmt.Sprint(row.size),
		"-q", fmt.Sprint(row.depth * queues), "-P", fmt.Sprint(queues),
	}, s.memory...)
	if row.digests {
		args = append(args, "-H", "-I")
	}
	for n := range subsystems {
		args = append(args, "-r", fmt.Sprintf("trtype:TCP adrfam:IPv4 traddr:%s trsvcid:%s subnqn:%s hostnqn:%s", host, port, peerNQN(n), peerHost))
	}
	var out bytes.Buffer
	cmd := exec.Command(s.perf, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	share := e.share(b)
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %q: %v\n%s", s.perf, args, err, out.String())
	}
	f, err := parsePerf(out.String(), subsystems)
	if err != nil {
		b.Fatalf("%s %q: %v\n%s", s.perf, args, err, out.String())
	}
	f.cores = 1 + share() // perf itself polls
	return f
}

var (
	perfTotal = regexp.MustCompile(`(?m)^Total\s*:\s+([0-9.]+)\s`)
	perfTail  = regexp.MustCompile(`(?m)^\s*99\.00000%\s*:\s*([0-9.]+)us`)
)

// parsePerf reads what perf has printed of so many namespaces: the rate of all, and the
// longest p99 of one. Commands that failed are in its exit status; of its log not every
// error is one: SPDK 26.09 logs its own disconnecting as a transport error.
func parsePerf(text string, namespaces int) (f peerFigure, err error) {
	total, tails := perfTotal.FindStringSubmatch(text), perfTail.FindAllStringSubmatch(text, -1)
	if total == nil || len(tails) != namespaces {
		return f, fmt.Errorf("perf has printed no total, or a p99 of %d namespaces, want %d", len(tails), namespaces)
	}
	f.rate, err = strconv.ParseFloat(total[1], 64)
	for _, t := range tails {
		us, e := strconv.ParseFloat(t[1], 64)
		f.p99, err = max(f.p99, us), cmp.Or(err, e)
	}
	return f, err
}

// TestParsePerf reads lines as perf writes them, of two namespaces.
func TestParsePerf(t *testing.T) {
	const text = `
TCP  (addr:127.0.0.1 subnqn:nqn.a) NSID 1 from core  1:   30000.00     117.19      13.00       9.10     100.20
TCP  (addr:127.0.0.1 subnqn:nqn.b) NSID 1 from core  1:   20000.50      78.13      13.00       9.10     100.20
========================================================
Total                                                  :   50000.50     195.31      13.00       9.10     100.20

Summary latency data for TCP  (addr:127.0.0.1 subnqn:nqn.a) NSID 1 from core 1:
 50.00000% :    10.800us
 99.00000% :    27.100us
 99.90000% :   103.000us
Summary latency data for TCP  (addr:127.0.0.1 subnqn:nqn.b) NSID 1 from core 1:
 99.00000% :    31.250us
`
	if f, err := parsePerf(text, 2); err != nil || f.rate != 50000.5 || f.p99 != 31.25 {
		t.Errorf("%+v, %v", f, err)
	}
	for wrong, text := range map[string]string{
		"of 2 namespaces, want 3": text,
		"no total":                strings.ReplaceAll(text, "Total", "total"),
	} {
		if _, err := parsePerf(text, 3); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%v, want %s", err, wrong)
		}
	}
}
