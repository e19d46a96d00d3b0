// Package local is the machine weft itself runs on, as a remote.Host.
package local

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
	"time"

	"weft/internal/remote"
)

// Host runs commands and touches files as the user who runs weft.
type Host struct{}

// Name is "localhost".
func (Host) Name() string { return "localhost" }

// Run implements remote.Host.
func (Host) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	if len(c.Args) == 0 {
		return remote.Output{}, errors.New("a command without a name")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, &stdout, &stderr
	// A child that keeps the pipes open must not keep us waiting.
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	err := cmd.Run()
	out := remote.Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	name := c.Args[0]
	if !c.Quiet {
		name = remote.Short(c.Args...)
	}
	if ctx.Err() != nil {
		return out, fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return out, exitError(c, exit.ExitCode(), out)
	case errors.Is(err, exec.ErrNotFound):
		// As a shell has it, and every Host that is reached through one.
		out.Stderr = []byte(err.Error())
		return out, exitError(c, 127, out)
	case err != nil:
		return out, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func exitError(c remote.Cmd, code int, out remote.Output) error {
	if c.Quiet {
		return &remote.ExitError{Code: code}
	}
	return &remote.ExitError{Args: c.Args, Code: code, Output: out}
}

// ReadFile implements remote.Host.
func (Host) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// WriteFile implements remote.Host.
func (h Host) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) (err error) {
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
