package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/view"
	"weft/inventory"
	"weft/inventory/language"
	"weft/plan"
)

// eventFile is the event of a file that weft wrote, or would write.
const eventFile plan.EventType = "file"

type fmtFlags struct{ check, diff, recursive bool }

// A fmtCommand is weft fmt.
type fmtCommand struct {
	opts *options
	out  *printer
}

func (c *fmtCommand) command() *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use: "fmt [PATH…]", Short: "Format files; no network",
		Long: `fmt formats *.weft.hcl and *.weftvars in the style of weft's examples; it changes only
white space. It prints the names of changed files. A PATH is a file or a directory below
--chdir; the default is --chdir. - reads standard input and writes standard output.

--check changes nothing, and exits with 1 if a file would change. --diff prints the
changes in place of the names; values in *.weftvars are shown as …, because they may be
sensitive. If a file is invalid, fmt prints all errors and changes no file. It skips
names that begin with a dot, and symbolic links to directories.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				return c.formatInput(f)
			}
			c.out.begin(cmd)
			return c.format(cmd.Context(), args, f)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"hcl", "weftvars"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing; exit 1 if a file would change")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "show the changes")
	cmd.Flags().BoolVar(&f.recursive, "recursive", false, "include subdirectories")
	return cmd
}

// formatInput formats standard input to standard output.
func (c *fmtCommand) formatInput(f fmtFlags) error {
	if c.opts.json {
		return usage(errors.New("fmt - writes the text itself and has no --json"))
	}
	const name = "<stdin>"
	before, after, diags := language.Format(name, c.out.stdin)
	if err := c.out.diagnose(sources(name, before), diags); err != nil {
		return err
	}
	s := source{name: name, before: before, after: after}
	switch {
	case f.diff:
		fmt.Fprint(c.out.stdout, s.diff(c.out.style(c.out.stdout)))
	case !f.check:
		out := stream(c.out.stdout) // to the letter: an editor reads it, or a file becomes of it
		if onTerminal(out) {
			out = c.out.stdout
		}
		fmt.Fprintf(out, "%s", after)
	}
	if f.check && s.changed() {
		return &quietError{exitError}
	}
	return nil
}

// format formats files: all of them, or none when one is broken.
func (c *fmtCommand) format(ctx context.Context, args []string, f fmtFlags) error {
	walk := walk{dir: c.opts.dir, plain: c.opts.untrusted, recursive: f.recursive, seen: map[string]bool{}}
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		if err := walk.argument(ctx, arg); err != nil {
			return err
		}
	}
	broken := sources("", nil)
	var diags hcl.Diagnostics
	for i, more := range walk.read(ctx) {
		diags = append(diags, more.diags...)
		if more.err != nil {
			return more.err
		}
		if s := walk.found[i]; more.diags.HasErrors() && !s.values() { // a snippet might show a secret
			broken.Files[s.name] = &hcl.File{Bytes: s.before}
		}
	}
	if err := c.out.diagnose(broken, diags); err != nil {
		return err
	}
	changed := 0
	for _, s := range walk.found {
		if !s.changed() {
			continue
		}
		changed++
		if !f.check {
			if err := outfile.Write(ctx, s.path, s.after, outfile.Options{}); err != nil {
				return fmt.Errorf("write %s: %w", s.name, err)
			}
		}
		c.formatted(s, f)
	}
	if f.check && changed > 0 {
		return &quietError{exitError}
	}
	return nil
}

// formatted says that a file has changed, or would.
func (c *fmtCommand) formatted(s *source, f fmtFlags) {
	switch {
	case c.opts.json:
		e := plan.Event{Type: eventFile, Message: s.name + " has changed", Data: map[string]any{"file": s.name}}
		if f.check {
			e.Message = s.name + " would change"
		}
		if f.diff {
			e.Data["diff"] = s.diff(view.Style{})
		}
		c.out.emit(e)
	case f.diff:
		fmt.Fprint(c.out.stdout, s.diff(c.out.style(c.out.stdout)))
	default:
		fmt.Fprintln(c.out.stdout, s.name)
	}
}

// sources is a model of nothing but one file, for snippets.
func sources(name string, text []byte) *inventory.Model {
	return &inventory.Model{Files: map[string]*hcl.File{name: {Bytes: text}}}
}

// A source is one file to format.
type source struct {
	name, path    string // as shown; as opened, free of symbolic links
	before, after []byte
}

// problems are what is wrong with a source, or why it cannot be read.
type problems struct {
	diags hcl.Diagnostics
	err   error
}

func (s *source) read() problems {
	f, err := os.Open(s.path)
	if err != nil {
		return problems{err: err}
	}
	defer f.Close()
	var diags hcl.Diagnostics
	s.before, s.after, diags = language.Format(s.name, f)
	if !s.changed() {
		s.before, s.after = nil, nil // not needed any more
	}
	return problems{diags: diags}
}

func (s *source) changed() bool { return string(s.before) != string(s.after) }

// values reports whether this is a file of values, which may be sensitive.
func (s *source) values() bool {
	return strings.HasSuffix(s.name, ".weftvars") || strings.HasSuffix(s.path, ".weftvars")
}

func (s *source) diff(style view.Style) string {
	before, after := s.before, s.after
	if s.values() {
		before, after = language.WithoutValues(before), language.WithoutValues(after)
	}
	return view.LineDiff(style, filepath.ToSlash(s.name), string(before), string(after))
}

// A walk finds the files to format.
type walk struct {
	dir       string // what names are relative to
	recursive bool
	plain     bool            // symbolic links are refused
	seen      map[string]bool // by path
	found     []*source
}

// read reads all files that were found, several at once.
func (w *walk) read(ctx context.Context) []problems {
	all := make([]problems, len(w.found))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range w.found {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if all[i].err = ctx.Err(); all[i].err == nil {
				all[i] = s.read()
			}
		})
	}
	wg.Wait()
	return all
}

// ours reports whether weft reads files of that name.
func ours(name string) bool {
	return strings.HasSuffix(name, ".weft.hcl") || strings.HasSuffix(name, ".weftvars")
}

// argument adds a file, or those of a directory.
func (w *walk) argument(ctx context.Context, name string) error {
	if name == "-" {
		return usage(errors.New("- stands for standard input and is the only argument then"))
	}
	name = filepath.Clean(name)
	info, err := os.Stat(w.path(name))
	if link, linked := os.Lstat(w.path(name)); w.plain && linked == nil && link.Mode().Type() == fs.ModeSymlink {
		return fmt.Errorf("%s is a symbolic link, and the files are not trusted", name)
	}
	switch {
	case err != nil:
		return hint.Wrap(err, "a relative path is looked up in --chdir (%s)", w.dir)
	case info.IsDir():
		return w.directory(ctx, name)
	case !ours(name):
		return usage(fmt.Errorf("%s is neither a *.weft.hcl nor a *.weftvars file", name))
	}
	return w.file(name)
}

func (w *walk) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.dir, name)
}

// directory adds the files of a directory in the order of their names. It
// does not follow symbolic links to directories, so it ends.
func (w *walk) directory(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.path(name))
	if err != nil {
		return err
	}
	for _, e := range entries {
		inside := filepath.Join(name, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."): // .weft and .git among them
		case e.IsDir() && w.recursive:
			err = w.directory(ctx, inside)
		case !e.IsDir() && ours(e.Name()):
			err = w.file(inside)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file adds a file once, whatever leads to it.
func (w *walk) file(name string) error {
	info, err := os.Stat(w.path(name))
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // a pipe would be waited for
		return fmt.Errorf("%s is not a regular file", name)
	}
	path, err := filepath.EvalSymlinks(w.path(name))
	if err != nil {
		return err
	}
	if link, err := os.Lstat(w.path(name)); err != nil || w.plain && !link.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is a symbolic link, and the files are not trusted", name))
	}
	if !w.seen[path] {
		w.seen[path] = true
		w.found = append(w.found, &source{name: name, path: path})
	}
	return nil
}
