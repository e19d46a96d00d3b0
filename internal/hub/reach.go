package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"weft/internal/flock"
	"weft/internal/hint"
	"weft/internal/slice"
	"weft/internal/store"
	"weft/internal/store/nats"
)

// A mode is how the servers of a hub keep what they have. It cannot change under them.
type mode string

const (
	alone     mode = "alone"
	clustered mode = "cluster"
)

// settle makes the mode that of the directory, or refuses it.
func (p *Place) settle(m mode) error {
	if p.about.Mode == m {
		return nil
	}
	if p.about.Mode != "" {
		return hint.Wrap(fmt.Errorf("the hub in %s was made to run as %s, and is to run as %s", p.dir, p.about.Mode, m),
			"take it over: weft hub backup, weft hub init in new directories, weft hub import")
	}
	p.about.Mode = m
	return writeJSON(p.file("hub.json"), p.about)
}

// A Session is a hub as its administrator meets it.
type Session struct {
	p    *Place
	lock *os.File // of a server in this process; nil: another process serves
	r    *running
}

// Reach finds the hub where it is served; one that nobody serves is run in this
// process until the session is closed, and nobody else reaches it.
func (p *Place) Reach() (*Session, error) {
	if err := p.makeRoom(); err != nil {
		return nil, err
	}
	lock, err := p.lock()
	if errors.As(err, new(*BusyError)) {
		return &Session{p: p}, nil
	} else if err != nil {
		return nil, err
	}
	if p.about.Mode == clustered {
		_ = flock.Release(lock)
		return nil, hint.Wrap(fmt.Errorf("the server in %s does not run", p.dir), "it is one of several, and answers with them: weft hub serve")
	}
	err = p.settle(alone)
	if err == nil {
		var r *running
		if r, err = p.start(p.bare(), nil, nil, nil); err == nil {
			return &Session{p: p, lock: lock, r: r}, nil
		}
	}
	_ = flock.Release(lock)
	return nil, err
}

// Store opens the store of an owner, and makes it where there is none.
func (s *Session) Store(ctx context.Context, owner string) (*nats.Store, error) {
	if s.r != nil {
		return s.r.store(ctx, owner, 1)
	}
	c, err := s.p.admin()
	if err != nil {
		return nil, err
	}
	o, err := c.Options()
	if err != nil {
		return nil, err
	}
	o.Owner, o.Replicas, o.Synced, o.Migrate, o.Limits = owner, 1, true, true, s.p.limits(owner)
	if s.p.about.Mode == clustered {
		o.Replicas = 3
	}
	o.URL = strings.Join(s.p.urls(), ",")
	if at, err := s.p.served(); err == nil {
		o.URL = at.URL
	}
	return nats.Open(ctx, o)
}

// Served reports whether another process serves the hub.
func (s *Session) Served() bool { return s.r == nil }

// Close ends a server in this process.
func (s *Session) Close() error {
	if s.r == nil {
		return nil
	}
	s.r.stop()
	return flock.Release(s.lock)
}

// owners are those who have a store, the hub itself left out.
func (s *Session) owners(ctx context.Context) ([]string, error) {
	mine, err := s.Store(ctx, own)
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	all, err := mine.Owners(ctx)
	if err != nil {
		return nil, err
	}
	list := slice.Filter(all, func(o string) bool { return o != own })
	return list, nil
}

// gone reports whether a document is not there.
func gone(err error) bool { return errors.As(err, new(*store.NotFoundError)) }
