//go:build unix

package simesxi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"weft/internal/wait"
)

// Exec runs one command line and returns its exit status.
func (h *Host) Exec(ctx context.Context, user, line string, stdin io.Reader, stdout, stderr io.Writer) int {
	h.mu.Lock()
	slow := h.slow
	h.mu.Unlock()
	if slow > 0 {
		if !wait.For(ctx, slow) {
			return 255
		}
	}
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	pr, pw, err := os.Pipe() // the interpreter hands it to what it starts
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	defer pr.Close()
	h.asleep.Go(func() {
		_, _ = io.Copy(pw, stdin) // ends with the session
		_ = pw.Close()
	})
	stop := context.AfterFunc(ctx, func() { _ = pr.Close() })
	defer stop()
	return h.run(ctx, line, nil, pr, &locked{w: stdout}, &locked{w: stderr})
}

// Shell refuses: nothing of weft talks to a host's terminal.
func (h *Host) Shell(_ context.Context, _ string, term io.ReadWriter) int {
	fmt.Fprint(term, "This ESXi host is SIMULATED and runs commands only: ssh HOST COMMAND\r\n")
	return 1
}

// locked is a writer that several commands may use.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// nowhere is the environment of the interpreter, which asks for TMPDIR.
type nowhere struct{}

func (nowhere) Get(name string) expand.Variable {
	if name != "TMPDIR" {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: "/dev/null/nowhere"}
}

func (n nowhere) Each(yield func(string, expand.Variable) bool) { yield("TMPDIR", n.Get("TMPDIR")) }

// run interprets a script and returns its exit status.
func (h *Host) run(ctx context.Context, text string, params []string, in *os.File, out, errs io.Writer) int {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "sh")
	if err != nil {
		fmt.Fprintf(errs, "sh: syntax error: %v\n", err)
		return 2
	}
	s := &shell{h: h, out: out, errs: errs}
	r, err := interp.New(interp.Env(nowhere{}), interp.Dir("/"), interp.Params(append([]string{"--"}, params...)...), interp.StdIO(in, out, errs),
		interp.CallHandler(s.call), interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(s.open), interp.ReadDirHandler2(s.readDir), interp.StatHandler(s.stat), interp.AccessHandler(s.access))
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	r.Reset()
	r.Env = expand.ListEnviron("HOME=/", "USER=root", "PATH=/bin:/sbin", "UID=0", "EUID=0", "GID=0")
	r.Reset()
	err = r.Run(ctx, file)
	// What it has put in the background has begun before it ends, as a process would.
	if rest, bad := syntax.NewParser().Parse(strings.NewReader("wait"), ""); bad == nil {
		_ = r.Run(ctx, rest.Stmts[0])
	}
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		return 255
	}
	fmt.Fprintf(errs, "sh: %v\n", err)
	return 1
}

// A shell is one interpreter, whose doors to the real machine are shut.
type shell struct {
	h         *Host
	out, errs io.Writer
}

// call keeps builtins that would look at the real machine from running.
func (s *shell) call(_ context.Context, args []string) ([]string, error) {
	switch args[0] {
	case "kill", "source", ".", "type", "hash", "command", "builtin", "umask", "ulimit", "cd", "pwd":
		return append([]string{"\x00" + args[0]}, args[1:]...), nil
	}
	return args, nil
}

func inside(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

func (s *shell) open(_ context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	if name == "/dev/null" {
		return os.OpenFile(os.DevNull, flag, 0)
	}
	f, err := s.h.root.OpenFile(inside(name), flag, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "sh: can't open", Path: name, Err: plain(err)}
	}
	return f, nil
}

// plain is why, without the name of a call.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (s *shell) readDir(_ context.Context, name string) ([]fs.DirEntry, error) {
	f, err := s.h.root.Open(inside(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func (s *shell) stat(_ context.Context, name string, _ bool) (fs.FileInfo, error) {
	return s.h.root.Stat(inside(name))
}

func (s *shell) access(_ context.Context, name string, _ interp.AccessMode) error {
	_, err := s.h.root.Stat(inside(name))
	return err
}

// exec runs a tool.
func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	x := &call{s: s, ctx: ctx, name: strings.TrimPrefix(path.Base(args[0]), "\x00"), args: args[1:], in: hc.Stdin, out: hc.Stdout, errs: hc.Stderr}
	tool, ok := tools()[x.name]
	if strings.HasPrefix(args[0], "/") && args[0] != "/sbin/auto-backup.sh" {
		ok = false
	}
	if !ok {
		fmt.Fprintf(x.errs, "sh: %s: not found on this SIMULATED host\n", x.name)
		return interp.ExitStatus(127)
	}
	if status := tool(x); status != 0 {
		return interp.ExitStatus(status)
	}
	return nil
}
