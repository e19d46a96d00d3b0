package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/agent"
)

func checkCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Validate the configuration, change nothing",
		Long: `Validate a configuration, that of --config where no FILE is named, as a start with
it would: also whether the files and devices that it names can be served as it
says. It changes nothing, and disturbs no weft-target that runs.`,
		Args: cobra.MaximumNArgs(1),
	}
	config := configFlag(c)
	c.RunE = started(func(c *cobra.Command) error {
		path := places.Path(cmp.Or(c.Flags().Arg(0), *config))
		l, err := load(*places, path)
		if err == nil {
			err = l.devices(*places)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s is valid: %d portals, %d subsystems\n", path, len(l.conf.Portals), len(l.conf.Subsystems))
		return err
	})
	return c
}
