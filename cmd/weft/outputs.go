package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weft/internal/hint"
	"weft/internal/outfile"
)

// outputKey annotates flags that name a file to write. Its values are the traits below.
const outputKey = "weft_output"

const (
	inChdir = "chdir" // a relative name is seen from --chdir
	twoFile = "two"   // the flag always writes FILE and FILE.sig
)

// output marks a flag as one that names a file to write, which is then checked before the
// command begins.
func output(f *pflag.FlagSet, name string, traits ...string) {
	f.Lookup(name).Annotations = map[string][]string{outputKey: append([]string{}, traits...)}
}

// onStdout reports whether the name of an output stands for standard output.
func onStdout(name string) bool {
	return slices.Contains([]string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, name)
}

// outputs checks the files that a command is to write, before it reads a device: what cannot
// be written is refused. Where one goes to standard output, all text goes to standard error.
func (p *printer) outputs(cmd *cobra.Command) error {
	var errs []error
	streams := 0
	sign := cmd.Flags().Lookup("sign")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		traits, is := f.Annotations[outputKey]
		if !is || !f.Changed {
			return
		}
		two := slices.Contains(traits, twoFile)
		for _, name := range namesOf(f) {
			if name == "" || name == f.NoOptDefVal {
				continue
			}
			file := false
			if onStdout(name) {
				streams++
			} else {
				var err error
				if slices.Contains(traits, inChdir) {
					name = p.opts.inDir(name)
				}
				if file, err = outfile.Check(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // its folder may be made
					errs = append(errs, hint.Wrap(fmt.Errorf("--%s: %w", f.Name, err), "%s", hint.Of(err)))
					continue
				}
				file = file || err != nil
			}
			switch {
			case file:
			case two:
				errs = append(errs, fmt.Errorf("--%s %s: two files are written, FILE and FILE.sig, so name a regular file", f.Name, name))
			case sign != nil && sign.Changed:
				errs = append(errs, fmt.Errorf("--sign: %s is not a regular file, so it cannot be signed", name))
			}
		}
	})
	if streams > 1 {
		errs = append(errs, errors.New("only one file can be written to standard output"))
	}
	if err := errors.Join(errs...); err != nil {
		return usage(err)
	}
	if streams > 0 {
		p.document, p.stdout = stream(p.stdout), p.stderr
	}
	return nil
}

// namesOf are the files that a flag names.
func namesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// write writes a file that the user named.
func (p *printer) write(ctx context.Context, name string, text []byte, o outfile.Options) error {
	if !onStdout(name) {
		return outfile.Write(ctx, name, text, o)
	}
	_, err := p.document.Write(text)
	return err
}

// isFile reports whether an output is a regular file or becomes one.
func isFile(name string) bool {
	if onStdout(name) {
		return false
	}
	file, err := outfile.Check(name)
	return file || err != nil // which writing it reports
}

// drop removes a file that write has created.
func (p *printer) drop(name string) {
	if !onStdout(name) {
		_ = outfile.Remove(name) // the error that is being reported matters more
	}
}

// nameOf is the name of an output in a sentence.
func nameOf(output string) string {
	if onStdout(output) {
		return "standard output"
	}
	return output
}
