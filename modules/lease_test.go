package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/remote"
)

// lossy is a host of which the connection is lost just after a command ran, so
// that nobody hears of it.
type lossy struct {
	remote.Host
	after string // what the command says
	ran   []string
}

func (l *lossy) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	text := strings.Join(c.Args, " ")
	l.ran = append(l.ran, text)
	if l.after != "" && strings.Contains(text, l.after) {
		return remote.Output{}, &remote.UnreachableError{Name: "st1", Err: errors.New("the connection was lost")}
	}
	return remote.Output{Stdout: []byte("taken 0\n")}, nil
}

// A lease that was taken when the connection was lost is given back over
// another one.
func TestLeaseIsLetGo(t *testing.T) {
	first, second := &lossy{Host: machine(t), after: `mv -fT`}, &lossy{Host: machine(t)}
	d := &server{os: Linux(), name: "server.st1", owner: "o", host: Linux().Open(first), close: func() error { return nil }}
	d.dial = func(_ context.Context, fresh bool) (remote.Host, func() error, error) {
		if !fresh {
			t.Error("the lost connection is asked for again")
		}
		return second, func() error { return nil }, nil
	}
	if err := d.Begin(t.Context(), nil); !errors.As(err, new(*remote.UnreachableError)) {
		t.Fatal(err)
	}
	if err := d.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := first.ran[0][strings.Index(first.ran[0], `{"who"`):]
	text = text[:strings.Index(text, "}")+1]
	if len(second.ran) != 1 || !strings.Contains(second.ran[0], releaseScript+" sh "+word(text)) {
		t.Errorf("over the second connection: %q; want the release of the lease of %s", second.ran, text)
	}
	if err := d.Abort(t.Context()); err != nil || len(second.ran) != 1 {
		t.Errorf("%v: what is given back is given back again: %q", err, second.ran)
	}
}

// deadly is a folder of tools of which the n-th that is run kills the shell that
// runs it, once it has ended.
func deadly(t *testing.T, n int) (path string) {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"mkdir", "mktemp", "chmod", "mv", "rm", "rmdir", "cat"} {
		real, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(err)
		}
		text := fmt.Sprintf("#!/bin/sh\n%s \"$@\"; r=$?\necho x >>%[2]s/count\nif [ $(wc -l <%[2]s/count) = %d ]; then kill -9 $PPID; fi\nexit $r\n", real, dir, n)
		if err := os.WriteFile(filepath.Join(dir, tool), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir + ":" + os.Getenv("PATH")
}

// Wherever a script that takes or releases the lease is killed, the lease is
// nobody's, or says whose it is and when it ends.
func TestLeaseIsWholeOrNone(t *testing.T) {
	dash, err := exec.LookPath("dash")
	if err != nil {
		t.Skip(err)
	}
	for n := 1; ; n++ {
		dir := t.TempDir()
		run := func(path, text string, args ...string) (string, error) {
			cmd := exec.Command(dash, append([]string{"-c", strings.ReplaceAll(text, leaseDir, dir), "sh"}, args...)...)
			cmd.Env = append(os.Environ(), "PATH="+path)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		path := deadly(t, n)
		_, err := run(path, claimScript+"echo taken", "me", "300", "ME", "")
		if err == nil {
			_, err = run(path, releaseScript, "ME")
		}
		said, late := run(os.Getenv("PATH"), claimScript+"echo taken", "other", "300", "OTHER", "")
		if late != nil || !strings.HasPrefix(said, "taken") && !strings.HasSuffix(said, "\nme\n\n") {
			t.Errorf("killed after %d tools (%v), and then: %v %q", n, err, late, said)
		}
		if left, _ := filepath.Glob(dir + "/lease.*"); strings.HasPrefix(said, "taken") && left != nil {
			t.Errorf("killed after %d tools: %v is left", n, left)
		}
		if err == nil {
			if n < 5 {
				t.Errorf("only %d tools were run", n)
			}
			return
		}
	}
}
