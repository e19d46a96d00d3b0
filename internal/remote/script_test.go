//go:build unix

package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// shells run a script given on standard input, as "sh -s NONCE" does.
func shells(t *testing.T) map[string]func(script, nonce string) Output {
	found := map[string]func(script, nonce string) Output{
		"mvdan": func(script, nonce string) Output { return interpret(t, script, nonce) }}
	for _, line := range []string{"dash -s", "bash --posix -s", "busybox sh -s"} {
		args := strings.Fields(line)
		path, err := exec.LookPath(args[0])
		if err != nil {
			t.Logf("%s is not here: %v", line, err)
			continue
		}
		found[args[0]] = func(script, nonce string) Output {
			var out, errs bytes.Buffer
			cmd := exec.Command(path, append(args[1:], nonce)...)
			if args[0] == "busybox" { // with tools of its own
				cmd.Env = append(os.Environ(), "PATH="+applets(t, path)+":"+os.Getenv("PATH"))
			}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(script), &out, &errs
			if err := cmd.Run(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, errs.String())
			}
			return Output{out.Bytes(), errs.Bytes()}
		}
	}
	return found
}

// applets is a directory with the tools that a script runs, all of them busybox.
func applets(t *testing.T, busybox string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cat", "env", "ls", "printf", "sh", "sha256sum", "stat"} {
		must(t, os.Symlink(busybox, filepath.Join(dir, name)))
	}
	return dir
}

func interpret(t *testing.T, script, nonce string) Output {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), "")
	if err != nil {
		t.Fatalf("not plain POSIX: %v\n%s", err, script)
	}
	var out, errs bytes.Buffer
	runner, err := interp.New(interp.StdIO(nil, &out, &errs), interp.Params("--", nonce))
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Run(context.Background(), file); err != nil {
		t.Fatalf("interpreted: %v\n%s", err, errs.String())
	}
	return Output{out.Bytes(), errs.Bytes()}
}

const binary = "\x00\xff no newline at the end \x80"

// addresses of PCI devices
const nic, bare, gone, virtual = "0000:41:00.0", "0000:42:00.0", "0000:43:00.0", "0000:44:00.0"

func TestScriptInEveryShell(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "pci/devices/0000:41:00.0/net/ens1f0"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "pci/devices/0000:42:00.0"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "pci/devices/0000:44:00.0/virtio3/net/eth1"), 0o755)) // as in a virtual machine
	odd := filepath.Join(dir, "it's\n$HOME `odd`")
	for path, content := range map[string]string{
		"mtu-ens1f0": "9000\n", "binary": binary, "empty": "", "lines": "\n\na\n\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o640))
	}
	must(t, os.WriteFile(odd, []byte("odd"), 0o755))
	must(t, os.Chmod(odd, fs.ModeSetuid|0o755))

	looks := []Look{
		0:  {File: dir + "/binary"},
		1:  {File: dir + "/empty"},
		2:  {File: dir + "/lines"},
		3:  {File: dir + "/none"},
		4:  {File: dir + "/none/deeper/still"},
		5:  {File: dir},
		6:  {File: odd},
		7:  {File: odd, Sum: true},
		8:  {File: dir + "/none", Sum: true},
		9:  {PCI: nic, File: dir + "/mtu-{if}"},
		10: {PCI: nic, Args: []string{"echo", "-{if}-{if}", "{if}"}},
		11: {PCI: bare, File: dir + "/mtu-{if}"},
		12: {PCI: gone, Args: []string{"echo", "{if}"}},
		13: {PCI: nic},
		14: {Args: []string{"sh", "-c", "printf out; printf err >&2; exit 3"}},
		15: {Args: []string{"printf", "%s|", "", " ", "a'b", `"`, "$HOME", "ü\n*", "-n", `\`}},
		16: {Args: []string{"weft-no-such-command"}},
		17: {Args: []string{"cat"}}, // must not eat the script
		18: {Args: []string{"exit", "7"}},
		19: {PCI: virtual, Args: []string{"echo", "{if}"}},
		20: {File: odd, Stat: true},
		21: {File: dir + "/binary", Stat: true},
		22: {File: dir + "/none", Stat: true},
		23: {PCI: nic, File: dir + "/mtu-{if}", Stat: true},
		24: {Args: []string{"test", "-e", odd}},
		25: {Args: []string{"test", "-e", dir + "/none"}},
		26: {Args: []string{"test", "a", "b", "c", "d", "e"}},
		27: {Args: []string{"sh", "-c", "weft_nonce=; printf '%s|' \"$#\" \"$@\"; cat; cd /; printf err >&2; exit 3 # ends it", "sh", "a'b", "", "{if}"}, PCI: nic, Own: true},
		28: {Args: []string{"sh", "-c", `printf %s "$#"`}, Own: true},
		29: {PCI: gone, Args: []string{"sh", "-c", `echo "$1"`, "sh", "{if}"}, Own: true},
	}
	for name, run := range shells(t) {
		t.Run(name, func(t *testing.T) { everyLook(t, dir, run, looks) })
		t.Run(name+" without /proc and stat", func(t *testing.T) {
			without := func(script, nonce string) Output {
				return run(strings.NewReplacer("/proc/self/environ", dir+"/none", "stat -L", "weft-no-stat").Replace(script), nonce)
			}
			everyLook(t, dir, without, looks)
		})
		t.Run(name+" with what cannot be read", func(t *testing.T) {
			bad := Look{File: "/proc/self/mem", Stat: true} // a file, but for its first byte
			if _, err := os.ReadFile(bad.File); !errors.Is(err, syscall.EIO) {
				t.Skipf("%s reads as %v", bad.File, err)
			}
			if s := everyLook(t, dir, run, append(slices.Clip(looks), bad)).Of(bad); s.Err == nil || s.Absent {
				t.Errorf("%+v; want an error", s)
			}
		})
	}
}

// everyLook checks what the looks of TestScriptInEveryShell see.
func everyLook(t *testing.T, dir string, run func(script, nonce string) Output, looks []Look) Seen {
	t.Helper()
	nonce := newNonce()
	out := run(strings.ReplaceAll(Script(looks), "/sys/bus/pci", dir+"/pci"), nonce)
	out.Stdout = append([]byte("Welcome!\nweft-\n"), out.Stdout...)
	seen, err := parse(nonce, looks, out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Stdout)
	}
	content := func(i int, want string) {
		t.Helper()
		if s := seen.Of(looks[i]); s.Err != nil || string(s.Content) != want {
			t.Errorf("look %d: got %q, %v; want %q", i, s.Content, s.Err, want)
		}
	}
	absent := func(i int) {
		t.Helper()
		if s := seen.Of(looks[i]); !s.Absent || !errors.Is(s.Err, fs.ErrNotExist) {
			t.Errorf("look %d: got %+v; want absent", i, s)
		}
	}
	content(0, binary)
	content(1, "")
	content(2, "\n\na\n\n")
	absent(3)
	absent(4)
	if s := seen.Of(looks[5]); s.Err == nil || s.Absent || errors.Is(s.Err, fs.ErrPermission) {
		t.Errorf("a directory read as a file: %+v", s)
	}
	content(6, "odd")
	sum := sha256.Sum256([]byte("odd"))
	if s := seen.Of(looks[7]); s.Sum != hex.EncodeToString(sum[:]) || s.Size != 3 || s.Mode != fs.ModeSetuid|0o755 {
		t.Errorf("sum: %+v", s)
	}
	absent(8)
	content(9, "9000\n")
	content(10, "-ens1f0-ens1f0 ens1f0\n")
	absent(11)
	absent(12)
	content(13, "ens1f0")
	if s := seen.Of(looks[14]); string(s.Content) != "out" || string(s.Stderr) != "err" || s.Code != 3 {
		t.Errorf("command: %+v", s)
	}
	content(15, "| |a'b|\"|$HOME|ü\n*|-n|\\|")
	if s := seen.Of(looks[16]); s.Code != 127 || s.Err == nil {
		t.Errorf("unknown command: %+v", s)
	}
	content(17, "")
	if s := seen.Of(looks[18]); s.Code != 7 {
		t.Errorf("exit: %+v", s)
	}
	content(19, "eth1\n")
	content(20, "odd")
	content(21, binary)
	absent(22)
	content(23, "9000\n")
	for i, want := range map[int]Sight{20: {Mode: fs.ModeSetuid | 0o755, Size: 3}, 21: {Mode: 0o640, Size: int64(len(binary))}, 23: {Mode: 0o640, Size: 5}} {
		if s := seen.Of(looks[i]); s.Mode != want.Mode || s.Size != want.Size {
			t.Errorf("look %d: mode %v, %d bytes; want %v, %d", i, s.Mode, s.Size, want.Mode, want.Size)
		}
	}
	if s := seen.Of(looks[27]); string(s.Content) != "3|a'b||ens1f0|" || string(s.Stderr) != "err" || s.Code != 3 {
		t.Errorf("script of ours: %+v", s)
	}
	content(28, "0")
	absent(29)
	for i, want := range map[int]int{24: 0, 25: 1, 26: 2} {
		if s := seen.Of(looks[i]); s.Code != want {
			t.Errorf("test %q exits %d; want %d", looks[i].Args[1:], s.Code, want)
		}
	}
	if name, err := seen.Interface(nic); err != nil || name != "ens1f0" {
		t.Errorf("interface %q, %t", name, err)
	}
	if name, err := seen.Interface(gone); err == nil {
		t.Errorf("interface %q of a missing device", name)
	}
	return seen
}

// What may not be read is told from what is not there, also behind a
// directory that may not be searched.
func TestScriptDenied(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody who may not read a file")
	}
	dir, err := os.MkdirTemp("/tmp", "weft-denied-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.WriteFile(dir+"/file", nil, 0o600))
	must(t, os.Mkdir(dir+"/closed", 0o700))
	looks := []Look{{File: dir + "/file"}, {File: dir + "/file", Sum: true}, {File: dir + "/closed/file"}, {File: dir + "/closed/a/b"}}
	nonce := newNonce()
	var out, errs bytes.Buffer
	cmd := exec.Command("/bin/sh", "-s", nonce)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(Script(looks)), &out, &errs
	must(t, cmd.Run())
	seen, err := parse(nonce, looks, Output{out.Bytes(), errs.Bytes()})
	must(t, err)
	for _, l := range looks {
		if s := seen.Of(l); s.Absent || !errors.Is(s.Err, fs.ErrPermission) {
			t.Errorf("%s: %+v; want it denied", l, s)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
