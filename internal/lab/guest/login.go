//go:build linux

package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	loginTimeout = 30 * time.Second // of one attempt: key exchange is slow under emulation
	loginPause   = time.Second
)

// Run runs a script in the guest's shell as root and returns what it wrote to
// its output; what it wrote elsewhere is in the error.
func (g *Guest) Run(ctx context.Context, script string) (string, error) {
	stop := context.AfterFunc(ctx, g.forgetClient) // ends the session, and waiting for one
	defer stop()
	client, err := g.login(ctx)
	if err != nil {
		return "", err
	}
	session, err := client.NewSession()
	if err != nil { // the guest was restarted
		g.forgetClient()
		if client, err = g.login(ctx); err != nil {
			return "", err
		}
		if session, err = client.NewSession(); err != nil {
			return "", fmt.Errorf("guest %s: %w", g.spec.Name, err)
		}
	}
	defer session.Close()
	var stdout, stderr bytes.Buffer
	session.Stdout, session.Stderr, session.Stdin = &stdout, &stderr, strings.NewReader(script)
	if err := session.Run("/bin/sh -eu -s"); err != nil {
		var exit *ssh.ExitError
		if !errors.As(err, &exit) {
			g.forgetClient()
		}
		return stdout.String(), fmt.Errorf("guest %s: %w\n%s\n%s%s", g.spec.Name, errors.Join(err, ctx.Err()), script, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// login returns the connection to the guest, and makes one if there is none.
func (g *Guest) login(ctx context.Context) (*ssh.Client, error) {
	g.mu.Lock()
	client := g.client
	g.mu.Unlock()
	if client != nil {
		return client, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", g.Address())
	if err != nil {
		return nil, fmt.Errorf("guest %s: %w", g.spec.Name, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c, chans, reqs, err := ssh.NewClientConn(conn, g.Address(), &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(g.lab.o.Key)}, HostKeyCallback: ssh.FixedHostKey(g.HostKey()),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("guest %s: %w", g.spec.Name, err), ctx.Err())
	}
	if !stop() { // cut while it was being made
		return nil, errors.Join(ctx.Err(), c.Close())
	}
	client = ssh.NewClient(c, chans, reqs)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.client = client
	return client, nil
}

// forgetClient ends the connection to the guest, if there is one.
func (g *Guest) forgetClient() {
	g.mu.Lock()
	client := g.client
	g.client = nil
	g.mu.Unlock()
	if client != nil {
		_ = client.Close() // the guest may be gone
	}
}
