package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/inventory/language"
)

func version() string { return language.Version }

// versionLine is the version with that of the agents, which weft --version prints as well.
func versionLine() string {
	return fmt.Sprintf("weft %s (%s) %s/%s", version(), agent.Version(), runtime.GOOS, runtime.GOARCH)
}

// A versionCommand is weft version.
type versionCommand struct {
	opts *options
	out  *printer
}

func (c *versionCommand) command() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(),
		Run: func(cmd *cobra.Command, _ []string) {
			if c.opts.json {
				c.out.begin(cmd)
				return
			}
			fmt.Fprintln(c.out.stdout, versionLine())
		},
	}
}
