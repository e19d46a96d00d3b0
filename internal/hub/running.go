package hub

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"

	"weft/internal/store/nats"
	"weft/internal/wait"
)

// A running is a server in this process.
type running struct {
	*server.Server
	p      *Place
	access *access
	admin  *nats.Credential
	conn   *client.Conn // of the broker
}

// gcPercent keeps the memory of a hub near to what it holds.
const gcPercent = 50

func (p *Place) start(opts *server.Options, known []Member, ln net.Listener, note func(string)) (*running, error) {
	admin, err := p.admin()
	if err == nil {
		err = p.makeRoom()
	}
	if err != nil {
		return nil, err
	}
	told := newLog(note)
	a := newAccess(p.about.Admin, told.note)
	told.name = a.name
	a.each = p.requests
	if ln != nil {
		a.front = &front{ln: ln, note: told.note, budget: unauthenticated, open: map[*peer]bool{}}
		told.from = a.front.from
	}
	opts.CustomClientAuthentication, opts.AlwaysEnableNonce = a, true
	s, err := server.NewServer(opts)
	if err == nil {
		err = a.attach(s)
	}
	if err != nil {
		return nil, fmt.Errorf("the server in %s does not start: %w", p.dir, err)
	}
	s.SetLoggerV2(told, false, false, false)
	debug.SetGCPercent(gcPercent)
	s.Start()
	r := &running{Server: s, p: p, access: a, admin: admin}
	ready := false
	for end := time.Now().Add(patience); !ready && told.why() == "" && time.Now().Before(end); {
		ready = s.ReadyForConnections(time.Second)
	}
	if why := told.why(); !ready || why != "" {
		r.stop()
		why = cmp.Or(why, "it does not listen")
		return nil, fmt.Errorf("the server in %s does not start: %s", p.dir, why)
	}
	if err := r.broke(known); err != nil {
		r.stop()
		return nil, fmt.Errorf("the server in %s does not start: %w", p.dir, err)
	}
	if a.front != nil {
		a.front.to = s.Addr().String()
		go a.front.serve()
	}
	return r, nil
}

// broke starts the broker, and lets clients in.
func (r *running) broke(known []Member) error {
	opts, err := r.admin.Connect()
	if err != nil {
		return err
	}
	r.conn, err = client.Connect("", append(opts, client.InProcessServer(r.Server), noTLS, client.Name("weft hub"), client.Timeout(patience), client.MaxReconnects(-1),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { r.access.note("the broker: " + err.Error()) }))...)
	if err != nil {
		return err
	}
	b, err := newBroker(r.conn, r.access, r.p)
	if err != nil {
		return err
	}
	return r.access.open(b, known)
}

func (r *running) stop() {
	if r.access.front != nil {
		r.access.front.stop()
	}
	if r.conn != nil {
		r.conn.Close()
	}
	r.Shutdown()
	r.WaitForShutdown()
}

// store opens the store of an owner as the administrator, within this process.
func (r *running) store(ctx context.Context, owner string, replicas int) (*nats.Store, error) {
	o, err := r.admin.Options()
	if err != nil {
		return nil, err
	}
	// The short timeout detects a lost message soon.
	o.URL, o.Owner, o.Replicas, o.Timeout, o.Synced, o.Migrate, o.Limits = "", owner, replicas, 4*time.Second, true, true, r.p.limits(owner)
	o.Connect = append(slices.Clone(o.Connect), client.InProcessServer(r.Server), noTLS)
	return nats.Open(ctx, o)
}

// patiently opens the hub's own store once most servers are there.
func (r *running) patiently(ctx context.Context, replicas int, note func(string)) (*nats.Store, error) {
	for last := ""; ; {
		s, err := r.store(ctx, own, replicas)
		if err == nil {
			return s, nil
		}
		if text := err.Error(); text != last && ctx.Err() == nil {
			note("waiting: " + text)
			last = text
		}
		if !wait.For(ctx, 200*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// noTLS: what stays in this process is not encrypted.
func noTLS(o *client.Options) error {
	o.Secure, o.TLSConfig = false, nil
	return nil
}

// oneLine is what the server says, on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
