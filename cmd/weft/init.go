package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/examples"
	"weft/internal/discover"
	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/remote"
	"weft/internal/text"
	"weft/plan"
)

// What weft leaves in a directory and nobody should commit.
const gitignore = ".weft/\n*.weftplan\n"

// An initCommand is weft init.
type initCommand struct {
	opts       *options
	out        *printer
	discoverer *discoverer
}

func (c *initCommand) command() *cobra.Command {
	var template, from string
	cmd := &cobra.Command{
		Use: "init", Short: "Write initial files from an example, a directory or a running lab", Args: initArgs,
		Long: `init writes a complete example into --chdir, and creates the directory if it is missing.
It adds a .gitignore unless one exists. It overwrites nothing: if a file of that name or
another inventory exists, nothing is written. No device is contacted.

--from DIR copies the weft files of a directory tree. --from lab writes the files of the
devices in the running lab of --chdir; it queries them like weft discover and does not
need the original files.

Templates: ` + strings.Join(examples.Names(), ", "),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.out.begin(cmd)
			switch {
			case from != "" && cmd.Flags().Changed("template"):
				return usage(errors.New("--from and --template: begin with one of the two"))
			case from == "lab":
				return c.initFromLab(cmd.Context())
			case from != "":
				return c.initFrom(cmd.Context(), from)
			}
			return c.writeTemplate(cmd.Context(), template)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "copy the files of this directory, or use lab for the devices of the running lab")
	cmd.Flags().StringVar(&template, "template", "pilot", "the example to write")
	completeFlag(cmd, "template", examples.Names()...)
	return cmd
}

// initArgs takes none: who names an example or a directory is told how that is written.
func initArgs(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) == 1 && slices.Contains(examples.Names(), args[0]):
		return usage(hint.Wrap(errors.New("usage: weft init"), "weft init --template %s", args[0]))
	}
	return usage(hint.Wrap(errors.New("usage: weft init"), "a directory is named with -C: weft -C %s init", remote.Quote(args[0])))
}

func (c *initCommand) writeTemplate(ctx context.Context, template string) error {
	files, ok := examples.Open(template)
	if !ok {
		return usage(hint.Wrap(fmt.Errorf("--template: there is no template %q", template),
			"there are %s", strings.Join(examples.Names(), ", ")))
	}
	texts, err := textsOf(files)
	if err != nil {
		return err
	}
	return c.writeStart(ctx, texts)
}

// initFrom writes the files of another directory.
func (c *initCommand) initFrom(ctx context.Context, dir string) error {
	var texts []document
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !ours(d.Name()) || strings.HasPrefix(d.Name(), "."):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		texts = append(texts, document{name, content})
		return err
	})
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if texts == nil {
		return usage(hint.Wrap(fmt.Errorf("--from %s: no weft files found", dir), "they are called NAME.weft.hcl and NAME.weftvars; an example is written by --template"))
	}
	return c.writeStart(ctx, texts)
}

// initFromLab discovers the devices of the lab that is up.
func (c *initCommand) initFromLab(ctx context.Context) error {
	f := discoverFlags{out: c.opts.dir, login: discover.Login{Become: "sudo"}}
	if err := c.nothingInTheWay(nil); err != nil {
		return err
	}
	var err error
	if err = labHosts(c.opts.dir, &f); err != nil {
		return err
	}
	c.opts.lab = true
	err = c.discoverer.discover(ctx, f)
	if _, no := os.Lstat(filepath.Join(c.opts.dir, "main.weft.hcl")); no != nil {
		return err // nothing was written
	}
	if _, no := os.Lstat(filepath.Join(c.opts.dir, ".gitignore")); no != nil {
		err = errors.Join(err, writeOne(ctx, filepath.Join(c.opts.dir, ".gitignore"), []byte(gitignore)))
	}
	return err
}

// writeStart writes files where nothing is in the way.
func (c *initCommand) writeStart(ctx context.Context, texts []document) error {
	if err := os.MkdirAll(c.opts.dir, 0o755); err != nil {
		return fmt.Errorf("--chdir: %w", err)
	}
	if err := c.nothingInTheWay(texts); err != nil {
		return err
	}
	_, err := os.Lstat(filepath.Join(c.opts.dir, ".gitignore"))
	ignored := err == nil
	if !ignored {
		texts = append(texts, document{".gitignore", []byte(gitignore)})
	}
	if err := writeNew(ctx, c.opts.dir, texts); err != nil {
		return err
	}
	c.begun(texts, ignored)
	return nil
}

// A text is a file to write.
type document struct {
	name    string
	content []byte
}

// textsOf lists all files in the order of their names.
func textsOf(files fs.FS) ([]document, error) {
	var texts []document
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, p)
		texts = append(texts, document{p, content})
		return err
	})
	return texts, err
}

// nothingInTheWay names every file that would be overwritten, and every one
// that would become part of the same inventory.
func (c *initCommand) nothingInTheWay(texts []document) error {
	entries, err := os.ReadDir(c.opts.dir)
	if err != nil {
		return fmt.Errorf("--chdir: %w", err)
	}
	var there []string
	for _, e := range entries {
		if ours(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			there = append(there, e.Name())
		}
	}
	for _, t := range texts {
		if _, err := os.Lstat(filepath.Join(c.opts.dir, t.name)); err == nil {
			there = append(there, t.name)
		}
	}
	slices.Sort(there)
	if there = slices.Compact(there); len(there) == 0 {
		return nil
	}
	return hint.Wrap(fmt.Errorf("%s: %s there already, and nothing was written", strings.Join(there, ", "), text.Plural(len(there), "is", "are")),
		"choose an empty directory: weft -C DIR init")
}

// writeNew writes all files or none. It replaces nothing.
func writeNew(ctx context.Context, dir string, texts []document) error {
	for i, t := range texts {
		err := writeOne(ctx, filepath.Join(dir, t.name), t.content)
		if err == nil {
			continue
		}
		for _, done := range texts[:i] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, done.name)))
		}
		return err
	}
	return nil
}

func writeOne(ctx context.Context, path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return outfile.Write(ctx, path, content, outfile.Options{New: true, Mode: 0o644})
}

// begun says what was written and how to go on.
func (c *initCommand) begun(texts []document, ignored bool) {
	if c.opts.json {
		for _, t := range texts {
			c.out.emit(plan.Event{Type: eventFile, Message: "wrote " + t.name, Data: map[string]any{"file": t.name}})
		}
		return
	}
	weft := []string{"weft"}
	if c.opts.dir == "." {
		fmt.Fprintln(c.out.stdout, "Wrote:")
	} else {
		fmt.Fprintf(c.out.stdout, "Wrote into %s:\n", c.opts.dir)
		weft = append(weft, "-C", c.opts.dir)
	}
	for _, t := range texts {
		fmt.Fprintf(c.out.stdout, "  %s\n", t.name)
	}
	if ignored {
		fmt.Fprintf(c.out.stderr, "Your .gitignore stays as it is; it should list %s.\n",
			strings.Join(strings.Fields(gitignore), " and "))
	}
	fmt.Fprintf(c.out.stdout, "\nNext:\n  %s\n  %s\n",
		remote.Quote(append(slices.Clone(weft), "validate")...), remote.Quote(append(weft, "graph")...))
}
