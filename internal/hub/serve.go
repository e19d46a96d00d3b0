package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"weft/internal/flock"
	"weft/internal/hint"
	"weft/internal/wait"
)

// Serving is how a server of a hub runs.
type Serving struct {
	Listen    string // address and port of clients; "" is loopback at Port
	Cert, Key string // what clients meet; "": what the hub's own authority signed
	Cluster   string // address and port of the other servers of the hub
	Peers     []string

	Documents int64 // bytes of documents of each owner; 0: as before, or by the size of the disk
	Blobs     int64 // bytes of blobs of each owner
	Requests  int   // a second of each credential; 0: 2,000

	Note  func(string)    // what happens; nil: nobody listens
	Ready func(at string) // called once, when it can be used

	started func(*running) // of tests
}

// Started is serving.json: who serves the directory.
type Started struct {
	PID   int       `json:"pid"`
	URL   string    `json:"url"`
	Since time.Time `json:"since"`
}

// patience is how long a server may take to listen, and an answer within it.
const patience = time.Minute

// Serve serves until the context ends, which is no error.
func (p *Place) Serve(ctx context.Context, how Serving) error {
	if how.Note == nil {
		how.Note = func(string) {}
	}
	if _, err := p.options(how); err != nil {
		return err
	}
	lock, err := p.lock()
	if err != nil {
		return err
	}
	defer flock.Release(lock)
	if err := p.settle(map[bool]mode{true: clustered, false: alone}[len(how.Peers) > 0]); err != nil {
		return err
	}
	if err := p.bound(how); err != nil {
		return err
	}
	for {
		if err = p.run(ctx, &how); !errors.Is(err, errStorage) && !errors.Is(err, errStarved) {
			return err
		}
		how.Note(err.Error() + ": it is started again")
		if !wait.For(ctx, time.Second) {
			return nil
		}
	}
}

// errStorage: JetStream stops for good when a write fails, and with it all reads.
var errStorage = errors.New("the storage has stopped, because a write to the disk failed")

// errStarved: a replica that could not write does not take up what it missed by itself.
var errStarved = errors.New("the disk has room again, and the storage missed changes while it was full")

// errGone: files that are open can still be written, but nobody finds them again.
var errGone = errors.New("the directory of the hub is gone: what was acknowledged in the last second is lost; make it again from a backup")

// run runs the server until the context ends, or its storage has stopped.
func (p *Place) run(ctx context.Context, how *Serving) error {
	opts, err := p.options(*how)
	if err != nil {
		return err
	}
	ln, err := listen(opts)
	if err != nil {
		return fmt.Errorf("the server in %s does not start: %w", p.dir, err)
	}
	defer ln.Close()
	how.Listen = ln.Addr().String() // also when it is started again
	if err := p.listens(ln.Addr(), how.Note); err != nil {
		how.Note("credentials name the former port: " + err.Error())
	}
	_ = os.Remove(p.file("serving.json")) // of one that was killed
	known, err := p.copied()
	if err != nil {
		how.Note("credentials are known once the store has been read: " + err.Error())
	}
	r, err := p.start(opts, known, ln, how.Note)
	if err != nil {
		return err
	}
	defer r.stop()
	if how.started != nil {
		how.started(r)
	}
	return p.keep(ctx, r, how, p.reached(ln.Addr()))
}

// keep has the running server act by the credentials in the store, until the context ends.
func (p *Place) keep(ctx context.Context, r *running, how *Serving, at string) error {
	if len(how.Peers) > 0 {
		how.Note("waiting for the other servers of the hub: most of them must be there")
	}
	s, err := r.patiently(ctx, copies(how.Peers), how.Note)
	if err != nil {
		return nil // it was told to end
	}
	defer s.Close()
	k := keeper{p: p, r: r, s: s, note: how.Note, url: at, replicas: copies(how.Peers)}
	if err := k.begin(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil // it was told to end
	}
	if err := writeJSON(p.file("serving.json"), Started{PID: os.Getpid(), URL: at, Since: time.Now().UTC()}); errors.Is(err, syscall.ENOSPC) {
		how.Note("the disk is full: weft hub status does not find this server before there is room and it is started again")
	} else if err != nil {
		return err
	}
	defer func() { _ = os.Remove(p.file("serving.json")) }() // the lock is what says that it serves
	if how.Ready != nil {
		how.Ready(at)
		how.Ready = nil
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan struct{})
	go func() { k.keepRoom(ctx, end); close(done) }()
	k.follow(ctx)
	end(nil)
	<-done
	for _, why := range []error{errStorage, errStarved, errGone} {
		if errors.Is(context.Cause(ctx), why) {
			return why
		}
	}
	return nil
}

// listen listens where clients are to come, and has the server listen for the front.
func listen(o *server.Options) (net.Listener, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(max(o.Port, 0))))
	o.Host, o.Port = "127.0.0.1", server.RANDOM_PORT
	return ln, err
}

// copies is on how many servers a store is kept: most of them must be there to change it.
func copies(peers []string) int { return min(1+len(peers), 3) }

// reached is where clients of this machine find the server.
func (p *Place) reached(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return map[bool]string{true: "nats://", false: "tls://"}[p.about.Plain] + net.JoinHostPort(host, port)
}

// options are those of the server.
func (p *Place) options(how Serving) (*server.Options, error) {
	host, port, err := address(how.Listen, net.JoinHostPort("127.0.0.1", Port))
	if err != nil {
		return nil, err
	}
	o := p.bare()
	o.DontListen, o.Host, o.Port = false, host, port
	if p.about.Plain {
		if !loopback(host) {
			return nil, hint.Wrap(fmt.Errorf("%s is not loopback: this hub was made without TLS", how.Listen), "listen at 127.0.0.1, or make a hub with TLS")
		}
		if how.Cert != "" || how.Cluster != "" || len(how.Peers) > 0 {
			return nil, errors.New("this hub was made without TLS: it has no certificates and no other servers")
		}
		return o, nil
	}
	if (how.Cert == "") != (how.Key == "") {
		return nil, errors.New("a certificate and its key are given together")
	}
	shown := &pair{cert: how.Cert, key: how.Key}
	if how.Cert == "" {
		shown = &pair{cert: p.file("tls", "server.crt"), key: p.file("tls", "server.key")}
	}
	if _, err := shown.get(); err != nil {
		return nil, err
	}
	o.TLSConfig, o.TLSTimeout = shown.clients(), 10
	if u, err := url.Parse(p.about.URLs[0]); err == nil && !loopback(u.Hostname()) {
		o.ClientAdvertise = u.Host
	}
	if how.Cluster == "" && len(how.Peers) == 0 {
		return o, nil
	}
	return o, p.clustered(o, how)
}

// clustered adds what makes the server one of several.
func (p *Place) clustered(o *server.Options, how Serving) error {
	if how.Cluster == "" || len(how.Peers) < 2 {
		return hint.Wrap(errors.New("a hub has one server, or three and more: two are less safe than one"), "name where this one listens for the others, and each other one")
	}
	host, port, err := address(how.Cluster, "")
	if err != nil {
		return err
	}
	o.Cluster = server.ClusterOpts{Name: "weft", Host: host, Port: port, TLSTimeout: 10, NoAdvertise: true}
	if o.Cluster.TLSConfig, err = p.among(); err != nil {
		return err
	}
	for _, peer := range how.Peers {
		host, port, err := net.SplitHostPort(peer)
		if err != nil || host == "" {
			return fmt.Errorf("%q is no other server: it is a host and a port", peer)
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "tls", Host: net.JoinHostPort(host, port)})
	}
	return nil
}

// bare are the options of a server that nobody but this process reaches. What it
// acknowledges is on disk.
func (p *Place) bare() *server.Options {
	return &server.Options{ServerName: p.about.Name, DontListen: true, NoSigs: true, JetStream: true, StoreDir: p.dir, SyncAlways: true, JetStreamMaxStore: 1 << 50, // what is admitted is up to the broker
		MaxConn: 65536, MaxSubs: 1024, AuthTimeout: 10, WriteDeadline: 30 * time.Second, DisableJetStreamBanner: true}
}

// served is who serves the directory.
func (p *Place) served() (s Started, err error) {
	text, err := os.ReadFile(p.file("serving.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// address reads an address and a port; port 0 takes a free one.
func address(text, unless string) (host string, port int, err error) {
	text = cmp.Or(text, unless)
	host, p, err := net.SplitHostPort(text)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%q is no address to listen at: it is like 127.0.0.1:%s", text, Port)
	}
	port = cmp.Or(port, server.RANDOM_PORT)
	return host, port, nil
}
