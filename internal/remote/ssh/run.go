package ssh

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/hint"
	"weft/internal/remote"
)

const (
	maxOutput = 64 << 20         // bytes of each stream of a command
	killGrace = 10 * time.Second // for a killed command to be gone
	maxLine   = 96 << 10         // bytes that start a command: Linux takes 128 KiB
)

// Run implements remote.Host. The command runs in a session of its own, which
// an SSH server makes a process group, as one of
//
//	echo MARK; WEFT_RUN=… ARG…
//	echo MARK; sudo -n -- sh -c 'export WEFT_RUN=…; exec "$@"' sh ARG…
//
// Who may only read runs nothing: see [ReadOnly].
// What is before the mark is what a start-up file of the user's shell prints.
//
// When the context ends, the SSH server is asked to send SIGKILL to the
// group. OpenSSH does so since 7.9, but not to processes of root's. Therefore
// a second session then kills, with grep and kill, every process that carries
// the variable.
func (c *Client) Run(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	if len(cmd.Args) == 0 {
		return remote.Output{}, errors.New("a command without a name")
	}
	if cmd.Bare {
		if c.target.Become != "" {
			return remote.Output{}, &remote.BecomeError{Name: c.Name(), User: c.User(), Reply: "there is no sudo on this machine"}
		}
		line, err := bare(cmd.Args)
		if err != nil {
			return remote.Output{}, err
		}
		return c.run(ctx, cmd, func(string) string { return line })
	}
	if c.Limited() {
		err := &remote.BecomeError{Name: c.Name(), User: c.User(), Reply: "it logs in to read only"}
		return remote.Output{}, hint.Wrap(err, "changes and measurements need a connection with become = \"sudo\"; this one has %q", ReadOnly)
	}
	return c.run(ctx, cmd, func(id string) string { return c.line(cmd.Args, id) })
}

// Limited implements remote.Limited.
func (c *Client) Limited() bool { return c.target.Become == ReadOnly }

// plainWord is one that cmd.exe, PowerShell and POSIX shells take as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=+-]+$`)

// bare is a line for a shell of whatever kind.
func bare(args []string) (string, error) {
	for _, a := range args {
		if !plainWord.MatchString(a) {
			return "", fmt.Errorf("%q is no word that every shell takes as it is", a)
		}
	}
	return strings.Join(args, " "), nil
}

// Script implements remote.Scripter. OpenSSH grants a command its input only
// when it runs: to send the script in the line that starts it saves a round
// trip. One that is long, and one for a server that takes short lines only,
// goes the long way. sudo writes its arguments to a log: there the script is
// the input.
func (c *Client) Script(ctx context.Context, text string, args ...string) (remote.Output, error) {
	cmd := remote.Cmd{Args: append([]string{"sh", "-s"}, args...), Quiet: true}
	line := func(id string) string { return c.line(append([]string{"sh", "-c", text, "sh"}, args...), id) }
	if c.sudo() {
		feed := "printf %s " + remote.Quote(text) + " | "
		line = func(id string) string { return c.fed(feed, cmd.Args, id) }
	}
	if len(line(runID())) <= maxLine && !c.short.Load() {
		out, err := c.run(ctx, cmd, line)
		if !errors.Is(err, errRefused) {
			return out, err
		}
		c.short.Store(true)
	}
	cmd.Stdin = strings.NewReader(text)
	return c.run(ctx, cmd, func(id string) string { return c.line(cmd.Args, id) })
}

// sudo reports whether commands become root.
func (c *Client) sudo() bool { return c.target.Become == "sudo" }

// run runs a command whose line is made of the run's name.
func (c *Client) run(ctx context.Context, cmd remote.Cmd, line func(id string) string) (remote.Output, error) {
	what := cmd.Args[0]
	if !cmd.Quiet {
		what = remote.Short(cmd.Args...)
	}
	ctx, cancel := c.limited(ctx, 0)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	session, release, err := c.session(ctx, c.conn.sessions)
	if err != nil {
		return remote.Output{}, fmt.Errorf("%s: %w", what, err)
	}
	defer release()
	defer session.Close()
	full := func() { fail(fmt.Errorf("more than %d MiB of output", maxOutput>>20)) }
	stdout, stderr := &bounded{full: full}, &bounded{full: full}
	id := runID()
	kill := func() { c.kill(id) }
	if cmd.Bare {
		kill = func() {} // there may be neither /proc nor kill
	}
	err = c.execute(ctx, &process{session: session, stdin: cmd.Stdin, stdout: stdout, stderr: stderr}, line(id), kill)
	out := remote.Output{Stdout: stdout.after(mark(id) + "\n"), Stderr: stderr.all()}
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return out, fmt.Errorf("%s: %w", what, err)
	}
	return out, c.failed(cmd, what, out, err)
}

// limited ends with the time that a command may take, and more; see also remote.Longer.
func (c *Client) limited(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	limit := pick(c.target.CommandTimeout, defaultCommandTimeout) + more + remote.Takes(ctx)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s: %w", limit, context.DeadlineExceeded))
}

// execute runs a line until it ends or the context does.
func (c *Client) execute(ctx context.Context, p *process, line string, kill func()) error {
	ended := make(chan error, 1)
	c.conn.work.Go(func() { ended <- p.run(line) })
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	p.session.signal(ssh.SIGKILL)
	if remote.Reads(ctx) && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.Cause(ctx) // the end of the connection ends it
	}
	if c.sudo() || !within(time.Second, ended) {
		kill()
	}
	switch {
	case within(killGrace, ended), c.conn.dead():
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w; it did not die within %s and may still run", context.Cause(ctx), killGrace)
}

// within reports whether a command ends in time.
func within(limit time.Duration, ended chan error) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		ended <- err // for whoever asks next
		return true
	case <-timer.C:
		return false
	}
}

// kill ends a command and its children from another session. A machine that opens one and
// then says nothing, not even that it is closed, holds up nobody: the session ends with the
// connection.
func (c *Client) kill(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), killGrace)
	defer cancel()
	killer, release, err := c.session(ctx, c.conn.killers)
	if err != nil {
		return // execute says what that means
	}
	defer killer.Close()
	line := remote.Quote("sh", "-c", killScript, "sh", id)
	if c.sudo() {
		line = become(killScript, "sh", id)
	}
	p := &process{session: killer, stdout: io.Discard, stderr: io.Discard}
	ended := make(chan struct{})
	c.conn.work.Go(func() {
		defer release()
		defer close(ended)
		_ = p.run(line) // whether the command has ended is seen there
	})
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// killScript kills the processes whose environment holds $1. It looks more
// than once: a process may be about to fork.
const killScript = `for again in 1 2 3; do
	for e in /proc/[0-9]*/environ; do
		if grep -q "WEFT_RUN=$1" "$e" 2>/dev/null; then e=${e#/proc/}; kill -9 "${e%/environ}"; fi
	done
done 2>/dev/null`

// line is what the server's shell is asked to run.
func (c *Client) line(args []string, id string) string { return c.fed("", args, id) }

// fed is a line in which the command reads what feed, which ends in a pipe,
// writes.
func (c *Client) fed(feed string, args []string, id string) string {
	begin := "echo " + mark(id) + "; " + feed
	if !c.sudo() {
		return begin + "WEFT_RUN=" + id + " " + remote.Quote(args...)
	}
	return begin + become("export WEFT_RUN="+id+`; exec "$@"`, append([]string{"sh"}, args...)...)
}

// mark is what a command's output begins after.
func mark(id string) string { return "weft-run-" + id }

// Becomes is what runs a script as root: all that a user needs sudo for.
func Becomes() []string { return []string{"sudo", "-n", "--", "sh", "-c"} }

// BecomesReader is what runs the reader.
func BecomesReader() []string { return []string{"sudo", "-n", "--", remote.ReaderPath} }

// become is a line that runs a script as root.
func become(script string, args ...string) string {
	return remote.Quote(append(append(Becomes(), script), args...)...)
}

// failed tells a command that failed from one that never ran.
func (c *Client) failed(cmd remote.Cmd, what string, out remote.Output, err error) error {
	code := -1
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		if !exit.signal {
			code = exit.code
		}
	case errors.Is(err, errRefused), errors.Is(err, errNoStatus) && !c.lostSoon():
		return fmt.Errorf("%s: %w", what, err)
	case c.lostSoon():
		return fmt.Errorf("%s: %w", what, c.unreachable(errLost))
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
	if refusal := c.sudoRefusal(code, out.Stderr); refusal != nil {
		return refusal
	}
	if cmd.Quiet {
		return &remote.ExitError{Code: code}
	}
	return &remote.ExitError{Args: cmd.Args, Code: code, Output: out}
}

// lostSoon reports whether the connection has ended, or is about to be found
// out to have.
func (c *Client) lostSoon() bool {
	select {
	case <-c.conn.lost:
		return true
	case <-time.After(time.Second):
		return false
	}
}

// sudoRefusal recognises that sudo, not the command, failed.
func (c *Client) sudoRefusal(code int, stderr []byte) error {
	if c.target.Become == "" || code <= 0 {
		return nil
	}
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimSpace(line)
		for _, phrase := range []string{
			"sudo: a password is required",
			"sudo: a terminal is required",
			"sudo: no tty present",
			"sudo: sorry, you must have a tty",
			"is not in the sudoers file",
			"is not allowed to execute",
			"may not run sudo",
			"sudo: not found",
			"sudo: command not found",
			"sudo: " + remote.ReaderPath + ": command not found",
			"weft-read: ",
		} {
			if strings.Contains(line, phrase) {
				err := &remote.BecomeError{Name: c.Name(), User: c.User(), Reply: line}
				if c.Limited() {
					return hint.Wrap(err, "install the reader there, and the rule of sudo for it: weft doctor --privileges shows both")
				}
				return hint.Wrap(err, "let %s run sudo without a password there: %s ALL=(root) NOPASSWD: ALL in /etc/sudoers.d/weft", c.User(), c.User())
			}
		}
	}
	return nil
}

// runID names one run of a command among all others.
func runID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
