package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/hint"
)

func reloadCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "reload",
		Short: "Have the running weft-target serve a changed configuration",
		Long: `Have the running weft-target read its configuration again, and wait for the
end of it. Hosts stay connected. A configuration that is refused changes
nothing and is exit status 1.`,
		Args: cobra.NoArgs,
	}
	wait := c.Flags().Duration("timeout", time.Minute, "how long to wait")
	c.RunE = started(func(c *cobra.Command) error {
		now, err := reload(places.Path(agent.SocketPath), *wait)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "serving %d subsystems at %d portals, configuration %s\n", len(now.Subsystems), len(now.Portals), now.Config)
		return err
	})
	return c
}

// reload sends the signal and waits until the status counts one more reload.
func reload(socket string, wait time.Duration) (*agent.TargetStatus, error) {
	before, err := readStatus(socket)
	if err != nil {
		return nil, err
	}
	p, err := os.FindProcess(before.PID)
	if err != nil {
		return nil, fmt.Errorf("finding weft-target, process %d: %w", before.PID, err)
	}
	if err := p.Signal(syscall.SIGHUP); err != nil {
		return nil, fmt.Errorf("signalling weft-target, process %d: %w", before.PID, err)
	}
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		now, err := readStatus(socket)
		switch {
		case err != nil:
			return nil, err
		case now.PID != before.PID:
			return nil, errors.New("weft-target has ended and another one has started meanwhile")
		case now.Reloads != before.Reloads && now.ReloadError != "":
			return nil, hint.Wrap(fmt.Errorf("the configuration is refused, what was served before is served on: %s", now.ReloadError), "weft-target check names what is wrong with the file")
		case now.Reloads != before.Reloads:
			return now, nil
		case time.Now().After(end):
			return nil, fmt.Errorf("weft-target, process %d, has not reloaded within %v", before.PID, wait)
		}
	}
}

// readStatus asks the running weft-target.
func readStatus(socket string) (*agent.TargetStatus, error) {
	text, err := askStatus(socket)
	if err != nil {
		return nil, err
	}
	s := new(agent.TargetStatus)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("reading the status: %w", err)
	}
	return s, nil
}
