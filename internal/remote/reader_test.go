//go:build unix

package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/hint"
)

// A limitedHost runs scripts here, where sudo runs a reader and nothing else, and where the
// user may not read what is below closed.
type limitedHost struct {
	Host
	shell, bin string
}

func (h limitedHost) Name() string  { return "limited" }
func (h limitedHost) Limited() bool { return true }

func (h limitedHost) Script(_ context.Context, text string, args ...string) (Output, error) {
	cmd := exec.Command(h.shell, append([]string{"-s"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+h.bin+":"+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &out, &errs
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = &ExitError{Code: exit.ExitCode()}
	}
	return Output{out.Bytes(), errs.Bytes()}, err
}

// limited is such a host in each shell, with the permits in its reader.
func limited(t *testing.T, permits []Permit, test func(*testing.T, limitedHost)) {
	for _, shell := range []string{"dash", "bash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "weft-read"), []byte(Reader(permits)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "sudo"), []byte("#!/bin/sh\n[ \"$*\" = '-n -- "+ReaderPath+"' ] || exit 1\nexec "+path+" "+dir+"/weft-read\n"), 0o755))
			test(t, limitedHost{shell: path, bin: dir})
		})
	}
}

// Each look is whose it is: the user's where the user may, else the reader's where that is
// permitted, and otherwise an error that says what to do; it is never taken for nothing.
func TestReader(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "open"), []byte("o\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "told"), []byte("t"), 0o600))
	own := func(args ...string) Look {
		return Look{Root: true, Own: true, Args: append([]string{"sh", "-c", `echo "own $# $*"; cat; exit 3`, "sh"}, args...)}
	}
	secret := Look{Root: true, Own: true, Args: []string{"sh", "-c", "echo key"}}
	run := Look{Root: true, Args: []string{"echo", "-n", "a,b"}}
	is := Look{Root: true, Args: []string{"test", "-e", dir + "/told"}}
	permits := []Permit{
		{What: "own", Look: own(), Each: "/*|all"},
		{What: "a secret", Look: secret, Instead: "echo withheld"},
		{What: "run", Look: run},
		{What: "is", Look: Look{Args: []string{"test", "-e"}}, Each: "/*"},
		{What: "told", Look: Look{File: dir + "/to*"}},
	}
	limited(t, permits, func(t *testing.T, h limitedHost) {
		file := Look{File: dir + "/open", Root: true, Stat: true}
		gone := Look{File: dir + "/gone", Root: true}
		plainLook := Look{Args: []string{"echo", "me"}}
		refused := []Look{own("x"), own("-all"), own("/a b"), own("/.."), own("/$(id)"), own("/\n"), {Root: true, Args: []string{"echo", "-n", "a,b", "c"}},
			{Root: true, Args: []string{"test", "-e", "/x", "-o"}}, {Root: true, Args: []string{"sh", "-c", "id"}}, {Root: true, Own: true, Args: []string{"sh", "-c", "id"}}}
		seen, err := Read(t.Context(), h, append([]Look{file, gone, plainLook, own("all", "/x"), secret, run, is}, refused...))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			look Look
			text string
			code int
		}{{file, "o\n", 0}, {plainLook, "me\n", 0}, {own("all", "/x"), "own 2 all /x\n", 3}, {secret, "withheld\n", 0}, {run, "a,b", 0}, {is, "", 0}} {
			if got := seen.Of(want.look); string(got.Content) != want.text || got.Code != want.code {
				t.Errorf("%s: %+v", want.look, got)
			}
		}
		if got := seen.Of(file); got.Mode != 0o644 || got.Size != 2 {
			t.Errorf("%+v", got)
		}
		if !seen.Of(gone).Absent {
			t.Errorf("%+v", seen.Of(gone))
		}
		for _, l := range refused {
			if got := seen.Of(l); got.Absent || !errors.Is(got.Err, fs.ErrPermission) || !strings.Contains(hint.Of(got.Err), "weft doctor --reader") {
				t.Errorf("%s: %+v, hint %q", l, got, hint.Of(got.Err))
			}
		}
	})
}

// A file is told whole, with its mode, its sum, or that it is not there; and a NIC is found.
func TestReaderAnswers(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "told"), []byte(binary), 0o600))
	limited(t, []Permit{{What: "told", Look: Look{File: dir + "/*"}}}, func(t *testing.T, h limitedHost) {
		looks := []Look{{File: dir + "/told", Stat: true}, {File: dir + "/told", Sum: true}, {File: dir + "/gone"}, {File: "/etc/passwd"}, {PCI: "ffff:ff:1f.7", Args: []string{"x", "{if}"}}}
		text := "weft-read weft-1\n"
		for i, l := range looks {
			if l.PCI != "" {
				text += "at 0 " + l.PCI + "\n"
			}
			line, ok := l.request(i)
			if !ok {
				t.Fatal(l)
			}
			text += line + "\n"
		}
		out := reads(t, h, text+"end\n")
		seen, err := parse("weft-1", looks, out)
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.Of(looks[0]); string(got.Content) != binary || got.Mode != 0o600 {
			t.Errorf("%+v", got)
		}
		if got := seen.Of(looks[1]); len(got.Sum) != 64 || got.Size != int64(len(binary)) {
			t.Errorf("%+v", got)
		}
		if !seen.Of(looks[2]).Absent || !errors.Is(seen.Of(looks[3]).Err, fs.ErrPermission) || !seen.Of(looks[4]).Absent {
			t.Errorf("%+v", seen)
		}
	})
}

// reads is what the reader answers.
func reads(t *testing.T, h limitedHost, text string) Output {
	t.Helper()
	cmd := exec.Command(h.shell, filepath.Join(h.bin, "weft-read"))
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &out, io.Discard
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return Output{Stdout: out.Bytes()}
}

// Whatever a reader is asked with, it writes nothing, runs nothing of it, and an ask that
// is cut off is no answer.
func FuzzReader(f *testing.F) {
	path, err := exec.LookPath("dash")
	if err != nil {
		f.Skip(err)
	}
	dir := f.TempDir()
	script := Look{Own: true, Args: []string{"sh", "-c", `for a; do echo "$a"; done`}}
	program := Reader([]Permit{{What: "own", Look: script, Each: "/*"}, {What: "f", Look: Look{File: "/proc/version"}}, {What: "t", Look: Look{Args: []string{"test", "-e"}}, Each: "/*"}})
	must(f, os.WriteFile(filepath.Join(dir, "weft-read"), []byte(program), 0o755))
	for _, text := range []string{"file 0 /proc/version", "own 0 " + id(script.Args[2]) + " /x", "own 0 " + id(script.Args[2]) + " `touch hit`", "run 0 test -e /x", "run 0 touch hit",
		"at 0 *", "file 0 $(touch hit)", "own 0 a;touch hit", "file 0 /proc/version\nend\ntouch hit", "stat * *", "{if} {if} {if}", "file 0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := t.TempDir()
		cmd := exec.Command(path, filepath.Join(dir, "weft-read"))
		cmd.Dir, cmd.Stdin = at, strings.NewReader("weft-read weft-1\n"+text+"\n")
		out, err := cmd.Output()
		if left, _ := os.ReadDir(at); len(left) > 0 {
			t.Fatalf("%q: it wrote %s", text, left)
		}
		asked := strings.Contains("\n"+text+"\n", "\nend\n")
		if done := strings.HasSuffix(string(out), "\nweft-1 done\n"); done != (err == nil) || done && !asked {
			t.Fatalf("%q: %v, %q", text, err, out)
		}
	})
}
