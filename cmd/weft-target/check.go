package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/agent"
)

func checkCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration, change nothing",
		Args:  cobra.NoArgs,
	}
	config := configFlag(c)
	c.RunE = started(func(c *cobra.Command) error {
		path := places.Path(*config)
		l, err := load(*places, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s is valid: %d portals, %d subsystems\n", path, len(l.conf.Portals), len(l.conf.Subsystems))
		return err
	})
	return c
}
