package main

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/psk"
	"weft/internal/nvme/tls13"
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
			hide(&l.conf.Subsystems[i])
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
func hide(s *agent.Subsystem) {
	var keys []*string
	for i := range s.Auth {
		keys = append(keys, &s.Auth[i].Key, &s.Auth[i].SubsystemKey)
	}
	for i := range s.TLS {
		keys = append(keys, &s.TLS[i].Key)
	}
	for _, key := range keys {
		if *key != "" {
			*key = "(hidden)"
		}
	}
}

func keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "Make a key for authentication (DH-HMAC-CHAP), or for TLS",
		Long: `Make a key for authentication (DH-HMAC-CHAP) and print it. It goes into a file
that key_file or subsystem_key_file names, and to the host: with Linux as
nvme connect --dhchap-secret, or --dhchap-ctrl-secret for the subsystem's.

With --tls it is a key for TLS, in the form that nvme gen-tls-key writes.`,
		Args: cobra.NoArgs,
	}
	name := c.Flags().String("hash", "sha256", "sha256, sha384 or sha512: how long the key is, and what transforms it")
	tls := c.Flags().Bool("tls", false, "make a key for TLS; --hash is sha256 (AES-128) or sha384 (AES-256) then")
	c.RunE = started(func(c *cobra.Command) error {
		if *tls {
			return printTLSKey(c.OutOrStdout(), *name)
		}
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

func printTLSKey(out io.Writer, hash string) error {
	suite, ok := map[string]tls13.Suite{"sha256": tls13.AES128SHA256, "sha384": tls13.AES256SHA384}[hash]
	if !ok {
		return fmt.Errorf("hash %q is none of sha256, sha384", hash)
	}
	k, err := psk.New(suite, rand.Reader)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, k.Reveal())
	return err
}
