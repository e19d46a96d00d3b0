//go:build unix

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/lab"
)

func (a *labCommand) labGrammar() *cobra.Command {
	return &cobra.Command{
		Use: "grammar [OS]", Short: "Show every line that simulated switches accept, with its source; no lab needed",
		Long: `grammar prints the lines that simulated switches accept, the mode of each line, its undo
form and its source: output of a device, a manual, or a published configuration. Parts
of a source marked SYNTHETIC were never recorded on a device. All other lines are
refused like on a device; the view "refusal" lists the messages.

In a line {a|b} is a choice, [a] is optional, and <0-7> is a value.`,
		ValidArgs: lab.SwitchOSes(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(lab.SwitchOSes(), args[0]) {
				return usage(fmt.Errorf("usage: weft lab grammar [%s]", strings.Join(lab.SwitchOSes(), "|")))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = lab.SwitchOSes()
			}
			var all []lab.GrammarLine
			for _, os := range args {
				lines, err := lab.Grammar(os)
				if err != nil {
					return err
				}
				all = append(all, lines...)
			}
			if a.opts.json {
				return a.out.encode(all)
			}
			return printGrammar(a.out.stdout, all)
		},
	}
}

// printGrammar prints a table, then how much of it was never seen.
func printGrammar(out io.Writer, all []lab.GrammarLine) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OS\tVIEW\tLINE\tUNDONE BY\tSOURCE")
	unseen := 0
	for _, l := range all {
		if !l.Seen {
			unseen++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.OS, l.View, l.Line, negated(l), l.Source)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d lines; of %d a part is SYNTHETIC: never seen on a device\n", len(all), unseen)
	return nil
}

// negated writes the negative forms as they are typed.
func negated(l lab.GrammarLine) string {
	if l.Undo == "" {
		return "-"
	}
	forms := strings.Split(l.Undo, ";")
	for i, f := range forms {
		forms[i] = l.Negates + " " + strings.TrimSpace(f)
	}
	return strings.Join(forms, "; ")
}
