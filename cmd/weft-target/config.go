package main

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/dhchap"
)

// example is a configuration with everything there is, explained.
//
//go:embed example.toml
var example string

func configCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration in force, or an example with all there is",
		Long: `Print the configuration file, once it was found to be valid; with --example a
file that explains everything that can be configured.`,
		Args: cobra.NoArgs,
	}
	config := configFlag(c)
	show := c.Flags().Bool("example", false, "print an example, with comments")
	c.RunE = started(func(c *cobra.Command) error {
		if *show {
			_, err := io.WriteString(c.OutOrStdout(), example)
			return err
		}
		l, err := load(*places, places.Path(*config))
		if err != nil {
			return err
		}
		for i := range l.conf.Subsystems {
			hide(l.conf.Subsystems[i].Auth)
		}
		text, err := l.conf.Encode()
		if err != nil {
			return err
		}
		_, err = c.OutOrStdout().Write(text)
		return err
	})
	return c
}

// hide takes out secrets.
func hide(all []agent.Auth) {
	for i := range all {
		for _, key := range []*string{&all[i].Key, &all[i].SubsystemKey} {
			if *key != "" {
				*key = "(hidden)"
			}
		}
	}
}

func keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "Make a key for authentication (DH-HMAC-CHAP)",
		Long: `Make a key for authentication (DH-HMAC-CHAP) and print it. It goes into a file
that key_file or subsystem_key_file names, and to the host: with Linux as
nvme connect --dhchap-secret, or --dhchap-ctrl-secret for the subsystem's.`,
		Args: cobra.NoArgs,
	}
	name := c.Flags().String("hash", "sha256", "sha256, sha384 or sha512: how long the key is, and what transforms it")
	c.RunE = started(func(c *cobra.Command) error {
		h, err := dhchap.ParseHash(*name)
		if err != nil {
			return err
		}
		s, err := dhchap.NewSecret(h, rand.Reader)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), s.Reveal())
		return err
	})
	return c
}
