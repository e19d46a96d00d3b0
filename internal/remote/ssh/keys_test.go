package ssh

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"
)

// writeKey writes a private key, encrypted with a passphrase unless that is
// empty, and returns its public half.
func (f *clientFiles) writeKey(name string, key crypto.Signer, passphrase string) ssh.PublicKey {
	f.t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(name, string(pem.EncodeToMemory(block)))
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		f.t.Fatal(err)
	}
	return public
}

func newEd25519(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func edKey(t *testing.T) ssh.Signer { return signer(t, newEd25519(t)) }

func rsaKey(t *testing.T) ssh.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return signer(t, key)
}

func signer(t *testing.T, key crypto.Signer) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
