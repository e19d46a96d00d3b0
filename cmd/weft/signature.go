package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/sshsig"
	"weft/plan"
)

// signedFor is the namespace of a plan's signature.
const signedFor = "weft-plan"

// signatureOf is where the signature of a plan file lies, as ssh-keygen -Y sign
// puts it.
func signatureOf(path string) string { return path + ".sig" }

// sign writes the signature of a plan file next to it.
func sign(ctx context.Context, key, path string, text []byte) error {
	sig, err := signText(ctx, key, signedFor, text)
	if err != nil {
		return err
	}
	if err := outfile.Write(ctx, signatureOf(path), sig, outfile.Options{Secret: true}); err != nil {
		return fmt.Errorf("--sign: %w", err)
	}
	return nil
}

// signText is the signature of a text in a namespace.
func signText(ctx context.Context, key, namespace string, text []byte) ([]byte, error) {
	signer, certificate, done, err := signingKey(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("--sign: %w", err)
	}
	defer done()
	sig, err := sshsig.Sign(signer, certificate, namespace, text)
	if err != nil {
		return nil, fmt.Errorf("--sign %s: %w", key, err)
	}
	return sig, nil
}

// signingKey opens a private key, or finds the private half of a public key or
// a certificate: in the file next to it, or with the agent. done hangs up on
// the agent.
func signingKey(ctx context.Context, path string) (_ ssh.Signer, c *ssh.Certificate, done func(), err error) {
	done = func() {}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, done, err
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	private := path
	if err == nil {
		private = strings.TrimSuffix(strings.TrimSuffix(path, ".pub"), "-cert")
		text, err = os.ReadFile(private)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // the agent may have it
		}
		if err != nil {
			return nil, nil, done, err
		}
	}
	if c, _ = public.(*ssh.Certificate); c != nil {
		public = c.Key
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil && public != nil && !bytes.Equal(public.Marshal(), signer.PublicKey().Marshal()):
		return nil, nil, done, fmt.Errorf("%s is not the private half of %s", private, path)
	case err == nil:
		return signer, c, done, nil
	case errors.As(err, &locked) && public == nil:
		public = locked.PublicKey
	}
	if public == nil {
		return nil, nil, done, hint.Wrap(fmt.Errorf("%s: %w", path, err), "name a private key, or the public half of one that the ssh agent holds")
	}
	signer, done, err = agentKey(ctx, public)
	return signer, c, done, err
}

// agentKey finds the private half of a key with the ssh agent.
func agentKey(ctx context.Context, public ssh.PublicKey) (_ ssh.Signer, done func(), err error) {
	missing := func(why string) (ssh.Signer, func(), error) {
		return nil, func() {}, hint.Wrap(fmt.Errorf("the private half of %s cannot be used: %s", ssh.FingerprintSHA256(public), why), "add the key to the agent: ssh-add FILE")
	}
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return missing("it is encrypted or not here, and there is no ssh agent")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return missing(err.Error())
	}
	held, err := agent.NewClient(conn).Signers()
	for _, s := range held {
		if bytes.Equal(s.PublicKey().Marshal(), public.Marshal()) {
			return s, func() { conn.Close() }, nil
		}
	}
	conn.Close()
	if err != nil {
		return missing(err.Error())
	}
	return missing("it is encrypted or not here, and the ssh agent does not hold it")
}

// signed demands that an allowed signer has signed the text of a plan
// file. It returns who that is.
func signed(path string, text []byte, allowed string) (string, error) {
	signers, err := allowedSigners(allowed)
	if err != nil {
		return "", err
	}
	refuse := func(err error) (string, error) {
		return "", &codeError{exitStale, hint.Wrap(fmt.Errorf("%s: %w", path, err), "nothing was done; sign a plan with: weft plan --out FILE --sign KEY")}
	}
	sig, err := os.ReadFile(signatureOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(fmt.Errorf("it is not signed: there is no %s", signatureOf(path)))
	}
	if err != nil {
		return "", err
	}
	key, err := sshsig.Verify(sig, text, signedFor)
	if err != nil {
		return refuse(fmt.Errorf("%s does not hold for it: %w", signatureOf(path), err))
	}
	who, err := signers.Allow(key, signedFor, time.Now())
	if err != nil {
		return refuse(err)
	}
	return fmt.Sprintf("%s (%s)", who, ssh.FingerprintSHA256(key)), nil
}

// allowedSigners reads the file that --require-signature names.
func allowedSigners(path string) (sshsig.Signers, error) {
	list, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--require-signature: %w", err)
	}
	signers, err := sshsig.ReadSigners(path, list, time.Local)
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("--require-signature: %w", err), "ssh-keygen(1) describes the lines under ALLOWED SIGNERS")
	}
	return signers, nil
}

// readVouched reads a plan file once, and demands a signature of that text
// where the order names who may sign, and that it has the digest which was reviewed.
func (c *applyCommand) readVouched(ctx context.Context, path string, how order) (*plan.Plan, error) {
	text, err := c.planText(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := reviewed(path, text, how.digest); err != nil {
		return nil, err
	}
	if how.signers != "" {
		who, err := signed(path, text, how.signers)
		if err != nil {
			return nil, err
		}
		c.out.emit(plan.Event{Type: plan.EventNote, Level: "info", Message: fmt.Sprintf("%s is signed by %s", path, who)})
	}
	p, err := plan.ReadPlan(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// planText reads a plan file, or a plan that a store keeps: store:sha256-….
func (c *applyCommand) planText(ctx context.Context, path string) ([]byte, error) {
	digest, kept := strings.CutPrefix(path, "store:")
	if !kept {
		return os.ReadFile(path)
	}
	if !c.store.records().Shared() {
		return nil, usage(hint.Wrap(fmt.Errorf("%s: there is no store that plans are kept in", path), "--store, WEFT_STORE or a store block says where it is"))
	}
	return c.store.records().PlanText(ctx, digest)
}
