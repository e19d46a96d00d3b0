package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
)

// connect makes the connection of a link, over its jump hosts. After an error
// nothing is left open.
func (d *Dialer) connect(ctx context.Context, t Target, l *link, trail []string) (err error) {
	r, err := d.resolve(ctx, t)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(r.host, strconv.Itoa(r.port))
	gate := d.gate(address)
	select {
	case gate <- struct{}{}:
		defer func() { <-gate }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	timeout := pick(t.ConnectTimeout, r.connectTimeout, defaultConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, unheard(fmt.Errorf("no answer within %s", timeout), t.Name))
	defer cancel()
	defer func() {
		if err != nil && l.via != nil {
			d.leave(l.via)
		}
	}()
	if l.via == nil && len(r.jumps) > 0 {
		if l.via, err = d.jump(ctx, r.jumps, append(slices.Clone(trail), t.Name)); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		c, err := d.attempt(ctx, t, r, l.via, address)
		if err == nil {
			d.mu.Lock()
			l.conn = c
			d.mu.Unlock()
			return nil
		}
		switch again := errors.Is(err, errDropped); {
		case ctx.Err() != nil && again:
			return wrapConnect(t, address, fmt.Errorf("%w: %v", context.Cause(ctx), err))
		case ctx.Err() != nil:
			return wrapConnect(t, address, context.Cause(ctx))
		case !again || attempt == maxAttempts:
			return wrapConnect(t, address, err)
		}
		// A burst of connections makes a server drop some before it says who
		// it is; the same moment would hit the same crowd again.
		pause := d.pause<<(attempt-1) + rand.N(d.pause/2)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// errDropped marks connections that ended before anything was proven.
var errDropped = errors.New("the server hung up before it showed its key")

// attempt connects and logs in once.
func (d *Dialer) attempt(ctx context.Context, t Target, r route, via *link, address string) (*conn, error) {
	keys, err := d.keyring(r.knownHosts)
	if err != nil {
		return nil, err
	}
	var stream net.Conn
	if via != nil {
		stream, err = via.conn.client.DialContext(ctx, "tcp", address)
	} else {
		stream, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		err = op.Err // the address is named elsewhere
	}
	if err != nil {
		return nil, err
	}
	// The handshake does not know contexts.
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	deadline, _ := ctx.Deadline()
	l := &login{route: r, password: t.Password, deadline: deadline, exposed: d.exposedKey}
	defer l.close()

	proven := false
	var keyErr error
	config := &ssh.ClientConfig{
		User:              r.user,
		Auth:              l.methods(),
		HostKeyAlgorithms: keys.algorithms(r.lookup()),
		HostKeyCallback: func(_ string, peer net.Addr, key ssh.PublicKey) error {
			keyErr = keys.verify(t.Name, address, r.lookup(), peer, key)
			proven = keyErr == nil
			return keyErr
		},
	}
	raw, channels, requests, err := ssh.NewClientConn(stream, address, config)
	switch {
	case err == nil:
		return newConn(ssh.NewClient(raw, channels, requests), d.config.KeepAlive), nil
	case keyErr != nil:
		err = keyErr
	case proven:
		err = l.refused(err)
	case dropped(err):
		err = fmt.Errorf("%w: %w", errDropped, err)
	}
	stream.Close()
	return nil, err
}

// dropped reports whether the peer hung up.
func dropped(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// refused explains a login that did not work.
func (l *login) refused(err error) error {
	said, rejected := classifySSH(err)
	err = fmt.Errorf("login as %s: %s", l.route.user, said)
	if rejected {
		err = &remote.AuthError{User: l.route.user, Said: said}
	}
	switch {
	case len(l.notes) > 0:
		return hint.Wrap(err, "%s", strings.Join(l.notes, "; "))
	case l.password == nil:
		return hint.Wrap(err, "add a public key of yours to authorized_keys of %s there", l.route.user)
	}
	return hint.Wrap(err, "neither the keys nor the password are taken: is the password that of %s there, and may %[1]s log in?", l.route.user)
}

// classifySSH is the text of a failed handshake without the prefixes of the library, and whether the server
// rejected every key and password: golang.org/x/crypto/ssh v0.58.0 has no type for that.
func classifySSH(err error) (said string, rejected bool) {
	said = strings.TrimPrefix(strings.TrimPrefix(err.Error(), "ssh: handshake failed: "), "ssh: ")
	return said, strings.HasPrefix(said, "unable to authenticate")
}

// wrapConnect gives the error of a connection its type.
func wrapConnect(t Target, address string, err error) error {
	if isTyped(err) {
		return err
	}
	var dns *net.DNSError
	switch {
	case hint.Of(err) != "":
	case errors.As(err, &dns):
		err = hint.Wrap(err, "use a name that this machine can resolve, or an address; ~/.ssh/config may define both")
	case errors.Is(err, syscall.ECONNREFUSED):
		err = hint.Wrap(err, "something answers there: does its SSH server run, and on that port?")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		err = unheard(err, t.Name)
	}
	return &remote.UnreachableError{Name: t.Name, Address: address, Err: err}
}

// unheard advises about a machine from which nothing is heard.
func unheard(err error, name string) error {
	return hint.Wrap(err, "is it switched on, and does the network lead there? Try: ssh -v %s", remote.Quote(name))
}

func isTyped(err error) bool {
	var unreachable *remote.UnreachableError
	var key *remote.HostKeyError
	return errors.As(err, &unreachable) || errors.As(err, &key)
}

// parseHop reads one hop of ProxyJump: [user@]host[:port], or the same as an
// ssh:// URL.
func parseHop(s string) (Target, error) {
	var t Target
	rest := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "ssh://"), "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		t.User, rest = rest[:at], rest[at+1:]
	}
	t.Name = strings.Trim(rest, "[]")
	if host, port, err := net.SplitHostPort(rest); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return t, fmt.Errorf("ssh_config: %q is not a port", port)
		}
		t.Name, t.Port = host, n
	}
	if t.Name == "" {
		return t, fmt.Errorf("ssh_config: ProxyJump %q names no host", s)
	}
	return t, nil
}

// pick returns the first of the times that is set.
func pick(times ...time.Duration) time.Duration {
	return slice.First(times, func(t time.Duration) bool { return t > 0 })
}

// A conn is one connection, logged in.
type conn struct {
	client   *ssh.Client
	sessions chan struct{} // a slot for each open one
	killers  chan struct{} // slots that are left when all sessions hang
	lost     chan struct{} // closed when the connection has ended
	work     sync.WaitGroup
}

func newConn(client *ssh.Client, keepAlive time.Duration) *conn {
	c := &conn{
		client:   client,
		sessions: make(chan struct{}, maxSessions),
		killers:  make(chan struct{}, 2),
		lost:     make(chan struct{}),
	}
	c.work.Go(func() {
		client.Wait()
		close(c.lost)
	})
	c.work.Go(func() { c.keepAlive(keepAlive) })
	return c
}

// keepAlive asks a question now and then, and hangs up when no answer comes:
// a peer that lost power says nothing.
func (c *conn) keepAlive(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-c.lost:
			return
		case <-tick.C:
		}
		silent := time.AfterFunc(2*every, func() { c.client.Close() })
		// Servers that do not know the request refuse it, which is an answer.
		_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
		silent.Stop()
		if err != nil {
			c.client.Close()
		}
	}
}

func (c *conn) dead() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// close hangs up and waits for all that works on the connection.
func (c *conn) close() {
	c.client.Close()
	c.work.Wait()
}
