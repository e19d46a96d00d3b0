package ssh

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"weft/internal/hint"
	"weft/internal/remote"
)

// onlyKey lets in who holds a key, or a certificate that it signed.
func onlyKey(want ssh.PublicKey) func(*testServer) {
	return func(s *testServer) {
		s.config.PublicKeyCallback = func(_ ssh.ConnMetadata, got ssh.PublicKey) (*ssh.Permissions, error) {
			if c, ok := got.(*ssh.Certificate); ok {
				got = c.SignatureKey
			}
			if !bytes.Equal(got.Marshal(), want.Marshal()) {
				return nil, errors.New("no")
			}
			return nil, nil
		}
	}
}

// reach starts a server and returns what connects to it.
func reach(t *testing.T, f *clientFiles, set func(*testServer), config ...string) (*testServer, *Dialer) {
	t.Helper()
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, set)
	f.know(s.address, key)
	f.host("server", s.address, config...)
	return s, f.dialer()
}

func TestLoginRefused(t *testing.T) {
	f := newFiles(t)
	s, d := reach(t, f, onlyKey(edKey(t).PublicKey()))
	_, err := d.Dial(context.Background(), Target{Name: "server", User: "weft"})
	var unreachable *remote.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Address != s.address {
		t.Fatalf("got %v; want an *UnreachableError", err)
	}
	if rejected := new(remote.AuthError); !errors.As(err, &rejected) || strings.HasPrefix(rejected.Said, "ssh: ") { // the text of golang.org/x/crypto/ssh has changed
		t.Errorf("got %#v; want an *AuthError without the prefixes of the library", err)
	}
	if !strings.Contains(err.Error(), "login as weft") || !strings.Contains(hint.Of(err), "authorized_keys") {
		t.Errorf("got %v (%s)", err, hint.Of(err))
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections; a refused login is no reason to try again", n)
	}
}

// A private key that others may read is used, and said once, for all machines.
func TestExposedKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes there")
	}
	f := newFiles(t)
	key := newEd25519(t)
	public := f.writeKey("key", key, "")
	s, d := reach(t, f, onlyKey(public))
	var said []string
	d.config.Warn = func(text string) { said = append(said, text) }
	dial := func(user string) {
		t.Helper()
		h, err := d.Dial(context.Background(), Target{Name: "server", User: user})
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
	}
	dial("a")
	if said != nil {
		t.Errorf("said of a key of mode 0600: %q", said)
	}
	if err := os.Chmod(f.path("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	dial("b")
	dial("c")
	if len(said) != 1 || !strings.Contains(said[0], f.path("key")+" is a private key that others may read") || s.connections.Load() != 3 {
		t.Errorf("%q, %d connections", said, s.connections.Load())
	}
}

func TestEncryptedIdentity(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	public := f.writeKey("key", newEd25519(t), "passphrase")
	_, d := reach(t, f, onlyKey(public))
	_, err := d.Dial(context.Background(), Target{Name: "server"})
	if err == nil || !strings.Contains(hint.Of(err), "ssh-add") {
		t.Errorf("got %v (%s)", err, hint.Of(err))
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	for _, only := range []string{"no", "yes"} {
		t.Run("IdentitiesOnly "+only, func(t *testing.T) {
			f := newFiles(t)
			// A key that is encrypted on disk and held by the agent.
			key, stranger := newEd25519(t), newEd25519(t)
			public := f.writeKey("key", key, "passphrase")
			ring := agent.NewKeyring()
			for _, k := range []any{stranger, key} {
				if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
					t.Fatal(err)
				}
			}
			socket := serveAgent(t, ring)
			offered := atomic.Int32{}
			_, d := reach(t, f, func(s *testServer) {
				onlyKey(public)(s)
				check := s.config.PublicKeyCallback
				s.config.PublicKeyCallback = func(m ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
					if !bytes.Equal(k.Marshal(), public.Marshal()) {
						offered.Add(1)
					}
					return check(m, k)
				}
			}, "IdentityAgent "+socket, "IdentitiesOnly "+only)
			dial(t, d, Target{Name: "server"})
			if n := offered.Load(); n != 0 {
				t.Errorf("%d other keys were offered before the configured one", n)
			}
		})
	}
}

func serveAgent(t *testing.T, ring agent.Agent) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "a")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			agent.ServeAgent(ring, c)
			c.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return socket
}

// A hungAgent never answers.
type hungAgent struct {
	agent.Agent
	end chan struct{}
}

func (h hungAgent) List() ([]*agent.Key, error) { <-h.end; return nil, nil }

// An agent that does not answer, as one behind a connection that is gone, leaves time for
// the keys in files.
func TestHungAgent(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	socket := serveAgent(t, hungAgent{agent.NewKeyring(), end})
	t.Cleanup(func() { close(end) })
	f := newFiles(t)
	_, d := reach(t, f, nil, "IdentityAgent "+socket)
	dial(t, d, Target{Name: "server", ConnectTimeout: 10 * time.Second})
}

func TestUserCertificate(t *testing.T) {
	f := newFiles(t)
	authority, key := edKey(t), newEd25519(t)
	f.writeKey("key", key, "")
	cert := certified(t, authority, signer(t, key), ssh.UserCert, "weft").PublicKey()
	f.write("key-cert.pub", string(ssh.MarshalAuthorizedKey(cert)))
	_, d := reach(t, f, onlyKey(authority.PublicKey()))
	dial(t, d, Target{Name: "server"})
}

func TestPassword(t *testing.T) {
	check := func(secret string) (*ssh.Permissions, error) {
		if secret != "right" {
			return nil, errors.New("no")
		}
		return nil, nil
	}
	plain := func(s *testServer) {
		s.config.PublicKeyCallback = nil
		s.config.PasswordCallback = func(_ ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) { return check(string(p)) }
	}
	interactive := func(s *testServer) {
		s.config.PublicKeyCallback = nil
		s.config.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil || len(answers) != 1 {
				return nil, errors.New("no answer")
			}
			return check(answers[0])
		}
	}
	for name, set := range map[string]func(*testServer){"password": plain, "keyboard-interactive": interactive} {
		t.Run(name, func(t *testing.T) {
			_, d := reach(t, newFiles(t), set)
			asked := 0
			target := func(secret string) Target {
				return Target{Name: "server", Password: func() (string, error) { asked++; return secret, nil }}
			}
			dial(t, d, target("right"))
			if asked != 1 {
				t.Errorf("asked %d times for the password", asked)
			}
			if _, err := d.DialNew(context.Background(), target("wrong")); err == nil || strings.Contains(err.Error(), "wrong") {
				t.Errorf("wrong password: %v", err)
			}
		})
	}
	t.Run("not asked for", func(t *testing.T) {
		_, d := reach(t, newFiles(t), nil)
		dial(t, d, Target{Name: "server", Password: func() (string, error) {
			t.Error("the password was read though a key is enough")
			return "", nil
		}})
	})
}

// certified returns key with a certificate for name.
func certified(t testing.TB, authority, key ssh.Signer, kind uint32, names ...string) ssh.Signer {
	t.Helper()
	cert := &ssh.Certificate{
		Key: key.PublicKey(), CertType: kind, ValidPrincipals: names,
		ValidBefore: ssh.CertTimeInfinity, KeyId: "test",
	}
	if err := cert.SignCert(zeros{}, authority); err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// zeros is a source of nonces that need not be secret.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
