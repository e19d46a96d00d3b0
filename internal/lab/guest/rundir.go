//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A runDir holds everything of a run that is not a process. Whoever runs holds
// its lock, so a run directory without a holder is that of a crashed run.
type runDir struct {
	path string
	lock *os.File
}

// newRunDir makes a run directory, after taking away those of crashed runs.
func newRunDir(ctx context.Context, cache string) (*runDir, error) {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	// Nobody takes a directory for abandoned that is just being made.
	making, err := waitLock(ctx, filepath.Join(cache, "making"))
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	defer making.Close()
	reap(cache)
	path, err := os.MkdirTemp(cache, "run-")
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	lock, err := tryLock(filepath.Join(path, "lock"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run directory: %w", err), os.RemoveAll(path))
	}
	return &runDir{path, lock}, nil
}

// file is where a file of a guest lies.
func (d *runDir) file(guest, kind string) string { return filepath.Join(d.path, guest+"."+kind) }

func (d *runDir) close() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// reap takes away what crashed runs left: their processes, then their files.
// What cannot be taken away is in nobody's way, and is tried again next time.
func reap(cache string) {
	dirs, _ := filepath.Glob(filepath.Join(cache, "run-*")) // the pattern is well-formed
	for _, dir := range dirs {
		lock, err := tryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue // another lab's
		}
		pids, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
		for _, name := range pids {
			if pid, ours := runs(name, dir); ours {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}

// runs says whether the process that a file names is one that was started for
// this run directory: its arguments name it.
func runs(name, dir string) (pid int, ours bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil || pid <= 1 {
		return 0, false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid, err == nil && strings.Contains(string(line), dir+string(filepath.Separator))
}
