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
		Long: `Wait until hosts have as many connections to subsystems as asked for. When the
time is over and some have come that is no error, for a host may have gone for
good; that none has come is one, and so is a weft-target that ends meanwhile.
After a restart of weft-target this says when the next one may be restarted.`,
		Args: cobra.NoArgs,
	}
	want := c.Flags().Int("controllers", 1, "how many connections (controllers) to wait for")
	most := c.Flags().Duration("timeout", 30*time.Second, "how long to wait")
	c.RunE = started(func(c *cobra.Command) error {
		var began time.Time // the process that was found first
		for end := time.Now().Add(*most); ; time.Sleep(100 * time.Millisecond) {
			now, err := readStatus(places.Path(agent.SocketPath))
			if err != nil {
				return fmt.Errorf("hosts are waited for: %w", err)
			}
			if !began.IsZero() && !began.Equal(now.Started) {
				return fmt.Errorf("weft-target ended while hosts were waited for, and was started again at %s", now.Started.Format(time.TimeOnly))
			}
			began = now.Started
			n, over := now.Hosts(), time.Now().After(end)
			if over && n == 0 && *want > 0 {
				return fmt.Errorf("no host has come back within %s, %d connections were there before", *most, *want)
			}
			if n >= *want || over {
				_, err := fmt.Fprintf(c.OutOrStdout(), "%d of %d controllers are there\n", n, *want)
				return err
			}
		}
	})
	return c
}
