//go:build unix

package labctl

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// EndTarget ends the weft-target that a crashed lab left running in a server's root. The target proves
// itself by answering on its socket there.
func EndTarget(root string) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(abs, "run", "weft", "target.sock")); err != nil {
		return // none ever ran
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(abs, "usr", "local", "lib", "weft", "weft-target"), "--root", ".", "status", "--json")
	cmd.Dir, cmd.Env, cmd.WaitDelay = abs, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	var status struct{ PID int }
	if cmd.Run() != nil || json.Unmarshal(out.Bytes(), &status) != nil || status.PID <= 1 {
		return // it ended with its lab
	}
	_ = syscall.Kill(status.PID, syscall.SIGKILL) // it may end by itself meanwhile
}
