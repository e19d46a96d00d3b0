package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
)

func waitCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "wait",
		Short: "Wait until hosts are connected again",
		Long: `Wait until hosts have as many connections to subsystems as asked for, or until
the time is over: that is no error, for a host may have gone for good. After a
restart of weft-target this says when the next one may be restarted.`,
		Args: cobra.NoArgs,
	}
	want := c.Flags().Int("controllers", 1, "how many connections (controllers) to wait for")
	most := c.Flags().Duration("timeout", 30*time.Second, "how long to wait")
	c.RunE = started(func(c *cobra.Command) error {
		for end := time.Now().Add(*most); ; time.Sleep(100 * time.Millisecond) {
			now, err := readStatus(places.Path(agent.SocketPath))
			if err != nil {
				return err
			}
			if n := now.Hosts(); n >= *want || time.Now().After(end) {
				_, err := fmt.Fprintf(c.OutOrStdout(), "%d of %d controllers are there\n", n, *want)
				return err
			}
		}
	})
	return c
}
