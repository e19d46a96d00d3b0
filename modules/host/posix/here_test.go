//go:build unix

package posix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"weft/internal/remote"
)

// here is the machine that tests run on, as a remote.Host.
type here struct{}

func (here) Name() string { return "localhost" }

func (here) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, &stdout, &stderr
	// A child that keeps the pipes open must not keep us waiting.
	cmd.WaitDelay = 5 * time.Second
	// In a group of its own, all of which is killed when the context ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	out := remote.Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, fmt.Errorf("%s: %w", c.Args[0], context.Cause(ctx))
	case errors.As(err, &exit):
		return out, &remote.ExitError{Args: c.Args, Code: exit.ExitCode(), Output: out}
	case errors.Is(err, exec.ErrNotFound): // as a shell has it
		out.Stderr = []byte(err.Error())
		return out, &remote.ExitError{Args: c.Args, Code: 127, Output: out}
	}
	return out, err
}

func (here) ReadFile(_ context.Context, path string) ([]byte, error) {
	return os.ReadFile(path)
}

func (h here) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// Beside the target, for a rename never crosses file systems.
	f, err := os.CreateTemp(dir, ".weft-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	if err := f.Chmod(mode.Perm()); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(behind) > 0 {
		// Not by this process, which may be stopped between the check and the rename.
		_, err := h.Run(ctx, remote.Cmd{Args: append(slices.Clone(behind), "mv", "-fT", "--", f.Name(), path)})
		return err
	}
	return os.Rename(f.Name(), path)
}
