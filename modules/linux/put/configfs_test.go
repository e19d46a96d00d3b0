package put

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRestoreValues: what was there comes back in one step, which can be done again
// where it has failed: what was written down is gone last.
func TestRestoreValues(t *testing.T) {
	root := t.TempDir()
	dir, made, kept := filepath.Join(root, "port"), filepath.Join(root, "made"), filepath.Join(root, "run", "roce-x")
	value := func(name, set string) string {
		t.Helper()
		if set != "" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(set), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, d := range []string{dir, filepath.Join(made, "in use")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	value("mode", "IB/RoCE v1\n")
	value("tos", "0\n")
	run := func(args []string) error { return exec.Command(args[0], args[1:]...).Run() }
	if err := run(KeepValues(dir, kept, "mode", "tos").Args); err != nil {
		t.Fatal(err)
	}
	value("mode", "RoCE v2\n")
	value("tos", "104\n")
	value("apply", "0\n")
	back := RestoreValues(dir, kept, made, "apply", "0x1").Args
	if err := run(back); err == nil {
		t.Fatal("a directory that is in use was taken away")
	}
	if err := os.Remove(filepath.Join(made, "in use")); err != nil {
		t.Fatal(err)
	}
	value("tos", "104\n") // as if the first had stopped in the middle
	if err := run(back); err != nil {
		t.Fatal(err)
	}
	if got := value("mode", "") + value("tos", "") + value("apply", ""); got != "IB/RoCE v1\n0\n0x1\n" {
		t.Errorf("values are %q", got)
	}
	for _, gone := range []string{made, kept} {
		if _, err := os.Stat(gone); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}
