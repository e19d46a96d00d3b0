package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"weft/internal/approve"
	"weft/internal/hint"
	"weft/internal/run"
)

// approvals says where those who may approve, and what they have signed, is found.
type approvals struct {
	signers string // a file, or COMMIT:PATH; "": WEFT_SIGNERS
	folder  string // "": WEFT_APPROVALS, or approvals in --chdir
	authors []string
	beside  string // the plan file that is applied, beside which weft approve writes; "": none
}

func (a *app) signerFlags(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&a.approvals.signers, "signers", "", "who may approve: an ALLOWED_SIGNERS file outside of the repository, or COMMIT:PATH (also WEFT_SIGNERS)")
	if cmd.Name() != "approve" {
		s.StringVar(&a.approvals.folder, "approvals", "", "a folder with signed approvals (also WEFT_APPROVALS; else approvals in --chdir)")
		s.StringArrayVar(&a.approvals.authors, "author", nil, "who wrote what is rolled out, as the list of signers names them (also WEFT_AUTHORS, by commas; else git log); may be repeated")
	}
}

// knownSigners reads who may approve; nil: nobody is named.
func (a *app) knownSigners(ctx context.Context) (*approve.Signers, error) {
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
func (a *app) signersText(ctx context.Context, name string) (text []byte, base string, err error) {
	text, err = os.ReadFile(name)
	switch commit, path, of := strings.Cut(name, ":"); {
	case err == nil:
		return text, "", a.outsideRepository(name)
	case !of || !errors.Is(err, fs.ErrNotExist):
		return nil, "", err
	default:
		full, err := a.git(ctx, "rev-parse", "--verify", "--end-of-options", commit+"^{commit}")
		if err != nil {
			return nil, "", err
		}
		base = strings.TrimSpace(string(full))
		text, err = a.git(ctx, "show", "--end-of-options", base+":"+path)
		return text, base, err
	}
}

// outsideRepository refuses a list of signers that a pull request could change.
func (a *app) outsideRepository(name string) error {
	file, err := filepath.EvalSymlinks(name)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	dir, bad := filepath.EvalSymlinks(a.dir)
	if bad == nil {
		dir, bad = filepath.Abs(dir)
	}
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	top := dir
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			top = up
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	if rel, err := filepath.Rel(top, file); err == nil && filepath.IsLocal(rel) {
		return hint.Wrap(fmt.Errorf("%s lies in the repository: whoever changes it could approve themselves", name),
			"keep it elsewhere, or take it from the base branch: --signers origin/main:%s", filepath.ToSlash(rel))
	}
	return nil
}

// git asks the repository of --chdir.
func (a *app) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", a.dir}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// writers are who wrote what is rolled out: as they are given, or as git names authors
// and committers of the files since the base, or of the last commit. nil: not known,
// also where files were changed since.
func (a *app) writers(ctx context.Context, base string) []string {
	list := a.approvals.authors
	if list == nil {
		list = strings.FieldsFunc(os.Getenv("WEFT_AUTHORS"), func(r rune) bool { return r == ',' || r == ' ' })
	}
	if len(list) > 0 {
		return list
	}
	if left, err := a.git(ctx, "status", "--porcelain", "--untracked-files=no", "--", "."); err != nil || len(left) > 0 {
		return nil
	}
	for _, which := range []string{base + "..HEAD", "-1"} {
		if which == "..HEAD" {
			continue
		}
		out, err := a.git(ctx, "log", "--format=%ae%n%ce", which, "--", ".")
		if names := strings.Fields(string(out)); err == nil && len(names) > 0 {
			slices.Sort(names)
			return slices.Compact(names)
		}
	}
	return nil
}

// signing is env with who may approve, for orders that may begin a phase.
func (a *app) signing(ctx context.Context) (*run.Env, error) {
	e := a.env()
	known, err := a.knownSigners(ctx)
	if err != nil {
		return nil, err
	}
	e.Signers = known
	e.Authors = func() []string {
		if known == nil {
			return a.writers(ctx, "")
		}
		return a.writers(ctx, known.Base)
	}
	folder := cmp.Or(a.approvals.folder, os.Getenv("WEFT_APPROVALS"), filepath.Join(a.dir, "approvals"))
	e.Approvals, e.Beside = []string{folder}, a.approvals.beside
	return e, nil
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
