package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/backend"
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
		conf, _, err := load(*places, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s is valid: %d portals, %d subsystems\n", path, len(conf.Portals), len(conf.Subsystems))
		return err
	})
	return c
}

// load reads a configuration and finds what can be found without changing
// anything: unmapped addresses, and devices or folders where files should be.
func load(places agent.Places, path string) (conf *agent.Target, sum string, err error) {
	conf, sum, err = agent.LoadTarget(path)
	if err != nil {
		return nil, "", err
	}
	var errs []error
	for _, p := range conf.Portals {
		if _, err := places.Address(p.Address); err != nil {
			errs = append(errs, err)
		}
	}
	for _, s := range conf.Subsystems {
		for _, n := range s.Namespaces {
			if n.Backend == "file" {
				if err := backend.CheckFile(places.Path(n.Path)); err != nil {
					errs = append(errs, fmt.Errorf("subsystem %q namespace %d: %w", s.NQN, n.ID, err))
				}
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return conf, sum, nil
}
