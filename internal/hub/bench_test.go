package hub

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// BenchmarkRuns is what a hub takes with 10,000 runs: each a plan of 10 kB as a blob,
// and twelve documents of 500 bytes.
func BenchmarkRuns(b *testing.B) {
	const runs, documents, writers = 10_000, 12, 32
	p := found(b, Founding{Plain: true})
	before := reach(b, p)
	c := credential(b, before, alice)
	if err := before.Close(); err != nil {
		b.Fatal(err)
	}
	child, url := process(b, p)
	s := mustOpen(b, url, c)
	b.ReportMetric(memory(b, child.Process.Pid, "VmRSS"), "MB-empty")
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for r := w; r < runs; r += writers {
				d, err := s.PutBlob(b.Context(), strings.NewReader(fmt.Sprintf("%010000d", r)))
				for i := 0; i < documents && err == nil; i++ {
					_, err = s.Create(b.Context(), fmt.Sprintf("run/r%d/device/d%d", r, i), []byte(string(d)+strings.Repeat("x", 429)))
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(memory(b, child.Process.Pid, "VmRSS"), "MB-written")
	all, _, err := s.List(b.Context(), "run/r77")
	if err != nil || len(all) != documents {
		b.Errorf("%d documents: %v", len(all), err)
	}
	if err := child.Process.Kill(); err != nil {
		b.Fatal(err)
	}
	_ = child.Wait()
	child, url = process(b, p)
	b.ReportMetric(memory(b, child.Process.Pid, "VmRSS"), "MB-started")
	s = mustOpen(b, url, c)
	if all, _, err = s.List(b.Context(), ""); err != nil || len(all) != runs*documents {
		b.Errorf("%d documents: %v", len(all), err)
	}
	b.ReportMetric(memory(b, child.Process.Pid, "VmRSS"), "MB-listed")
	b.ReportMetric(memory(b, child.Process.Pid, "VmHWM"), "MB-most")
}

// process serves a hub in a process of its own.
func process(t testing.TB, p *Place) (child *exec.Cmd, url string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child = exec.Command(self)
	child.Env = append(os.Environ(), serverEnv+"="+p.dir)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = child.Process.Kill(), child.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if url = strings.TrimSpace(line); err != nil || !strings.HasPrefix(url, "nats://") {
		t.Fatalf("%q: %v", line, err)
	}
	return child, url
}

// memory is what a process has in memory, in MB.
func memory(b *testing.B, pid int, what string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[0] == what+":" {
			kb, err := strconv.Atoi(f[1])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kb) / 1000
		}
	}
	b.Skip("no " + what)
	return 0
}
