package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/hub"
	"weft/internal/outfile"
	"weft/inventory/language"
)

func (a *hubCommand) hubCredential(dir *string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "credential", Short: "List, add and revoke credentials", Args: known,
		Long: `credential lists the credentials of a hub. add creates a credential, and revoke ends one.
All of them work while the hub runs, on each of its servers, and while it is stopped.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return asAdmin(*dir, func(s *hub.Session) error { return a.members(cmd.Context(), s) })
		},
	}
	cmd.AddCommand(a.credentialAdd(dir), a.credentialRevoke(dir))
	return cmd
}

func (a *hubCommand) credentialAdd(dir *string) *cobra.Command {
	var out, kind, site, owner string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Create a credential", Args: exactly("NAME"),
		Long: `add creates a credential for the runs of one owner, the name in weft { name = … }. A
person or a pipeline may read and change all of them. A worker of a --site reads all,
changes documents below site/SITE and record/RUN/site/SITE, and deletes no blobs.

The file contains everything that a client needs. Give it to its user only: any holder of
the file has the access of that user. It is created once; weft keeps its public key.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usage(errors.New("--out: name the file to write, which only you can read"))
			}
			if site != "" && !cmd.Flags().Changed("kind") {
				kind = string(hub.Worker)
			}
			if owner != "" {
				if err := checkNames("owner", language.CheckOwner, owner); err != nil {
					return err
				}
			}
			m := hub.Member{Name: args[0], Kind: hub.Kind(kind), Site: site, Owner: owner}
			if err := m.Check(); err != nil {
				return usage(err)
			}
			return asAdmin(*dir, func(s *hub.Session) error {
				effects, err := s.Add(cmd.Context(), m, func(secret []byte) error {
					return a.out.write(cmd.Context(), out, secret, outfile.Options{Secret: true, New: true})
				}, func() { a.out.drop(out) })
				if err != nil {
					return err
				}
				text := fmt.Sprintf("%s is the credential of %s, %s of %s: do not share it.", out, m.Name, m.Kind, m.Owner)
				return a.inEffect(m.Name, text, effects)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&owner, "owner", "", "owner of the runs: the name in weft { name = … }")
	f.StringVar(&kind, "kind", string(hub.Person), "person, pipeline or worker")
	f.StringVar(&site, "site", "", "site of a worker")
	f.StringVar(&out, "out", "", "new file to write")
	output(f, "out")
	return cmd
}

func (a *hubCommand) credentialRevoke(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a credential", Args: exactly("NAME"),
		Long: `revoke ends a credential. Servers close the connections that use it and confirm that. If a
server does not confirm within half a minute, the exit code is 8.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return asAdmin(*dir, func(s *hub.Session) error {
				effects, err := s.Revoke(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.inEffect(args[0], fmt.Sprintf("The credential of %s is revoked.", args[0]), effects)
			})
		},
	}
}
