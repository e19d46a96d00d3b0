//go:build unix

package simserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"weft/internal/slice"
	"weft/internal/wait"
)

// Exec runs one command line as a login of that user does and returns its exit
// status.
func (s *Server) Exec(ctx context.Context, name, line string, stdin io.Reader, stdout, stderr io.Writer) int {
	s.mu.RLock()
	slow, closed, hostile, text := s.slow, s.closed, s.hostile, s.hostileText
	s.mu.RUnlock()
	if closed {
		return 255
	}
	if !wait.For(ctx, slow) {
		return 255
	}
	if hostile != nil && hostile.MatchString(line) {
		fmt.Fprintln(stdout, text)
		fmt.Fprintln(stderr, text)
		return 1
	}
	u := user{name, name == "root"}
	if info, err := os.Lstat(filepath.Join(s.spec.Root, u.home())); err != nil || !info.IsDir() {
		if err := (view{s.tree, user{"root", true}}).MkdirAll(u.home(), 0o755); err != nil {
			fmt.Fprintf(stderr, "sh: %s: %s\n", u.home(), strerror(err))
			return 1
		}
	}
	in, err := s.input(stdin)
	if err != nil {
		fmt.Fprintf(stderr, "sh: %v\n", err)
		return 1
	}
	defer in.Close()
	stop := context.AfterFunc(ctx, func() { _ = in.Close() }) // wakes a command that waits for input
	defer stop()
	sess := &session{server: s, umask: 0o022, login: name}
	sh := &shell{session: sess, user: u, dir: u.home(), env: loginEnv(u), out: lock(stdout), err: lock(stderr), in: in}
	file, err := parse(line, "sh") // which hardly comes again
	return sh.runFile(ctx, file, err, nil)
}

// Shell refuses: nothing of weft talks to a server's terminal.
func (s *Server) Shell(_ context.Context, _ string, term io.ReadWriter) int {
	fmt.Fprint(term, "This server is SIMULATED and runs commands only: ssh HOST COMMAND\r\n")
	return 1
}

// input makes a real file of a session's input: the interpreter hands it to
// whatever it starts.
func (s *Server) input(r io.Reader) (*os.File, error) {
	if r == nil {
		return os.Open(os.DevNull)
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.background.Go(func() {
		// Ends with the session: its channel is closed after the command, and a
		// command that has ended no longer reads.
		_, _ = io.Copy(pw, r)
		_ = pw.Close()
	})
	return pr, nil
}

// A session is what one Exec shares with everything it starts.
type session struct {
	server *Server
	login  string

	mu    sync.Mutex
	umask fs.FileMode
}

// A shell is one interpreter: a user in a directory.
type shell struct {
	*session
	user user
	dir  string
	env  []string
	in   *os.File
	out  io.Writer
	err  io.Writer
}

func loginEnv(u user) []string {
	path := "/usr/local/bin:/usr/bin:/bin"
	if u.root {
		path = rootPath
	}
	return []string{"HOME=" + u.home(), "USER=" + u.name, "LOGNAME=" + u.name, "SHELL=/bin/sh", "LANG=C", "PATH=" + path,
		fmt.Sprintf("UID=%d", u.uid()), fmt.Sprintf("EUID=%d", u.uid()), fmt.Sprintf("GID=%d", u.uid())}
}

const rootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// run interprets a script and returns its exit status.
func (sh *shell) run(ctx context.Context, name, script string, params []string) int {
	file, err := sh.server.net.scripts.parse(script, name)
	return sh.runFile(ctx, file, err, params)
}

// runFile interprets a script that was read, or not.
func (sh *shell) runFile(ctx context.Context, file *syntax.File, err error, params []string) int {
	if err != nil {
		fmt.Fprintf(sh.err, "sh: Syntax error: %v\n", err)
		return 2
	}
	r, err := sh.runner(params)
	if err == nil {
		err = sh.interpret(ctx, r, file)
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
	fmt.Fprintf(sh.err, "sh: %v\n", err)
	return 1
}

// interpret runs a script. What it left in the background ends with it, unlike
// on a real machine.
func (sh *shell) interpret(ctx context.Context, r *interp.Runner, file *syntax.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := r.Run(ctx, file)
	cancel()
	if werr := sh.statement(r, "wait"); werr != nil && !errors.As(werr, new(interp.ExitStatus)) {
		return werr
	}
	return err
}

// statement runs one line of ours.
func (sh *shell) statement(r *interp.Runner, line string) error {
	file, err := sh.server.net.scripts.parse(line, "")
	if err != nil {
		return err
	}
	return r.Run(context.Background(), file.Stmts[0])
}

// The interpreter opens "$TMPDIR/sh-interp-…" itself, for a kind of substitution
// that POSIX does not have. It asks for that folder once, when it is made: let it
// be nowhere.
const noTemporary = environment("/dev/null/nowhere")

// An environment holds nothing but TMPDIR.
type environment string

// Get implements expand.Environ.
func (e environment) Get(name string) expand.Variable {
	if name != "TMPDIR" {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: string(e)}
}

// Each implements expand.Environ.
func (e environment) Each(yield func(string, expand.Variable) bool) { yield("TMPDIR", e.Get("TMPDIR")) }

// runner is an interpreter whose every door to the real machine is shut.
func (sh *shell) runner(params []string) (*interp.Runner, error) {
	r, err := interp.New(
		interp.Env(noTemporary),
		interp.Dir("/"), // is looked at for real, and is there everywhere
		interp.Params(append([]string{"--"}, params...)...),
		interp.StdIO(sh.in, sh.out, sh.err),
		interp.CallHandler(sh.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return sh.exec }),
		interp.OpenHandler(sh.open),
		interp.ReadDirHandler2(sh.readDir),
		interp.StatHandler(sh.stat),
		interp.AccessHandler(sh.access),
	)
	if err != nil {
		return nil, fmt.Errorf("starting the simulated shell: %w", err)
	}
	r.Dir = sh.dir
	r.Reset()
	r.Env = expand.ListEnviron(sh.env...)
	r.Reset()
	return r, nil
}

// quote makes one word of a shell line.
func quote(words ...string) string {
	var b bytes.Buffer
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return b.String()
}

// mark stands before the name of a builtin that the table of tools answers.
const mark = "\x00"

// call sees every command first. Builtins that would look at the real machine
// become simulated tools.
func (sh *shell) call(_ context.Context, args []string) ([]string, error) {
	switch args[0] {
	case "echo", "kill", "umask", "ulimit", "type", "hash", "source", ".", "builtin", "help", "times", "getopts":
		if args[0] == "getopts" {
			return args, nil
		}
		return append([]string{mark + args[0]}, args[1:]...), nil
	case "command":
		if len(args) > 1 && strings.HasPrefix(args[1], "-") {
			return append([]string{mark + "command"}, args[1:]...), nil
		}
	case "pwd":
		return []string{"pwd"}, nil // -P would look for links outside
	case "test", "[":
		for _, a := range args[1:] {
			if a == "-O" || a == "-G" || a == "-N" {
				return []string{mark + "test", a}, nil
			}
		}
	}
	return args, nil
}

func (sh *shell) view() view { return view{sh.server.tree, sh.user} }

// at makes a path absolute.
func at(dir, name string) string {
	if name == "" || path.IsAbs(name) {
		return name
	}
	return dir + "/" + name
}

func (sh *shell) open(ctx context.Context, name string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	sh.mu.Lock()
	perm := 0o666 &^ sh.umask
	sh.mu.Unlock()
	f, err := sh.view().Open(at(interp.HandlerCtx(ctx).Dir, name), flag, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "sh:", Path: name, Err: errText(strerror(err))}
	}
	return f, nil
}

// errText is an error with a C program's words.
type errText string

func (e errText) Error() string { return string(e) }

func (sh *shell) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	infos, err := sh.view().ReadDir(at(interp.HandlerCtx(ctx).Dir, name))
	if err != nil {
		return nil, err
	}
	list := slice.Map(infos, fs.FileInfoToDirEntry)
	return list, nil
}

func (sh *shell) stat(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
	return sh.view().stat(at(interp.HandlerCtx(ctx).Dir, name), follow)
}

func (sh *shell) access(ctx context.Context, name string, mode interp.AccessMode) error {
	v := sh.view()
	p, err := v.resolve(at(interp.HandlerCtx(ctx).Dir, name), true)
	if err != nil {
		return err
	}
	info, err := v.lstat(p)
	if err != nil {
		return err
	}
	if !v.may(p, info, mode&interp.AccessWrite != 0, mode&interp.AccessRead != 0) {
		return fs.ErrPermission
	}
	perm := info.Mode().Perm()
	if mode&interp.AccessExec != 0 && perm&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}

// locked is a writer that several commands of a pipeline may use.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func lock(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return &locked{w: w}
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
