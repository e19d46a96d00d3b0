package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"weft/internal/approve"
	"weft/internal/hint"
)

// approvals says where those who may approve, and what they have signed, is found.
type approvals struct {
	signers string // a file, or COMMIT:PATH; "": WEFT_SIGNERS
	folder  string // "": WEFT_APPROVALS, or approvals in --chdir
	authors []string
	beside  string // the plan file that is applied, beside which weft approve writes; "": none
}

// approvers are those who may approve.
type approvers struct {
	opts    *options
	project *project
	repo    *repository

	approvals approvals
}

// flags adds the flags of commands that may begin a phase: who may approve it, where their
// approvals are, and, with accept, which missing verdicts the operator accepts.
func (a *approvers) flags(cmd *cobra.Command, accept *[]string) {
	a.signersFlag(cmd)
	s := cmd.Flags()
	s.StringVar(&a.approvals.folder, "approvals", "", "folder with signed approvals (also WEFT_APPROVALS; default: approvals in --chdir)")
	s.StringArrayVar(&a.approvals.authors, "author", nil, "author of the change, as named in the list of signers (also WEFT_AUTHORS, comma-separated; default: git log); may be repeated")
	if accept != nil {
		s.StringArrayVar(accept, "accept", nil, "continue without a verdict of this validation, or VALIDATION.METRIC; recorded under your name; failures still fail; may be repeated")
	}
}

// signersFlag adds the flag that names who may approve.
func (a *approvers) signersFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.approvals.signers, "signers", "", "list of approvers: an ALLOWED_SIGNERS file outside the repository, or COMMIT:PATH, where COMMIT is a branch such as refs/remotes/origin/main, or a full commit (also WEFT_SIGNERS)")
}

// knownSigners reads who may approve; nil: nobody is named.
func (a *approvers) knownSigners(ctx context.Context) (*approve.Signers, error) {
	name := cmp.Or(a.approvals.signers, os.Getenv("WEFT_SIGNERS"))
	if name == "" {
		return nil, nil
	}
	text, base, err := a.signersText(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("--signers: %w", err)
	}
	known, err := approve.NewSigners(name, text, base)
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("--signers: %w", err), "ssh-keygen(1) describes the lines under ALLOWED SIGNERS")
	}
	return known, nil
}

// signersText reads a list of signers: a file that no change of the repository can
// touch, or one as it is in a commit.
func (a *approvers) signersText(ctx context.Context, name string) (text []byte, base string, err error) {
	text, err = os.ReadFile(name)
	switch commit, path, of := strings.Cut(name, ":"); {
	case err == nil:
		return text, "", a.repo.outsideRepository(name)
	case !of || !errors.Is(err, fs.ErrNotExist):
		return nil, "", err
	default:
		base, err = a.repo.revision(ctx, commit)
		if err != nil {
			return nil, "", err
		}
		text, err = a.repo.git(ctx, "cat-file", "blob", base+":"+path)
		return text, base, err
	}
}

// approvalKey opens the key to approve with; "": the only one that the agent holds.
func approvalKey(ctx context.Context, name string) (ssh.Signer, *ssh.Certificate, func(), error) {
	if name != "" {
		return signingKey(ctx, name)
	}
	done := func() {}
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, nil, done, hint.Wrap(errors.New("there is no ssh agent"), "name a key file with --key")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, nil, done, err
	}
	held, err := agent.NewClient(conn).Signers()
	if err == nil && len(held) != 1 {
		err = hint.Wrap(fmt.Errorf("the ssh agent holds %d keys", len(held)), "say which with --key FILE.pub")
	}
	if err != nil {
		return nil, nil, done, errors.Join(err, conn.Close())
	}
	return held[0], nil, func() { conn.Close() }, nil
}
