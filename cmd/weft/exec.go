package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/remote/ssh"
	"weft/internal/run"
	"weft/internal/selector"
	"weft/internal/view"
	"weft/plan"
)

// execFlags say how a command is run.
type execFlags struct {
	sudo    bool
	timeout time.Duration
}

// An execCommand is weft exec.
type execCommand struct {
	opts    *options
	out     *printer
	project *project
	fabric  *fabric
}

func (c *execCommand) command() *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use: "exec SELECTOR... -- COMMAND [ARG...]", Short: "Run a command on servers, or a show line on switches",
		Long: `exec runs a command on the selected servers at once, each after it has proven to be
the declared machine, and prints what they answered, equal answers once. It is
no shell that reads the words: for one, run  sh -c 'a | b'. Without --sudo it runs
as the user of the connection. With --sudo, or as root, the command may change
the server, and holds its lease like an apply: nobody else changes it meanwhile.

On a switch the words are one line, which must begin with the word that shows there,
such as show or display; all else is refused before anything is run anywhere.

` + selector.Help,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			if at < 1 || at == len(args) {
				return usage(errors.New(`usage: weft exec SELECTOR... -- COMMAND [ARG...]`))
			}
			if f.timeout < 0 {
				return usage(errors.New("--timeout: it is less than nothing"))
			}
			c.out.begin(cmd)
			return c.exec(cmd.Context(), args[:at], args[at:], f)
		},
	}
	cmd.Flags().BoolVar(&f.sudo, "sudo", false, "run it as root, with sudo")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "end it after so long (default: command_timeout of the connection, or 5m)")
	c.project.completeArgs(cmd)
	return cmd
}

// eventExec is the answer of one device to exec.
const eventExec plan.EventType = "exec_result"

func (c *execCommand) exec(ctx context.Context, selectors, words []string, f execFlags) error {
	p, err := c.fabric.visit()
	if err != nil {
		return err
	}
	defer p.Close()
	p.Adjust = func(t *ssh.Target) {
		t.Become = ""
		if f.sudo {
			t.Become = "sudo"
		}
		if f.timeout > 0 {
			t.CommandTimeout = f.timeout
		}
	}
	devices, err := choose(p, selectors)
	if err != nil {
		return err
	}
	line := strings.Join(words, " ")
	for _, device := range devices {
		if err := p.Fleet.Device(device).CheckCommand(line); err != nil {
			return usage(err)
		}
	}
	root := asRoot(p)
	list := make([]answer, len(devices))
	p.Each(ctx, devices, "running "+words[0], func(ctx context.Context, i int, device string) {
		began := time.Now()
		list[i] = answerOf(ctx, p, device, words, f.sudo || root[device])
		list[i].took = time.Since(began)
		c.answered(list[i])
	})
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while the command ran: %w", context.Cause(ctx))
	}
	return c.executed(p.Model.Name, list)
}

// asRoot are the servers whose connection logs in as root.
func asRoot(p *run.Site) map[string]bool {
	list := map[string]bool{}
	for _, s := range p.Model.Servers {
		list[s.Addr] = p.OfServer(s).User == "root"
	}
	return list
}

// An answer is what one device made of a command.
type answer struct {
	view.Ran
	took time.Duration
	code int // the exit code of weft that it asks for
}

// answerOf runs the words on one device.
func answerOf(ctx context.Context, p *run.Site, device string, words []string, hold bool) answer {
	out := answer{Ran: view.Ran{Device: device}}
	d := p.Fleet.Device(device)
	if _, err := d.Open(ctx); err != nil {
		return out.failed(exitUnreachable, err)
	}
	text, err := d.Show(ctx, strings.Join(words, " "))
	switch {
	case errors.Is(err, errors.ErrUnsupported): // a server
	case errors.As(err, new(*plan.RefusedError)):
		return out.failed(exitError, err)
	case err != nil:
		return out.failed(exitUnreachable, err)
	default:
		out.Stdout = []byte(text)
		return out
	}
	got, err := d.RunCommand(ctx, remote.Cmd{Args: words}, hold)
	out.Stdout, out.Stderr = got.Stdout, got.Stderr
	var exit *remote.ExitError
	var held *plan.HeldError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.Code >= 0:
		out.Code, out.code = exit.Code, exitError
		out.Hint = advice(words, exit.Code)
	case errors.As(err, &held):
		return out.failed(exitHeld, err)
	case errors.As(err, new(*remote.UnreachableError)), errors.As(err, new(*remote.BecomeError)):
		return out.failed(exitUnreachable, err)
	default:
		return out.failed(exitError, err)
	}
	return out
}

func (o answer) failed(code int, err error) answer {
	o.code, o.Error, o.Hint = code, err.Error(), hint.Of(err)
	return o
}

// advice is for those who expected a shell.
func advice(words []string, code int) string {
	if code == 127 && len(words) == 1 && strings.ContainsAny(words[0], " |;>") {
		return "the words are no line for a shell: give them one by one, or run: sh -c " + remote.Quote(words[0])
	}
	return ""
}

// answered tells machines of one answer, and people of one that is missing.
func (c *execCommand) answered(o answer) {
	if !c.opts.json {
		return
	}
	e := plan.Event{Type: eventExec, Device: o.Device, Data: map[string]any{"seconds": o.took.Seconds()}}
	bytes := func(key string, b []byte) {
		if utf8.Valid(b) {
			e.Data[key] = string(b)
		} else {
			e.Data[key+"_base64"] = b // as JSON writes bytes
		}
	}
	bytes("stdout", o.Stdout)
	bytes("stderr", o.Stderr)
	switch {
	case o.Error != "":
		e.Level, e.Message = "error", o.Device+": "+o.Error
		e.Data["error"] = o.Error
	case o.Code != 0:
		e.Level, e.Message = "error", fmt.Sprintf("%s: exit %d", o.Device, o.Code)
		e.Data["exit_status"] = o.Code
	default:
		e.Message = o.Device + ": done"
		e.Data["exit_status"] = 0
	}
	if o.Hint != "" {
		e.Data["hint"] = o.Hint
	}
	c.out.emit(e)
}

// executed shows the answers and says how the command ends.
func (c *execCommand) executed(owner string, list []answer) error {
	ran := make([]view.Ran, len(list))
	count := map[int]int{}
	for i, o := range list {
		ran[i] = o.Ran
		count[o.code]++
	}
	if !c.opts.json {
		s := c.out.style(c.out.stdout)
		view.Heading(c.out.stdout, s, "exec", owner, c.opts.lab)
		view.Exec(c.out.stdout, ran, s)
	}
	switch {
	case count[exitUnreachable] > 0:
		return &quietError{exitUnreachable}
	case count[exitHeld] > 0:
		return &quietError{exitHeld}
	case count[exitError] > 0:
		return &commandError{count[exitError], len(list)}
	}
	return nil
}

// A commandError is a declared command that failed: what it changed is not for
// weft to say.
type commandError struct{ failed, of int }

func (e *commandError) Error() string {
	return fmt.Sprintf("the command failed on %d of %d devices", e.failed, e.of)
}
