package ssh

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"weft/internal/hint"
	"weft/internal/remote"
)

func TestHostKeys(t *testing.T) {
	ed, rsa, other := edKey(t), rsaKey(t), edKey(t)
	tests := []struct {
		name   string
		server []ssh.Signer
		known  func(address string) string // known_hosts
		config string
		want   func(*remote.HostKeyError) bool // nil: let in
	}{
		{"known", []ssh.Signer{ed}, line(ed), "", nil},
		{"hashed", []ssh.Signer{ed}, func(a string) string {
			return knownhosts.HashHostname(knownhosts.Normalize(a)) + " " + authorized(ed)
		}, "", nil},
		// The server would rather show its ed25519 key.
		{"only RSA is known", []ssh.Signer{ed, rsa}, line(rsa), "", nil},
		{"only ed25519 is known", []ssh.Signer{rsa, ed}, line(ed), "", nil},
		{"alias", []ssh.Signer{ed}, func(string) string { return "pilot-st1 " + authorized(ed) }, "HostKeyAlias pilot-st1", nil},
		{"strictness is not negotiable", []ssh.Signer{ed}, func(string) string { return "" }, "StrictHostKeyChecking no",
			func(e *remote.HostKeyError) bool { return len(e.Want) == 0 }},
		{"unknown", []ssh.Signer{ed}, func(string) string { return "" }, "",
			func(e *remote.HostKeyError) bool {
				return len(e.Want) == 0 && e.Got == ssh.FingerprintSHA256(ed.PublicKey())
			}},
		{"known on another port", []ssh.Signer{ed}, func(string) string { return "127.0.0.1 " + authorized(ed) }, "",
			func(e *remote.HostKeyError) bool { return len(e.Want) == 0 }},
		{"changed", []ssh.Signer{ed}, line(other), "",
			func(e *remote.HostKeyError) bool {
				return e.Got == ssh.FingerprintSHA256(ed.PublicKey()) && len(e.Want) == 1 &&
					strings.Contains(e.Want[0], ssh.FingerprintSHA256(other.PublicKey())) && strings.Contains(e.Want[0], "known_hosts:1")
			}},
		{"another kind", []ssh.Signer{ed}, line(rsa), "",
			func(e *remote.HostKeyError) bool { return len(e.Want) == 1 && e.Type == ssh.KeyAlgoED25519 }},
		{"revoked", []ssh.Signer{ed}, func(a string) string { return line(ed)(a) + "@revoked * " + authorized(ed) }, "",
			func(e *remote.HostKeyError) bool { return e.Revoked }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFiles(t)
			s := startServer(t, test.server, nil)
			f.write("known_hosts", test.known(s.address))
			f.host("server", s.address, test.config)
			c, err := f.dialer().Dial(context.Background(), Target{Name: "server"})
			if test.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				return
			}
			var e *remote.HostKeyError
			if !errors.As(err, &e) {
				t.Fatalf("got %v; want a *HostKeyError", err)
			}
			if !test.want(e) || e.Name != "server" || e.Address != s.address {
				t.Errorf("got %+v", e)
			}
			if hint.Of(err) == "" {
				t.Error("no hint")
			}
			if n := s.connections.Load(); n != 1 {
				t.Errorf("%d connections; a wrong key is no reason to try again", n)
			}
		})
	}
}

func TestHostCertificate(t *testing.T) {
	authority, key := edKey(t), edKey(t)
	s := startServer(t, []ssh.Signer{key, certified(t, authority, key, ssh.HostCert, "127.0.0.1")}, nil)
	f := newFiles(t)
	f.write("known_hosts", "@cert-authority "+line(authority)(s.address))
	f.host("server", s.address)
	dial(t, f.dialer(), Target{Name: "server"})
}

// The key of an authority is no machine's own: it may have been stolen where it
// certifies, and would pass for every machine.
func TestKeyOfAuthorityAsHostKey(t *testing.T) {
	authority := edKey(t)
	s := startServer(t, []ssh.Signer{authority}, nil)
	f := newFiles(t)
	f.write("known_hosts", "@cert-authority "+line(authority)(s.address))
	f.host("server", s.address)
	_, err := f.dialer().Dial(context.Background(), Target{Name: "server"})
	var no *remote.HostKeyError
	if !errors.As(err, &no) || !strings.Contains(err.Error(), "authority") || !strings.Contains(hint.Of(err), "do not log in") {
		t.Fatalf("a machine with the key of the authority was answered: %v", err)
	}
	// Where the same key is also one of the machine's, another has said so.
	f.write("known_hosts", "@cert-authority "+line(authority)(s.address)+line(authority)(s.address))
	dial(t, f.dialer(), Target{Name: "server"})
}

func TestKnownHostsAreReadAgain(t *testing.T) {
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, nil)
	f := newFiles(t)
	f.host("server", s.address)
	d := f.dialer()
	if _, err := d.Dial(context.Background(), Target{Name: "server"}); err == nil {
		t.Fatal("an unknown machine was let in")
	}
	f.know(s.address, key)
	dial(t, d, Target{Name: "server"})
}

func TestBrokenKnownHosts(t *testing.T) {
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, nil)
	f := newFiles(t)
	f.know(s.address, key)
	text, err := os.ReadFile(f.path("known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	f.write("known_hosts", string(text)+"nonsense\n")
	f.host("server", s.address)
	_, err = f.dialer().Dial(context.Background(), Target{Name: "server"})
	if err == nil || !strings.Contains(err.Error(), "known_hosts:2") || hint.Of(err) == "" {
		t.Errorf("got %v; want the line", err)
	}
}

func authorized(k ssh.Signer) string { return string(ssh.MarshalAuthorizedKey(k.PublicKey())) }

// line is known_hosts with one key.
func line(k ssh.Signer) func(address string) string {
	return func(address string) string { return knownhosts.Normalize(address) + " " + authorized(k) }
}
