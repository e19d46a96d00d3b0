//go:build linux

package guest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestForget builds leave nothing that is never used again, and take nothing
// that is.
func TestForget(t *testing.T) {
	cache := t.TempDir()
	mk := func(name string, age time.Duration) {
		t.Helper()
		dir := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Join(dir, "root"), 0o700); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
	}
	mk("image-1", 4*time.Hour)
	mk("image-2", 3*time.Hour)
	mk("image-3", 2*time.Hour)
	mk("image-4", time.Hour)
	mk("image-4.part", time.Hour) // of a build that was killed
	mk("run-1", time.Hour)
	if err := forgetParts(cache); err != nil {
		t.Fatal(err)
	}
	if err := forget(cache, filepath.Join(cache, "image-1")); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range left {
		left[n] = filepath.Base(left[n])
	}
	if want := []string{"image-1", "image-3", "image-4", "run-1"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

// TestReap has a run that crashed, one that goes on, and a process that got the
// number of one of the crashed run's.
func TestReap(t *testing.T) {
	cache := t.TempDir()
	child := func(arg string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-c", "read -r _", "sh", arg)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		return cmd
	}
	write := func(dir, name string, pid int) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strconv.Itoa(pid)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crashed, other := filepath.Join(cache, "run-crashed"), filepath.Join(cache, "run-other")
	stale, stranger, theirs := child(filepath.Join(crashed, "disk")), child("elsewhere"), child(filepath.Join(other, "disk"))
	write(crashed, "one.pid", stale.Process.Pid)
	write(crashed, "two.pid", stranger.Process.Pid)
	write(other, "one.pid", theirs.Process.Pid)
	lock, err := tryLock(filepath.Join(other, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()

	run, err := newRunDir(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	if err := stale.Wait(); err == nil || stale.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the crashed run's process ended with %v", err)
	}
	for _, cmd := range []*exec.Cmd{stranger, theirs} {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("%q: %v", cmd.Args, err)
		}
	}
	if _, err := os.Stat(crashed); !os.IsNotExist(err) {
		t.Errorf("the crashed run's directory: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the other run's directory: %v", err)
	}
	if err := run.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(run.path); !os.IsNotExist(err) {
		t.Errorf("the own directory: %v", err)
	}
}

// testNeverBoots starts a guest whose disk holds nothing: it is tried twice,
// the report has the end of its console, and nothing is left of it.
func testNeverBoots(t *testing.T, l *Lab, _, _ *Guest) {
	empty := filepath.Join(t.TempDir(), "disk")
	if err := sparse(empty, 1<<30); err != nil {
		t.Fatal(err)
	}
	image := *l.o.Image
	image.Disk = empty
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache) // apart from other runs
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var said bytes.Buffer
	_, err := Start(ctx, []Spec{{Name: "never.example.net"}}, Options{Image: &image, Log: &said})
	if err == nil {
		t.Fatal("it boots")
	}
	if n := strings.Count(err.Error(), "guest never.example.net does not boot: QEMU"); n != bootTries {
		t.Errorf("tried %d times: %v", n, err)
	}
	if !strings.Contains(err.Error(), "lab: the disk does not mount") {
		t.Errorf("without its console: %v", err)
	}
	if !strings.Contains(said.String(), "never.example.net does not boot") {
		t.Errorf("nothing was said of the first try: %q", said.String())
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "weft", "lab", "run-*")); left != nil {
		t.Errorf("left: %q", left)
	}
}
