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
		Use: "credential", Short: "Who may use a hub: list, add, revoke", Args: known,
		Long: `credential lists who may use a hub. add makes a credential, revoke ends one. All of it
works while the hub runs, on every server of it, and while it does not.`,
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
		Use: "add NAME", Short: "Make a credential", Args: exactly("NAME"),
		Long: `add makes a credential for the runs of one owner, which is the name in weft { name = … }.
A person or a pipeline may read and change all of them. A worker of a --site reads all,
and changes what is below site/SITE and record/RUN/site/SITE; it deletes no blobs.

The file has all that is needed to use the hub: hand it to whom it is for, and to
nobody else. Who has it is taken for them. It is made once: weft keeps its public key.`,
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
				text := fmt.Sprintf("%s is the credential of %s, %s of %s: hand it to nobody else.", out, m.Name, m.Kind, m.Owner)
				return a.inEffect(m.Name, text, effects)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&owner, "owner", "", "whose runs: the name in weft { name = … }")
	f.StringVar(&kind, "kind", string(hub.Person), "person, pipeline or worker")
	f.StringVar(&site, "site", "", "of a worker")
	f.StringVar(&out, "out", "", "file to write, which must not be there")
	output(f, "out")
	return cmd
}

func (a *hubCommand) credentialRevoke(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "End a credential", Args: exactly("NAME"),
		Long: `revoke ends a credential. Servers hang up on who has it, and say so; one that has not
said so within half a minute makes the exit code 8.`,
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
