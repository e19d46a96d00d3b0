// Package remote runs commands, reads files and replaces files on one
// machine, near or far.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// A Host is one machine weft can observe and change. Methods may be called
// concurrently.
type Host interface {
	// Name is what the machine is called in messages.
	Name() string

	// Run runs a command and waits for it. A non-zero exit is *ExitError.
	// When the context ends, the command and its children are killed.
	Run(context.Context, Cmd) (Output, error)

	// ReadFile reads a whole file. Its error wraps fs.ErrNotExist when the
	// file is not there.
	ReadFile(ctx context.Context, path string) ([]byte, error)

	// WriteFile replaces a file whole or not at all. Missing directories are
	// made with mode 0755. It is put in its place by a command that runs behind the
	// arguments, where there are any: they decide whether it is.
	WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) error
}

// An Uploader is a Host that takes files by SFTP, where its server has that.
type Uploader interface {
	// Upload stores content in a new file of that name, in the folder in which sessions of
	// who logs in begin, and returns its path as the server has it. ErrNoUpload: the
	// server has no SFTP.
	Upload(ctx context.Context, name string, content []byte) (path string, err error)
	// Withdraw removes such a file.
	Withdraw(ctx context.Context, path string) error
}

// ErrNoUpload is a server that has no SFTP subsystem.
var ErrNoUpload = errors.New("the server has no SFTP subsystem")

// A Cmd is an argument vector; Quote is the only function that turns one
// into a line for a shell.
type Cmd struct {
	Args  []string
	Stdin io.Reader
	Quiet bool // arguments and output are left out of errors and traces

	// Bare has the arguments reach the machine as they are, with spaces between: for one
	// whose shell is none of POSIX. They are words that no shell takes for more, and
	// neither does the command become root, nor do its children end with the context.
	Bare bool
}

// longer is the key of what Longer keeps in a context.
type longer struct{}

// Longer is a context in which each command takes so long by itself, on top of what any may
// take: one that measures for ten minutes.
func Longer(ctx context.Context, by time.Duration) context.Context {
	return context.WithValue(ctx, longer{}, by)
}

// Takes is what Longer said; 0: nothing.
func Takes(ctx context.Context) time.Duration {
	by, _ := ctx.Value(longer{}).(time.Duration)
	return by
}

// reading is the key of what Reading keeps in a context.
type reading struct{}

// Reading is a context in which commands change nothing: when it is interrupted they are not
// waited for.
func Reading(ctx context.Context) context.Context { return context.WithValue(ctx, reading{}, true) }

// Reads reports whether commands change nothing, as Reading said.
func Reads(ctx context.Context) bool {
	is, _ := ctx.Value(reading{}).(bool)
	return is
}

// Output is what a command wrote.
type Output struct {
	Stdout, Stderr []byte
}

// An ExitError is a command that ran and failed.
type ExitError struct {
	Args   []string // nil when the command was Quiet
	Code   int      // exit status; -1 when killed by a signal
	Output Output   // empty when the command was Quiet
}

func (e *ExitError) Error() string {
	msg := fmt.Sprintf("exit %d", e.Code)
	if e.Code < 0 {
		msg = "killed by a signal"
	}
	if said := strings.TrimSpace(string(e.Output.Stderr)); said != "" {
		msg += ": " + said
	}
	if len(e.Args) > 0 {
		msg = Short(e.Args...) + ": " + msg
	}
	return Redact(msg)
}

// A Step is one action that changes a host: a command to run, or a file to
// put.
type Step struct {
	Args   []string // run this, or
	Put    *File    // replace this file, or
	Del    string   // remove this file, if it is there
	Secret []byte   // with Args: what the command reads, which is never shown

	// Shown replaces Args where plans show and compare the step. Set it when an argument is
	// a reading of the moment, such as a count of connected hosts: a plan that prints such a
	// value is stale as soon as the value changes, although the step means the same.
	Shown string
}

// A File is the whole of a file.
type File struct {
	Path    string
	Mode    fs.FileMode
	Content []byte
	Secret  bool // the content is never shown

	// Unpack makes the content when the file is put, in place of Content: what is
	// large is not unpacked to be shown. Size is how long it will be.
	Unpack func() ([]byte, error)
	Size   int
}

// Bytes is the content.
func (f *File) Bytes() ([]byte, error) {
	if f.Unpack == nil {
		return f.Content, nil
	}
	return f.Unpack()
}

func (f *File) size() int {
	if f.Unpack == nil {
		return len(f.Content)
	}
	return f.Size
}

// String shows the step as people read it in a plan: the command with a
// leading "$ ", or what is put where.
func (s Step) String() string {
	switch {
	case s.Put != nil && s.Put.Secret:
		return fmt.Sprintf("put %s (%04o, sensitive)", s.Put.Path, s.Put.Mode.Perm())
	case s.Put != nil:
		return fmt.Sprintf("put %s (%04o, %d bytes)", s.Put.Path, s.Put.Mode.Perm(), s.Put.size())
	case s.Del != "":
		return "remove " + s.Del
	case s.Secret != nil:
		return "$ " + Quote(s.Args...) + " < (sensitive)"
	case s.Shown != "":
		return "$ " + s.Shown
	}
	return "$ " + Quote(s.Args...)
}

// Short shows the step as messages name it: see [Short].
func (s Step) Short() string {
	switch {
	case len(s.Args) == 0:
		return s.String()
	case s.Secret != nil:
		return "$ " + Short(s.Args...) + " < (sensitive)"
	}
	return "$ " + Short(s.Args...)
}

// A Look is one thing to read on a host: a file, or the output of a command.
// In File and Args every {if} stands for the network interface of the NIC port in
// PCI, resolved on the host in the same pass.
type Look struct {
	PCI  string   // place of a NIC port, as FindPort takes it: "0000:41:00.0"; or ""
	File string   // read this file, or
	Args []string // run this command; its exit status is part of what is seen
	Sum  bool     // with File: only its SHA-256, mode and size, not its content
	Stat bool     // with File: also its mode and size
	Root bool     // needs root

	// Own says that Args are "sh -c", a script that is sound by itself, and its
	// $0 and arguments: the shell that carries out the looks may run it without
	// another shell being started. What it sees is the same.
	Own bool
}
