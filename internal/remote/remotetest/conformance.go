package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/remote"
)

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// Run checks that a Host keeps the promises of remote.Host. newHost is called
// once per test and may return the same Host each time. The machine needs a
// POSIX shell and the usual small tools; everything happens below a new
// directory of its /tmp.
func Run(t *testing.T, newHost func(t *testing.T) remote.Host) {
	tests := []struct {
		name string
		test func(*suite)
	}{
		{"exit status", (*suite).exitStatus},
		{"quiet", (*suite).quiet},
		{"standard input", (*suite).stdin},
		{"arguments", (*suite).arguments},
		{"large output", (*suite).largeOutput},
		{"bytes", (*suite).bytes},
		{"children die with the context", (*suite).cancel},
		{"a dead context runs nothing", (*suite).deadContext},
		{"read file", (*suite).readFile},
		{"write file", (*suite).writeFile},
		{"write file fails whole", (*suite).writeFileFails},
		{"write file killed", (*suite).writeFileKilled},
		{"write file behind", (*suite).writeFileBehind},
		{"read", (*suite).read},
		{"do", (*suite).do},
		{"concurrent", (*suite).concurrent},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &suite{T: t, host: newHost(t)}
			s.dir = strings.TrimSpace(string(s.run("mktemp", "-d", "/tmp/weft-remotetest.XXXXXX").Stdout))
			defer func() { s.run("rm", "-rf", "--", s.dir) }()
			test.test(s)
		})
	}
}

type suite struct {
	*testing.T
	host remote.Host
	dir  string
}

// context ends when the test has waited too long.
func (s *suite) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

func (s *suite) run(args ...string) remote.Output {
	s.Helper()
	out, err := s.host.Run(s.context(), remote.Cmd{Args: args})
	if err != nil {
		s.Fatal(err)
	}
	return out
}

func (s *suite) exitStatus() {
	out, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}})
	var exit *remote.ExitError
	if !errors.As(err, &exit) {
		s.Fatalf("got %v; want an *ExitError", err)
	}
	if exit.Code != 3 || string(exit.Output.Stdout) != "out\n" || string(exit.Output.Stderr) != "err\n" || len(exit.Args) != 3 {
		s.Errorf("got %+v", exit)
	}
	if string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" {
		s.Errorf("output %q, %q", out.Stdout, out.Stderr)
	}
	if _, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"weft-no-such-command"}}); !errors.As(err, &exit) || exit.Code != 127 {
		s.Errorf("unknown command: %v; want exit 127", err)
	}
	if _, err := s.host.Run(s.context(), remote.Cmd{}); err == nil {
		s.Error("an empty command ran")
	}
}

func (s *suite) quiet() {
	_, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"sh", "-c", "echo secret >&2; exit 1"}, Quiet: true})
	if err == nil || strings.Contains(err.Error(), "secret") {
		s.Errorf("got %v; want an error without the secret", err)
	}
}

func (s *suite) stdin() {
	in := strings.Repeat("line\n", 100_000)
	out, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"cat"}, Stdin: strings.NewReader(in)})
	if err != nil || string(out.Stdout) != in {
		s.Errorf("%d bytes came back, %v; want %d", len(out.Stdout), err, len(in))
	}
	if out := s.run("cat"); len(out.Stdout) != 0 {
		s.Errorf("no input: read %q", out.Stdout)
	}
	// A command need not read its input.
	if _, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"true"}, Stdin: strings.NewReader(in)}); err != nil {
		s.Error(err)
	}
}

func (s *suite) arguments() {
	args := []string{"", " ", "a b", "'", `"`, `'"'`, "$HOME", "`id`", "$(id)", "line\nbreak\n", "tab\t", `\`, `\n`, "*", "~",
		"#", "!", "&", ";", "|", "(", "ü€😀", "-n", "--", "=x", "{a,b}", "%s", "\x01\x7f"}
	out := s.run(append([]string{"sh", "-c", `for a; do printf '%s\000' "$a"; done`, "sh"}, args...)...)
	if got, want := string(out.Stdout), strings.Join(args, "\x00")+"\x00"; got != want {
		s.Errorf("arguments came as\n%q; want\n%q", got, want)
	}
}

func (s *suite) largeOutput() {
	const size = 6 << 20 // three windows of SSH
	out := s.run("head", "-c", fmt.Sprint(size), "/dev/zero")
	if len(out.Stdout) != size {
		s.Errorf("%d bytes; want %d", len(out.Stdout), size)
	}
}

func (s *suite) bytes() {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	out, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"sh", "-c", "cat; printf '\\377' >&2"}, Stdin: bytes.NewReader(all)})
	if err != nil || !bytes.Equal(out.Stdout, all) || string(out.Stderr) != "\xff" {
		s.Errorf("got %q, %q, %v", out.Stdout, out.Stderr, err)
	}
}

// cancel holds the writing end of a FIFO in a child of a child: its reader
// sees the end only when all of them are dead.
func (s *suite) cancel() {
	fifo, up := s.dir+"/fifo", s.dir+"/up"
	s.run("mkfifo", fifo)
	ctx, stop := context.WithCancelCause(s.context())
	why := errors.New("enough")
	reader, killed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"cat", fifo}})
		reader <- err
	}()
	go func() {
		const script = `sh -c 'echo >"$1"; sleep 1000; :' sh "$2" >"$1" & sleep 1000 >"$1"; :`
		_, err := s.host.Run(ctx, remote.Cmd{Args: []string{"sh", "-c", script, "sh", fifo, up}})
		killed <- err
	}()
	s.waitFor(up)
	stop(why)
	if err := <-killed; !errors.Is(err, why) {
		s.Errorf("got %v; want the reason of the context", err)
	}
	if err := <-reader; err != nil {
		s.Errorf("a child of the command lives on: %v", err)
	}
}

// waitFor waits until a file is there.
func (s *suite) waitFor(name string) {
	s.Helper()
	for ctx := s.context(); ; time.Sleep(20 * time.Millisecond) {
		_, err := s.host.ReadFile(ctx, name)
		if err == nil {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			s.Fatalf("waiting for %s: %v", name, err)
		}
	}
}

func (s *suite) deadContext() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mark := s.dir + "/mark"
	if _, err := s.host.Run(ctx, remote.Cmd{Args: []string{"touch", mark}}); !errors.Is(err, context.Canceled) {
		s.Errorf("run: %v", err)
	}
	if _, err := s.host.ReadFile(ctx, "/etc/passwd"); !errors.Is(err, context.Canceled) {
		s.Errorf("read file: %v", err)
	}
	if err := s.host.WriteFile(ctx, mark, strings.NewReader("x"), 0o644); !errors.Is(err, context.Canceled) {
		s.Errorf("write file: %v", err)
	}
	if _, err := s.host.ReadFile(s.context(), mark); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("something was done: %v", err)
	}
}

func (s *suite) read() {
	if err := s.host.WriteFile(s.context(), s.dir+"/file", strings.NewReader("content"), 0o640); err != nil {
		s.Fatal(err)
	}
	file, sum := remote.Look{File: s.dir + "/file"}, remote.Look{File: s.dir + "/file", Sum: true}
	missing := remote.Look{File: s.dir + "/missing"}
	fails := remote.Look{Args: []string{"sh", "-c", "echo o; echo e >&2; exit 4"}}
	nic := remote.Look{PCI: "ffff:ff:1f.7", File: "/sys/class/net/{if}/mtu"}
	looks := []remote.Look{file, sum, missing, fails, nic, file}
	for i := range 120 {
		looks = append(looks, remote.Look{Args: []string{"echo", fmt.Sprint(i)}})
	}
	seen, err := remote.Read(s.context(), s.host, looks)
	if err != nil {
		s.Fatal(err)
	}
	if got := seen.Of(file); string(got.Content) != "content" || got.Err != nil {
		s.Errorf("file: %+v", got)
	}
	if got := seen.Of(sum); got.Mode != 0o640 || got.Size != 7 || len(got.Sum) != 64 {
		s.Errorf("sum: %+v", got)
	}
	for _, l := range []remote.Look{missing, nic} {
		if got := seen.Of(l); !got.Absent || !errors.Is(got.Err, fs.ErrNotExist) {
			s.Errorf("%s: %+v; want absent", l, got)
		}
	}
	if got := seen.Of(fails); got.Code != 4 || string(got.Content) != "o\n" || string(got.Stderr) != "e\n" {
		s.Errorf("command: %+v", got)
	}
	for i, l := range looks[6:] {
		if got := seen.Of(l).Text(); got != fmt.Sprint(i) {
			s.Errorf("command %d: %q", i, got)
		}
	}
}

func (s *suite) do() {
	name := s.dir + "/sub/file"
	for _, step := range []remote.Step{
		{Del: name},
		{Put: &remote.File{Path: name, Mode: 0o600, Content: []byte("x")}},
		{Args: []string{"cp", name, name + "2"}},
		{Del: name},
	} {
		if err := remote.Do(s.context(), s.host, step); err != nil {
			s.Fatalf("%s: %v", step, err)
		}
	}
	s.onlyEntry(s.dir+"/sub", "file2")
	var exit *remote.ExitError
	if err := remote.Do(s.context(), s.host, remote.Step{Args: []string{"false"}}); !errors.As(err, &exit) || exit.Code != 1 {
		s.Errorf("false: %v", err)
	}
	if err := remote.Do(s.context(), s.host, remote.Step{}); err == nil {
		s.Error("an empty step was done")
	}
}

func (s *suite) concurrent() {
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			want := fmt.Sprint(i)
			name := s.dir + "/" + want
			if err := s.host.WriteFile(s.context(), name, strings.NewReader(want), 0o644); err != nil {
				s.Error(err)
			}
			if got, err := s.host.ReadFile(s.context(), name); err != nil || string(got) != want {
				s.Errorf("got %q, %v; want %q", got, err, want)
			}
			if out, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"echo", want}}); err != nil || string(out.Stdout) != want+"\n" {
				s.Errorf("got %q, %v; want %q", out.Stdout, err, want)
			}
		})
	}
	all.Wait()
}
