//go:build unix

package posix

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// deadly is a folder of tools of which the n-th that is run kills the shell that
// runs it, once it has ended.
func deadly(t *testing.T, n int) (path string) {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"mkdir", "mktemp", "chmod", "date", "mv", "rm", "rmdir", "cat"} {
		real, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(err)
		}
		text := fmt.Sprintf("#!/bin/sh\n%s \"$@\"; r=$?\necho x >>%[2]s/count\nif [ $(wc -l <%[2]s/count) = %d ]; then kill -9 $PPID; fi\nexit $r\n", real, dir, n)
		syscall.ForkLock.RLock() // no process inherits the open file: see taker.start
		err = os.WriteFile(filepath.Join(dir, tool), []byte(text), 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
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
	for way := range inRoot("") {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			for n := 1; !killedAt(t, dash, way, n); n++ {
			}
		})
	}
}

// killedAt has the n-th tool kill the script; ended: there are not so many.
func killedAt(t *testing.T, dash, way string, n int) (ended bool) {
	dir := t.TempDir()
	m := inRoot(dir)[way]
	run := func(path, text string, args ...string) (string, error) {
		cmd := exec.Command(dash, append([]string{"-c", text, "sh"}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+path)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	path := deadly(t, n)
	_, err := run(path, m.claimScript()+"echo taken", "me", "300", "ME", "")
	if err == nil {
		_, err = run(path, m.releaseScript(), "ME")
	}
	said, late := run(os.Getenv("PATH"), m.claimScript()+"echo taken", "other", "300", "OTHER", "")
	if late != nil || !strings.HasPrefix(said, "taken") && !strings.HasSuffix(said, "\nme\n\n") {
		t.Errorf("killed after %d tools (%v), and then: %v %q", n, err, late, said)
	}
	if left, _ := filepath.Glob(m.Run + "/lease.*"); strings.HasPrefix(said, "taken") && left != nil {
		t.Errorf("killed after %d tools: %v is left", n, left)
	}
	if err == nil && n < 5 {
		t.Errorf("only %d tools were run", n)
	}
	return err == nil
}
