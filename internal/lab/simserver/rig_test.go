//go:build unix

package simserver

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"weft/internal/lab/sshd"
)

// spec is a server with one card of two ports and a management port.
func spec(t *testing.T, name string) Spec {
	dir := t.TempDir()
	return Spec{
		Name:    name,
		Root:    filepath.Join(dir, "root"),
		Journal: filepath.Join(dir, "journal"),
		Interfaces: []Interface{
			{PCI: "0000:01:00.0", Name: "eno1", Plain: true, Address: netip.MustParsePrefix("192.0.2.9/24")},
			{PCI: "0000:41:00.0"},
			{PCI: "0000:41:00.1"},
		},
		Drives: []Drive{{ID: "nvme-eui.01", Size: 1 << 40}},
	}
}

func network(t *testing.T) *Network {
	n := NewNetwork()
	t.Cleanup(n.Close)
	return n
}

func server(t *testing.T, n *Network, s Spec) *Server {
	t.Helper()
	srv, err := New(n, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// login serves s on loopback and logs in to it for real.
func login(t *testing.T, s *Server, name string) *ssh.Client {
	t.Helper()
	key, err := sshd.NewHostKey()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- sshd.Serve(ctx, ln, sshd.Config{HostKey: key, Password: func(string, string) bool { return true }}, s)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	client, err := ssh.Dial("tcp", ln.Addr().String(), &ssh.ClientConfig{
		User: name, Auth: []ssh.AuthMethod{ssh.Password("x")}, HostKeyCallback: ssh.FixedHostKey(key.PublicKey()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // the server may have gone first
	return client
}

// A result is what a command said.
type result struct {
	out, err string
	status   int
}

// run runs a line over SSH.
func run(t *testing.T, c *ssh.Client, line, stdin string) result {
	t.Helper()
	sess, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	var out, stderr bytes.Buffer
	sess.Stdin, sess.Stdout, sess.Stderr = strings.NewReader(stdin), &out, &stderr
	r := result{}
	err = sess.Run(line)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit):
		r.status = exit.ExitStatus()
	case err != nil:
		t.Fatalf("%s: %v", line, err)
	}
	r.out, r.err = out.String(), stderr.String()
	return r
}

// local runs a line without SSH.
func local(t *testing.T, s *Server, name, line string) result {
	t.Helper()
	var out, stderr bytes.Buffer
	status := s.Exec(t.Context(), name, line, strings.NewReader(""), &out, &stderr)
	return result{out.String(), stderr.String(), status}
}
