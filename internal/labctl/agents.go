//go:build unix

package labctl

import (
	"os"
	"path/filepath"
	"syscall"
)

// EndTarget ends the weft-target that a crashed lab left running in a server's root. It starts
// no program there: the folder may have come with the files.
func EndTarget(root string) {
	if _, err := os.Lstat(filepath.Join(root, "run", "weft", "target.sock")); err != nil {
		return // none ever ran
	}
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return
	}
	for _, pid := range processesOf(filepath.Join(abs, "usr", "local", "lib", "weft", "weft-target")) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may end by itself meanwhile
	}
}
