package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"
)

// keys makes SSH keys of people, and a file signers that lets NAME@x approve: keys
// NAME... It needs no ssh-keygen.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: keys NAME...")
	}
	var signers strings.Builder
	for _, name := range args {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		ts.Check(err)
		block, err := ssh.MarshalPrivateKey(private, name)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(block), 0o600))
		key, err := ssh.NewPublicKey(public)
		ts.Check(err)
		fmt.Fprintf(&signers, "%s@x %s", name, ssh.MarshalAuthorizedKey(key))
	}
	ts.Check(os.WriteFile(ts.MkAbs("signers"), []byte(signers.String()), 0o600))
}
