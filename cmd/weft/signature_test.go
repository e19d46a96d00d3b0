package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"weft/internal/approve"
	"weft/internal/sshsig"
)

// A key that only the agent holds signs, named by its public half; so it does
// with a certificate for it.
func TestSignWithAgent(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	private := func() (ed25519.PrivateKey, ssh.Signer) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return key, signer
	}
	held, key := private()
	_, authority := private()
	other, _ := private()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: held}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no sockets here: ", err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c) }() // it ends with the connection
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", socket)

	certificate := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: []string{"ops"}, ValidBefore: ssh.CertTimeInfinity}
	if err := certificate.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	public := write("id.pub", ssh.MarshalAuthorizedKey(key.PublicKey()))
	certified := write("id-cert.pub", ssh.MarshalAuthorizedKey(certificate))
	encrypted, err := ssh.MarshalPrivateKeyWithPassphrase(held, "", []byte("phrase"))
	if err != nil {
		t.Fatal(err)
	}
	locked := write("locked", pem.EncodeToMemory(encrypted))
	if encrypted, err = ssh.MarshalPrivateKeyWithPassphrase(other, "", []byte("phrase")); err != nil {
		t.Fatal(err)
	}
	stranger := write("stranger", pem.EncodeToMemory(encrypted))
	plan := write("p.weftplan", []byte("a plan"))
	byKey := write("by-key", append([]byte("ops "), ssh.MarshalAuthorizedKey(key.PublicKey())...))
	byCA := write("by-ca", append([]byte("ops cert-authority "), ssh.MarshalAuthorizedKey(authority.PublicKey())...))

	for _, c := range []struct{ key, allowed, refuses string }{
		{public, byKey, byCA}, {locked, byKey, byCA}, {certified, byCA, byKey},
	} {
		if err := sign(t.Context(), c.key, plan, []byte("a plan")); err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		if who, err := signed(plan, []byte("a plan"), c.allowed); err != nil || !strings.HasPrefix(who, "ops (SHA256:") {
			t.Errorf("%s: %q, %v", c.key, who, err)
		}
		if who, err := signed(plan, []byte("a plan"), c.refuses); err == nil {
			t.Errorf("%s: %q may sign, too", c.key, who)
		}
	}
	if err := sign(t.Context(), stranger, plan, []byte("a plan")); err == nil || !strings.Contains(err.Error(), "does not hold it") {
		t.Errorf("a key that the agent does not hold: %v", err)
	}

	// Who approves need not name the only key that the agent holds, be it a certificate.
	approves := func() (ssh.PublicKey, error) {
		key, c, done, err := approvalKey(t.Context(), "")
		if err != nil {
			return nil, err
		}
		defer done()
		sig, err := sshsig.Sign(key, c, approve.Namespace, []byte("text"))
		if err != nil {
			return nil, err
		}
		return sshsig.Verify(sig, []byte("text"), approve.Namespace)
	}
	if by, err := approves(); err != nil || ssh.FingerprintSHA256(by) != ssh.FingerprintSHA256(key.PublicKey()) {
		t.Errorf("the only key: %v", err)
	}
	if err := ring.Add(agent.AddedKey{PrivateKey: other}); err != nil {
		t.Fatal(err)
	}
	if _, err := approves(); err == nil || !strings.Contains(err.Error(), "holds 2 keys") {
		t.Errorf("one of two keys: %v", err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	if certificate.Key, err = ssh.NewPublicKey(&rsaKey.PublicKey); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(certificate.SignCert(rand.Reader, authority), ring.RemoveAll(), ring.Add(agent.AddedKey{PrivateKey: rsaKey, Certificate: certificate})); err != nil {
		t.Fatal(err)
	}
	by, err := approves()
	if err != nil {
		t.Fatalf("a certificate in the agent: %v", err)
	}
	if _, ok := by.(*ssh.Certificate); !ok {
		t.Errorf("a certificate signs as %s", by.Type())
	}
}
