// Package ssh reaches machines over SSH: servers as a remote.Host, switches
// through an interactive terminal.
//
// Names lead where ~/.ssh/config says ("ssh -G" is asked where ssh exists).
// Without an ssh binary, and for a file that is named explicitly, a subset of
// the language is read: Host, Match (all, host, originalhost, user), Include,
// HostName, Port, User, IdentityFile, CertificateFile, IdentitiesOnly,
// IdentityAgent, UserKnownHostsFile, GlobalKnownHostsFile, HostKeyAlias,
// ProxyJump and ConnectTimeout; ProxyCommand is refused, and keywords that
// change neither the way nor the proof are ignored.
//
// Host keys are always checked strictly: StrictHostKeyChecking no and
// accept-new count as yes.
package ssh

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weft/internal/remote"
)

// A Target is a machine to connect to.
type Target struct {
	Name string // as in the inventory; may be a Host of ssh_config
	User string // "": from ssh_config
	Port int    // 0: from ssh_config

	// Become is "sudo" where commands and files need root and the user may
	// run sudo without a password; "" runs everything as the user; ReadOnly
	// runs nothing but what reads.
	Become string

	ConnectTimeout time.Duration // 0: from ssh_config, else 30 s; covers all attempts
	CommandTimeout time.Duration // of one command or file; 0: 5 min

	// Password is called at most once per connection, when the server asks
	// for a password; nil offers keys only.
	Password func() (string, error)
}

// ReadOnly is a login that reads only: as the user, and what only root may read by the one
// program that sudo lets it run, [remote.ReaderPath].
const ReadOnly = "weft-read"

// Limits and defaults. They are what OpenSSH's server allows by default, less
// a margin.
const (
	maxUnproven           = 8 // connections per address that are not logged in yet; MaxStartups is 10
	maxSessions           = 7 // per connection; MaxSessions is 10, and killing needs up to two
	maxJumps              = 8
	maxAttempts           = 5
	firstPause            = 200 * time.Millisecond
	defaultConnectTimeout = 30 * time.Second
	defaultCommandTimeout = 5 * time.Minute
	defaultKeepAlive      = 15 * time.Second
)

// Config is how a Dialer finds its way.
type Config struct {
	// ConfigFile is read instead of the user's ssh_config; no ssh binary is
	// asked then.
	ConfigFile string

	// KeepAlive is the time between two questions to a silent peer, which is
	// given up when one stays unanswered for twice as long; 0: 15 s.
	KeepAlive time.Duration

	// Warn is told, once for each file, of private keys that others may read. May
	// be nil; it may be called concurrently.
	Warn func(text string)
}

// A Dialer connects to machines and shares the connections. Its methods may
// be called concurrently.
type Dialer struct {
	config Config
	pause  time.Duration // before the second attempt to connect; later ones wait twice as long each

	mu       sync.Mutex
	links    map[linkKey]*link
	gates    map[string]chan struct{} // by address
	keyrings map[string]*keyring      // by files
	texts    map[string]configText    // of configuration files, by name
	exposed  map[string]bool          // private keys that Warn was told of
}

// NewDialer returns a Dialer without connections.
func NewDialer(c Config) *Dialer {
	c.KeepAlive = cmp.Or(c.KeepAlive, defaultKeepAlive)
	return &Dialer{
		config:   c,
		pause:    firstPause,
		links:    map[linkKey]*link{},
		gates:    map[string]chan struct{}{},
		keyrings: map[string]*keyring{},
		texts:    map[string]configText{},
		exposed:  map[string]bool{},
	}
}

// Afresh is a Dialer of the same configuration that shares no connection with this one.
func (d *Dialer) Afresh() *Dialer { return NewDialer(d.config) }

// linkKey is the same for targets that share a connection.
type linkKey struct {
	name, user string
	port       int
	via        string
}

// A link is a connection that is shared, or being made.
type link struct {
	key   linkKey
	ready chan struct{} // closed when conn or err and gone are set
	err   error
	gone  bool  // whoever was connecting gave up; err is about them
	via   *link // the jump host, if any; one use of it is ours

	// Guarded by Dialer.mu.
	conn  *conn
	users int
}

// Dial returns a client of the target. A living connection to the same name,
// user and port is shared. The error is an *remote.UnreachableError or a
// *remote.HostKeyError.
func (d *Dialer) Dial(ctx context.Context, t Target) (*Client, error) {
	l, err := d.join(ctx, t, nil, nil)
	if err != nil {
		return nil, typed(t, err)
	}
	return newClient(d, l, t), nil
}

// DialNew is Dial with a login of its own, which nobody shares: it proves
// that the machine still lets us in.
func (d *Dialer) DialNew(ctx context.Context, t Target) (*Client, error) {
	l := &link{users: 1}
	if err := d.connect(ctx, t, l, nil); err != nil {
		return nil, typed(t, err)
	}
	return newClient(d, l, t), nil
}

// join returns the link of a target through via, and makes it if need be.
// trail holds the names that wait for it.
func (d *Dialer) join(ctx context.Context, t Target, via *link, trail []string) (*link, error) {
	key := linkKey{name: t.Name, user: t.User, port: t.Port}
	if via != nil {
		key.via = fmt.Sprint(via.key)
	}
	for {
		d.mu.Lock()
		l := d.links[key]
		if l != nil && l.conn != nil && l.conn.dead() {
			delete(d.links, key) // its users notice by themselves
			l = nil
		}
		if l == nil {
			l = &link{key: key, ready: make(chan struct{}), users: 1, via: via}
			d.links[key] = l
			if via != nil {
				via.users++
			}
			d.mu.Unlock()
			return d.lead(ctx, t, l, trail)
		}
		l.users++
		d.mu.Unlock()
		select {
		case <-l.ready:
		case <-ctx.Done():
			d.leave(l)
			return nil, context.Cause(ctx)
		}
		if l.err == nil {
			return l, nil
		}
		if !l.gone || ctx.Err() != nil {
			return nil, l.err
		}
	}
}

// lead connects on behalf of all who wait for the link.
func (d *Dialer) lead(ctx context.Context, t Target, l *link, trail []string) (*link, error) {
	err := d.connect(ctx, t, l, trail)
	d.mu.Lock()
	l.err, l.gone = err, ctx.Err() != nil
	if err != nil && d.links[l.key] == l {
		delete(d.links, l.key)
	}
	close(l.ready)
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return l, nil
}

// leave gives up one use of a link; the last one hangs up.
func (d *Dialer) leave(l *link) {
	d.mu.Lock()
	l.users--
	last := l.users == 0 && l.conn != nil
	if last && d.links[l.key] == l {
		delete(d.links, l.key)
	}
	d.mu.Unlock()
	if !last {
		return
	}
	l.conn.close()
	if l.via != nil {
		d.leave(l.via)
	}
}

// jump connects to the last of the hops; nil if there are none.
func (d *Dialer) jump(ctx context.Context, hops []string, trail []string) (*link, error) {
	var via *link
	for _, hop := range hops {
		t, err := parseHop(hop)
		if err == nil && (slices.Contains(trail, t.Name) || len(trail) > maxJumps) {
			err = fmt.Errorf("ssh_config: ProxyJump leads back to %s", t.Name)
		}
		var next *link
		if err == nil {
			next, err = d.join(ctx, t, via, trail)
		}
		if via != nil {
			d.leave(via) // the next link holds its own use of it
		}
		if err != nil {
			return nil, fmt.Errorf("jump host %s: %w", hop, err)
		}
		via = next
	}
	return via, nil
}

// gate lets few connections to an address be unproven at a time.
func (d *Dialer) gate(address string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.gates[address]
	if g == nil {
		g = make(chan struct{}, maxUnproven)
		d.gates[address] = g
	}
	return g
}

// typed makes sure that the error of a connection has one of the two types.
func typed(t Target, err error) error {
	if isTyped(err) {
		return err
	}
	return &remote.UnreachableError{Name: t.Name, Err: err}
}
