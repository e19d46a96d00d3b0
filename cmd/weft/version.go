package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/inventory/language"
)

func version() string { return language.Version }

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(),
		Run: func(cmd *cobra.Command, _ []string) {
			if a.json {
				a.begin(cmd)
				return
			}
			fmt.Fprintf(a.stdout, "weft %s (%s) %s/%s\n", version(), agent.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
