//go:build unix

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/labctl"
	"weft/switches/systems"
)

func (a *labCommand) labGrammar() *cobra.Command {
	return &cobra.Command{
		Use: "grammar [OS]", Short: "Show every line that simulated switches accept, with its source; no lab needed",
		Long: `grammar prints the lines that simulated switches accept, the mode of each line, its undo
form and its source: output of a device, a manual, or a published configuration. Parts
of a source marked SYNTHETIC were never recorded on a device. All other lines are
refused like on a device; the view "refusal" lists the messages.

In a line {a|b} is a choice, [a] is optional, and <0-7> is a value.`,
		ValidArgs: systems.Names(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(systems.Names(), args[0]) {
				return usage(fmt.Errorf("usage: weft lab grammar [%s]", strings.Join(systems.Names(), "|")))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := labctl.Program(a.opts.dir)
			if err != nil {
				return err
			}
			g, err := labctl.ReadGrammar(cmd.Context(), program)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				g.Lines = slices.DeleteFunc(g.Lines, func(l labctl.GrammarLine) bool { return l.OS != args[0] })
			}
			if a.opts.json {
				return a.out.encode(g.Lines)
			}
			return printGrammar(a.out.stdout, g)
		},
	}
}

// printGrammar prints a table, then how many of its lines are SYNTHETIC in part.
func printGrammar(out io.Writer, g *labctl.Grammar) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OS\tVIEW\tLINE\tUNDONE BY\tSOURCE")
	unseen := 0
	for _, l := range g.Lines {
		if !l.Seen {
			unseen++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.OS, l.View, l.Line, negated(l, g.Negation[l.OS]), l.Source)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d lines; of %d a part is SYNTHETIC: never seen on a device\n", len(g.Lines), unseen)
	return nil
}

// negated writes the negative forms as they are typed.
func negated(l labctl.GrammarLine, negation string) string {
	if l.Undo == "" {
		return "-"
	}
	forms := strings.Split(l.Undo, ";")
	for i, f := range forms {
		forms[i] = negation + " " + strings.TrimSpace(f)
	}
	return strings.Join(forms, "; ")
}
