package linux

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"weft/internal/remote"
)

// What the dead-man puts back goes through no link, whoever has put it there, and is
// readable as before; everything that stands in the way is replaced.
func TestRevertFollowsNoLink(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script is one for Linux: it names /proc/self/fd")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(at(name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("victim", "victim", 0o600)
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"a.new": "victim", "b.new": "not there", "c": "folder", "e": "victim"} {
		if err := os.Symlink(at(to), at(name)); err != nil {
			t.Fatal(err)
		}
	}
	write("d.new", "of a script that was cut off", 0o666)
	write("d", "as it is now", 0o600)
	for _, name := range []string{"a", "b", "c", "d", "e", "it's $(new)"} {
		line := revertLine(remote.Step{Put: &remote.File{Path: at(name), Mode: 0o640, Content: []byte("back\n")}})
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		got, err := os.ReadFile(at(name))
		info, err2 := os.Lstat(at(name))
		if err != nil || err2 != nil || string(got) != "back\n" || info.Mode() != 0o640 {
			t.Errorf("%s: %q, %v, %v %v", name, got, info, err, err2)
		}
		if _, err := os.Lstat(at(name + ".new")); err == nil {
			t.Errorf("%s.new is still there", name)
		}
	}
	got, err := os.ReadFile(at("victim"))
	info, err2 := os.Stat(at("victim"))
	if err != nil || err2 != nil || string(got) != "victim" || info.Mode() != 0o600 {
		t.Errorf("what links led to is %q, %v, %v %v", got, info, err, err2)
	}
	for _, name := range []string{"folder/c.new", "not there"} {
		if _, err := os.Lstat(at(name)); err == nil {
			t.Errorf("%s was made through a link", name)
		}
	}
}
