package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (a *labCommand) command() *cobra.Command {
	return &cobra.Command{
		Use: "lab", Short: "Run SIMULATED switches and servers: not on Windows",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("the lab runs on Linux, macOS and other Unix systems, not on Windows")
		},
	}
}

func (c *rehearseCommand) command() *cobra.Command {
	return &cobra.Command{
		Use: "rehearse", Short: "Test the rollout on simulated copies: not on Windows",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("rehearsals run on Linux, macOS and other Unix systems, not on Windows")
		},
	}
}
