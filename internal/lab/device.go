//go:build unix

package lab

import (
	"context"
	"fmt"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"

	"weft/internal/lab/simesxi"
	"weft/internal/lab/simserver"
	"weft/internal/lab/simswitch"
	"weft/internal/lab/simwindows"
	"weft/internal/lab/sshd"
)

// A device is one simulated machine and its SSH server.
type device struct {
	name  string // the host that the inventory names
	addr  string // HCL address
	kind  string // "server", "switch" or "guest"
	login string // as whom its files log in; "": they do not say
	user  string // who may log in with any password, where a password is asked for; "": anybody

	server *simserver.Server                              // or
	esxi   *simesxi.Host                                  // or
	win    *simwindows.Host                               // or
	sw     *simswitch.Switch                              // or
	pause  func(port string, priority int, frames uint64) // whoever is plugged into a port of sw
	guest  machine

	hostKey  ssh.PublicKey
	listener *listener
}

// serve makes a device answer SSH until running ends.
func (l *Lab) serve(ctx, running context.Context, d *device) error {
	signer, err := sshd.NewHostKey()
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("simulated %s %s: %w", d.kind, d.name, err)
	}
	d.hostKey, d.listener = signer.PublicKey(), &listener{Listener: ln, conns: map[net.Conn]struct{}{}}
	config := sshd.Config{HostKey: signer, AuthorizedKeys: []ssh.PublicKey{l.key.PublicKey()}}
	var machine sshd.Machine = d.server
	if d.esxi != nil {
		machine = d.esxi
		config.Password = func(user, _ string) bool { return d.user == "" || user == d.user }
	}
	if d.win != nil {
		machine = d.win
		config.KeysPassedOver = d.win.KeysPassedOver
		config.Password = func(user, _ string) bool { return d.user == "" || user == d.user }
	}
	if d.sw != nil {
		machine = d.sw
		config.Password = func(user, _ string) bool { return d.user == "" || user == d.user }
	}
	l.serving.Go(func() {
		if err := sshd.Serve(running, d.listener, config, machine); err != nil {
			l.log.say("%s no longer answers: %v", d.name, err)
		}
	})
	return nil
}

// address is where a device answers SSH.
func (d *device) address() string {
	if d.guest != nil {
		return d.guest.Address()
	}
	return d.listener.Addr().String()
}

func (d *device) close() error {
	if d.guest != nil {
		return nil // they end together
	}
	if d.listener != nil {
		_ = d.listener.Close() // closed by its server already, unless that never ran
	}
	if d.sw != nil {
		d.sw.Close()
		return nil
	}
	if d.esxi != nil {
		return d.esxi.Close()
	}
	if d.win != nil {
		return d.win.Close()
	}
	return d.server.Close()
}

// A listener knows its connections, so that they can be cut.
type listener struct {
	net.Listener
	mu     sync.Mutex
	refuse bool
	conns  map[net.Conn]struct{}
}

// Accept implements net.Listener. While connections are refused, each is
// reset as soon as it is made.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tracked := &conn{Conn: c, of: l}
		l.mu.Lock()
		refuse := l.refuse
		if !refuse {
			l.conns[tracked] = struct{}{}
		}
		l.mu.Unlock()
		if !refuse {
			return tracked, nil
		}
		reset(c)
	}
}

// setRefuse makes the listener refuse connections, or take them again.
func (l *listener) setRefuse(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = on
}

// drop cuts every connection without a word.
func (l *listener) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		reset(c.(*conn).Conn)
	}
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: the close is what counts
	}
	_ = c.Close()
}

// A conn takes itself off its listener's list.
type conn struct {
	net.Conn
	of *listener
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
