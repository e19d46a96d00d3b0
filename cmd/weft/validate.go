package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) validateCmd() *cobra.Command {
	return &cobra.Command{
		Use: "validate", Short: "Check the files; no network", Args: exactly(),
		Long: "validate reads and checks all files and reports everything that is wrong at once.\nIt touches no device.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.begin(cmd)
			m, err := a.load()
			if err != nil {
				return err
			}
			if !a.json {
				fmt.Fprintf(a.stdout, "%s is valid: %d switches, %d servers, %d links, %d targets, %d initiators.\n",
					m.Name, len(m.Switches), len(m.Servers), len(m.Links), len(m.Targets), len(m.Initiators))
			}
			return nil
		},
	}
}
