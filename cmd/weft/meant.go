package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
)

// known demands, of a command that only holds others, one of those. Without
// one it shows its help. cobra shows it for a misspelt one as well, and calls
// that a success, which a pipeline would believe.
func known(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("%s has no command %q", cmd.CommandPath(), args[0])
	if near := problem.Near(args[0], subcommands(cmd)); near != "" {
		return usage(hint.Wrap(err, "did you mean %s %s?", cmd.CommandPath(), near))
	}
	return usage(hint.Wrap(err, "%s --help lists them", cmd.CommandPath()))
}

// helps is what a command that only holds others does.
func helps(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// subcommands are the names of the commands that a command holds.
func subcommands(cmd *cobra.Command) []string {
	return slice.Map(cmd.Commands(), (*cobra.Command).Name)
}

// validations demands names of validations, before any device is asked.
func validations(cmd *cobra.Command, m *inventory.Model, wanted []string) error {
	all := slice.Map(m.Validations, func(v *inventory.Validation) string { return v.Name })
	for _, name := range wanted {
		short := strings.TrimPrefix(name, "validation.")
		if slices.Contains(all, short) {
			continue
		}
		err := fmt.Errorf("there is no validation %q", name)
		near := problem.Near(short, append(subcommands(cmd), all...))
		switch {
		case near != "":
			return usage(hint.Wrap(err, "did you mean %s %s?", cmd.CommandPath(), near))
		case len(all) == 0:
			return usage(hint.Wrap(err, "the files have no validation blocks"))
		}
		return usage(hint.Wrap(err, "there are %s", strings.Join(all, ", ")))
	}
	return nil
}

// writable refuses to let loads write to what is no scratch namespace of the files.
func writable(m *inventory.Model, wanted []string) error {
	var all []string
	for _, t := range m.Targets {
		for _, s := range t.Scratch() {
			all = append(all, s.Addr)
		}
	}
	for _, addr := range wanted {
		if slices.Contains(all, addr) {
			continue
		}
		err := fmt.Errorf("--i-will-write %s: the files have no such namespace with scratch = true", addr)
		if len(all) == 0 {
			return usage(hint.Wrap(err, "a validation may write to a namespace only where its block says scratch = true"))
		}
		return usage(hint.Wrap(err, "there are %s", strings.Join(all, ", ")))
	}
	return nil
}

// misspelt suggests the flag that was probably meant.
func misspelt(cmd *cobra.Command, err error) error {
	unknown := new(pflag.NotExistError)
	if !errors.As(err, &unknown) {
		return usage(err)
	}
	var list []string
	add := func(f *pflag.Flag) { list = append(list, f.Name) }
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if near := problem.Near(unknown.GetSpecifiedName(), list); near != "" {
		return usage(hint.Wrap(err, "did you mean --%s?", near))
	}
	return usage(err)
}

// explained makes help of a command end in its exit codes, those of all commands for weft
// itself.
func explained(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = cmp.Or(c.Long, c.Short+".") + "\n\n" + exitHelp(c)
		help(c, args)
	})
}
