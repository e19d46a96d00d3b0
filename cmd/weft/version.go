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

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(),
		Run: func(cmd *cobra.Command, _ []string) {
			if a.json {
				a.begin(cmd)
				return
			}
			fmt.Fprintln(a.stdout, versionLine())
		},
	}
}
