package tls13

import (
	"bytes"
	"context"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/require"
)

// OpenSSL as the peer: s_server and s_client, with either suite, with and without a
// HelloRetryRequest, with keys that change.

// openssl starts a command of OpenSSL's and gives its input. It is over with the test.
func openssl(t *testing.T, out *said, args ...string) io.Writer {
	t.Helper()
	cmd := exec.Command("openssl", args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("openssl %q said:\n%s", args, out)
		}
	})
	return in
}

// said is what a command has written so far.
type said struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{}
}

func newSaid() *said { return &said{more: make(chan struct{}, 1)} }

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// await returns what follows a text, once it was said.
func (s *said) await(t *testing.T, text string) string {
	t.Helper()
	limit := time.After(patience)
	for {
		if _, after, ok := strings.Cut(s.String(), text); ok {
			return after
		}
		select {
		case <-s.more:
		case <-limit:
			t.Fatalf("openssl did not say %q but\n%s", text, s)
		}
	}
}

// keyArgs hand a key to OpenSSL, as a session in a file: -psk knows SHA-256 only. The
// fields are those of its ssl/ssl_asn1.c.
func keyArgs(t *testing.T, k Key) []string {
	t.Helper()
	der, err := asn1.Marshal(struct {
		Version, Protocol  int
		Cipher, ID, Secret []byte
		Time               int64 `asn1:"explicit,tag:1"`
		Timeout            int64 `asn1:"explicit,tag:2"`
	}{1, version13, []byte{byte(k.Suite >> 8), byte(k.Suite)}, nil, k.Secret, time.Now().Unix(), 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "SSL SESSION PARAMETERS", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-tls1_3", "-psk_identity", k.Identity, "-psk_session", file, "-ciphersuites", k.Suite.String()}
}

// eachSuite runs a test for both suites and for groups with and without a retry.
func eachSuite(t *testing.T, groups []string, run func(t *testing.T, k Key, groups string)) {
	require.Tool(t, require.OpenSSL, "openssl")
	for _, s := range []Suite{AES128SHA256, AES256SHA384} {
		for _, g := range groups {
			t.Run(s.String()+"/"+g, func(t *testing.T) { run(t, testKey(s), g) })
		}
	}
}

func TestOpenSSLServes(t *testing.T) {
	eachSuite(t, []string{"X25519", "P-256", "P-384"}, func(t *testing.T, k Key, groups string) {
		out := newSaid()
		in := openssl(t, out, append([]string{"s_server", "-accept", "127.0.0.1:0", "-nocert", "-groups", groups}, keyArgs(t, k)...)...)
		addr, _, _ := strings.Cut(out.await(t, "ACCEPT "), "\n")
		conn, err := net.Dial("tcp", strings.TrimSpace(addr))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		unknown := Key{"NVMe1R01 x y z", bytes.Repeat([]byte{9}, 32), k.Suite}
		c, err := Client(context.Background(), conn, unknown, k)
		if err != nil {
			t.Fatal(err)
		}
		talk(t, c, in, out, io.ErrUnexpectedEOF) // s_server says nothing at its end
	})
}

// TestOpenSSLConnects has no retry: asked for one, s_client of OpenSSL 3.0 offers its
// key no more. TestRetry has one.
func TestOpenSSLConnects(t *testing.T) {
	eachSuite(t, []string{"X25519", "P-256", "P-384"}, func(t *testing.T, k Key, groups string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out := newSaid()
		in := openssl(t, out, append([]string{"s_client", "-connect", l.Addr().String(), "-groups", groups}, keyArgs(t, k)...)...)
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		got := <-serve(conn, k)
		if got.err != nil {
			t.Fatal(got.err)
		}
		talk(t, got.conn, in, out, io.EOF)
	})
}

// talk has lines go both ways, keys change on either side, and the end come as
// this command has it come.
func talk(t *testing.T, c *Conn, in io.Writer, out *said, end error) {
	t.Helper()
	line := make([]byte, 64)
	hear := func(want string) {
		t.Helper()
		if _, err := io.ReadFull(c, line[:len(want)]); err != nil || string(line[:len(want)]) != want {
			t.Fatalf("%q, %v, want %q", line[:len(want)], err, want)
		}
	}
	_, _ = io.WriteString(in, "one\n")
	hear("one\n")
	c.renew = 2 // the next writes change the key
	for range 4 {
		_, _ = io.WriteString(c, "two\n")
	}
	_, _ = io.WriteString(c, "said-it\n")
	out.await(t, "said-it")
	before := bytes.Clone(c.in.secret)
	_, _ = io.WriteString(in, "K\n") // OpenSSL changes its key and asks for ours
	for limit := time.Now().Add(patience); bytes.Equal(before, c.in.secret) && time.Now().Before(limit); {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, _ = c.Read(line)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(in, "three\n")
	hear("three\n")
	_, _ = io.WriteString(c, "four-"+strings.Repeat("x", 3*maxPlain)+"-end\n")
	out.await(t, "-end")
	if err := c.say(keyUpdate(true)); err != nil {
		t.Fatal(err)
	}
	c.out.update()
	_, _ = io.WriteString(c, "five\n")
	out.await(t, "five")
	_, _ = io.WriteString(in, "six\n")
	hear("six\n")
	_, _ = io.WriteString(in, "Q\n")
	if _, err := c.Read(line); err != end {
		t.Errorf("%v at the end, want %v", err, end)
	}
}
