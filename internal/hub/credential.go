package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/store/nats"
	"weft/internal/wait"
)

// Members lists who has credentials.
func (s *Session) Members(ctx context.Context) ([]Member, error) {
	mine, err := s.Store(ctx, own)
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	list, _, err := members(ctx, mine)
	return list, err
}

// Add makes a credential, writes it, and then has the hub let it in. It returns which
// servers do so already. A credential that the hub refuses is dropped again.
func (s *Session) Add(ctx context.Context, m Member, write func(secret []byte) error, drop func()) ([]Effect, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	mine, err := s.Store(ctx, own)
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	if _, err := mine.Get(ctx, m.doc()); err == nil {
		return nil, taken(m)
	} else if !gone(err) {
		return nil, err
	}
	c := &nats.Credential{Name: fmt.Sprintf("%s, %s of %s", m.Name, m.Kind, m.Owner), Owner: store.Segment(m.Owner)}
	if c.URLs, err = s.urls(ctx, mine); err != nil {
		return nil, err
	}
	if c.Seed, err = newSeed(); err != nil {
		return nil, err
	}
	if m.Key, err = public(c.Seed); err != nil {
		return nil, err
	}
	if !s.p.about.Plain {
		if c.CA, err = os.ReadFile(s.p.file("tls", "ca.crt")); err != nil {
			return nil, err
		}
	}
	// The owner's store is made now: whoever has the credential may not make it.
	theirs, err := s.Store(ctx, c.Owner)
	if err != nil {
		return nil, err
	}
	theirs.Close()
	if err := write(c.Text()); err != nil {
		return nil, err
	}
	m.Made = time.Now().UTC()
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	at, err := mine.Create(ctx, m.doc(), text)
	if err != nil {
		if !errors.As(err, new(*store.UnavailableError)) { // else it may be there
			drop()
		}
		if errors.As(err, new(*store.ExistsError)) {
			return nil, taken(m)
		}
		return nil, err
	}
	return s.effects(ctx, mine, at)
}

func taken(m Member) error {
	return hint.Wrap(fmt.Errorf("%s has a credential already", m.Name), "weft hub credential revoke ends it")
}

// urls are where the servers of the hub are.
func (s *Session) urls(ctx context.Context, mine store.Store) ([]string, error) {
	urls := s.p.urls()
	servers, err := said(ctx, mine)
	for _, one := range servers {
		for _, u := range one.URLs {
			if !slices.Contains(urls, u) {
				urls = append(urls, u)
			}
		}
	}
	return urls, err
}

// Revoke ends a credential. Servers hang up on who has it.
func (s *Session) Revoke(ctx context.Context, name string) ([]Effect, error) {
	mine, err := s.Store(ctx, own)
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	key := (&Member{Name: name}).doc()
	for {
		e, err := mine.Get(ctx, key)
		if gone(err) {
			return nil, hint.Wrap(fmt.Errorf("no credential has the name %s", name), "weft hub credential lists them")
		} else if err != nil {
			return nil, err
		}
		err = mine.Delete(ctx, key, e.Revision)
		if errors.As(err, new(*store.StaleError)) {
			continue
		} else if err != nil {
			return nil, err
		}
		at, err := changed(ctx, mine, key, e.Revision)
		if err != nil {
			return nil, err
		}
		return s.effects(ctx, mine, at)
	}
}

// changed is the first revision after another at which a credential was changed, which
// it was. What the store is at by now may be more: what a server says of itself is
// written there, too, and makes it no newer to the server.
func changed(ctx context.Context, s store.Store, key string, from store.Revision) (store.Revision, error) {
	for e, err := range s.Watch(ctx, membersFolder, from) {
		if err != nil || e.Key == key {
			return e.Revision, err
		}
	}
	return 0, context.Cause(ctx)
}

// An Effect says whether a server acts by the credentials as they are now.
type Effect struct {
	Server string `json:"server"`
	Done   bool   `json:"done"`
}

// notice is how long servers are waited for.
const notice = 30 * time.Second

// effects waits until all servers of the hub act by a revision, or have had the time.
// Where none runs there is none to wait for.
func (s *Session) effects(ctx context.Context, mine store.Store, at store.Revision) ([]Effect, error) {
	if s.r != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, notice)
	defer cancel()
	var list []Effect
	for {
		servers, err := said(ctx, mine)
		if err != nil && ctx.Err() == nil {
			return nil, err
		} else if err == nil {
			list = nil
			for _, one := range servers {
				list = append(list, Effect{one.Name, one.Members >= at})
			}
			if !slices.ContainsFunc(list, func(e Effect) bool { return !e.Done }) {
				return list, nil
			}
		}
		if !wait.For(ctx, 50*time.Millisecond) {
			return list, nil
		}
	}
}

// said is what the servers say of themselves.
func said(ctx context.Context, mine store.Store) ([]Server, error) {
	entries, _, err := mine.List(ctx, serversFolder)
	if err != nil {
		return nil, err
	}
	var list []Server
	for _, e := range entries {
		var one Server
		if err := json.Unmarshal(e.Value, &one); err != nil {
			return nil, &store.CorruptError{What: e.Key, Why: err.Error()}
		}
		list = append(list, one)
	}
	return list, nil
}
