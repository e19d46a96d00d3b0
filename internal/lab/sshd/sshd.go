// Package sshd puts simulated devices behind real SSH servers on loopback.
//
// It speaks the protocol and nothing else: what a command does is the
// [Machine]'s business. It refuses to listen anywhere but on 127.0.0.0/8 and
// ::1. An idle server costs one goroutine, so thousands fit in one process.
package sshd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/wait"
)

// A Config says who may log in to a server and how it presents itself.
type Config struct {
	HostKey        ssh.Signer
	AuthorizedKeys []ssh.PublicKey                  // of any user; none: no login by key
	KeysPassedOver func() bool                      // no key counts while it says so; nil: each does
	Password       func(user, password string) bool // nil: no login by password
	Banner         string                           // shown before authentication; may be empty
	Version        string                           // such as "SSH-2.0-OpenSSH_9.2"; empty: the library's
	MaxSessions    int                              // at once per connection; 0: 10, as OpenSSH has it
	LoginGrace     time.Duration                    // until a login must have succeeded; 0: two minutes
	OnLogin        func(user string, addr net.Addr) // told of every login; may be nil
}

const (
	defaultMaxSessions = 10
	defaultLoginGrace  = 2 * time.Minute
)

// NewHostKey makes a fresh Ed25519 host key.
func NewHostKey() (ssh.Signer, error) {
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a host key: %w", err)
	}
	return ssh.NewSignerFromKey(priv)
}

// Serve answers on ln for m until ctx ends, then closes the listener and every
// connection, waits for all sessions and returns nil. Listeners elsewhere than
// on loopback are refused.
func Serve(ctx context.Context, ln net.Listener, cfg Config, m Machine) error {
	if err := loopback(ln.Addr()); err != nil {
		return fmt.Errorf("simulated device on %s: %w", ln.Addr(), err)
	}
	sc, err := cfg.server()
	if err != nil {
		return err
	}
	srv := &server{config: cfg, ssh: sc, machine: m}

	ctx, cancel := context.WithCancel(ctx)
	closed := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer closed()
	defer srv.running.Wait()
	defer cancel()
	return srv.accept(ctx, ln)
}

type server struct {
	config  Config
	ssh     *ssh.ServerConfig
	machine Machine
	running sync.WaitGroup
}

func (s *server) accept(ctx context.Context, ln net.Listener) error {
	const firstPause, longestPause = 5 * time.Millisecond, time.Second
	pause := firstPause
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			pause = firstPause
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accepting on %s: %w", ln.Addr(), err)
		default: // out of file descriptors, most likely: others may end soon
			if !wait.For(ctx, pause) {
				return nil
			}
			pause = min(2*pause, longestPause)
			continue
		}
		if loopback(conn.RemoteAddr()) != nil {
			_ = conn.Close()
			continue
		}
		s.running.Go(func() { s.connection(ctx, conn) })
	}
}

// connection runs one connection from the handshake to its end.
func (s *server) connection(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()

	grace := cmp.Or(s.config.LoginGrace, defaultLoginGrace)
	_ = conn.SetDeadline(time.Now().Add(grace))
	sc, channels, requests, err := ssh.NewServerConn(conn, s.ssh)
	if err != nil {
		return // nobody logged in: the client knows why
	}
	_ = conn.SetDeadline(time.Time{})
	if s.config.OnLogin != nil {
		s.config.OnLogin(sc.User(), sc.RemoteAddr())
	}

	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer cancel() // before waiting: sessions end with their connection
	sessions.Go(func() { ssh.DiscardRequests(requests) })

	limit := cmp.Or(s.config.MaxSessions, defaultMaxSessions)
	slots := make(chan struct{}, limit)
	for nc := range channels {
		if nc.ChannelType() != "session" {
			_ = nc.Reject(ssh.Prohibited, "only sessions are served here")
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = nc.Reject(ssh.ResourceShortage, "too many sessions on this connection")
			continue
		}
		ch, reqs, err := nc.Accept()
		if err != nil {
			<-slots
			continue
		}
		session := &Session{User: sc.User(), Remote: sc.RemoteAddr(), conn: conn}
		sessions.Go(func() {
			defer func() { <-slots }()
			newChannel(ctx, s.machine, session, ch).serve(reqs)
		})
	}
}

// server is the library's form of c.
func (c Config) server() (*ssh.ServerConfig, error) {
	if c.HostKey == nil {
		return nil, errors.New("simulated device without a host key")
	}
	if len(c.AuthorizedKeys) == 0 && c.Password == nil {
		return nil, errors.New("simulated device that nobody may log in to: neither keys nor a password")
	}
	sc := &ssh.ServerConfig{ServerVersion: c.Version, MaxAuthTries: 6}
	sc.KeyExchanges = keyExchanges()
	sc.AddHostKey(c.HostKey)
	if c.Banner != "" {
		sc.BannerCallback = func(ssh.ConnMetadata) string { return c.Banner }
	}
	if len(c.AuthorizedKeys) > 0 {
		sc.PublicKeyCallback = c.authorize
	}
	if c.Password != nil {
		sc.PasswordCallback = func(md ssh.ConnMetadata, pw []byte) (*ssh.Permissions, error) {
			return c.password(md.User(), string(pw))
		}
		sc.KeyboardInteractiveCallback = func(md ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil {
				return nil, err
			}
			if len(answers) != 1 {
				return nil, errDenied
			}
			return c.password(md.User(), answers[0])
		}
	}
	return sc, nil
}

// keyExchanges are those of OpenSSH before 9.9, which most switches and servers
// still have: all that the library deems safe but the one against computers to
// come, which costs as much as the rest of a login.
func keyExchanges() []string {
	return slices.DeleteFunc(ssh.SupportedAlgorithms().KeyExchanges, func(a string) bool { return a == ssh.KeyExchangeMLKEM768X25519 })
}

var errDenied = errors.New("permission denied")

func (c Config) authorize(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	if c.KeysPassedOver != nil && c.KeysPassedOver() {
		return nil, errDenied
	}
	for _, k := range c.AuthorizedKeys {
		if bytes.Equal(k.Marshal(), key.Marshal()) {
			return nil, nil
		}
	}
	return nil, errDenied
}

func (c Config) password(user, pw string) (*ssh.Permissions, error) {
	if !c.Password(user, pw) {
		return nil, errDenied
	}
	return nil, nil
}

// loopback says whether an address can only be reached from this machine.
func loopback(a net.Addr) error {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return errors.New("the lab serves 127.0.0.0/8 and ::1 only")
	}
	return nil
}
