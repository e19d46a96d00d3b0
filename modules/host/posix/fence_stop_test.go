//go:build unix

package posix

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/modules/host"
)

const workerEnv = "WEFT_TEST_WORKER" // where the machine's folders are

// TestWorker is the worker of TestStoppedWorker, in a process of its own: it changes a
// file again and again under a lease of a second.
func TestWorker(t *testing.T) {
	dir := os.Getenv(workerEnv)
	if dir == "" {
		t.Skip("it is for another test")
	}
	y := yard{m: inRoot(dir)["rename"], shell: []string{"sh"}}
	c := holder("worker", 1, 1)
	c.Time = time.Second
	if _, _, held, err := y.m.Take(t.Context(), y, c, host.Note{}, "o"); err != nil || held != nil {
		t.Fatal(held, err)
	}
	way := y.m.Fence().Behind(y, c)
	for n := 1; ; n++ {
		err := way.WriteFile(t.Context(), filepath.Join(y.m.Dir, "file"), strings.NewReader("worker"), 0o600)
		fmt.Printf("wrote %d %v\n", n, err)
		if err != nil {
			if !errors.As(err, new(*host.FencedError)) {
				t.Error(err)
			}
			return
		}
	}
}

// A worker that is stopped for longer than its lease, and goes on, is refused by the
// machine at its next write: what the next one wrote stays.
func TestStoppedWorker(t *testing.T) {
	dir := t.TempDir()
	y := yard{m: inRoot(dir)["rename"], shell: []string{"sh"}}
	if y.m.Dir == "" {
		t.Skip("there is no /proc/uptime")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(self, "-test.run", "^TestWorker$", "-test.v")
	worker.Env = append(os.Environ(), workerEnv+"="+dir)
	out, err := worker.StdoutPipe()
	if err == nil {
		err = worker.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = worker.Process.Kill(), worker.Wait() })
	lines := bufio.NewScanner(out)
	for wrote := 0; wrote < 3; {
		if !lines.Scan() {
			t.Fatal("the worker does not write")
		}
		if strings.HasPrefix(lines.Text(), "wrote") {
			wrote++
		}
	}
	if err := worker.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	next := holder("next", 1, 2)
	for {
		held, err := y.m.Lease(t.Context(), y)
		if err != nil || held == nil {
			t.Fatalf("%v: %v", held, err)
		}
		if held.Left <= 0 {
			next.Over = held
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if by := y.take(t, next); by != nil {
		t.Fatalf("it is refused by %+v", by)
	}
	if err := y.m.Fence().Behind(y, next).WriteFile(t.Context(), filepath.Join(y.m.Dir, "file"), strings.NewReader("next"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := worker.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	refused := false
	for lines.Scan() {
		refused = refused || strings.HasSuffix(lines.Text(), "another weft has been there meanwhile")
	}
	if err := worker.Wait(); err != nil || !refused {
		t.Errorf("the worker ends with %v; refused: %v", err, refused)
	}
	if text, err := os.ReadFile(filepath.Join(y.m.Dir, "file")); err != nil || string(text) != "next" {
		t.Errorf("the file is %q: %v", text, err)
	}
}
