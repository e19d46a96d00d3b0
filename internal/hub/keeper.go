package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"weft/internal/store"
	"weft/internal/store/nats"
	"weft/internal/wait"
)

// A keeper has the server let in who is in the store.
type keeper struct {
	p        *Place
	r        *running
	s        *nats.Store
	note     func(string)
	url      string
	replicas int
	garbage  garbage

	mu   sync.Mutex     // guards what follows
	at   store.Revision // of the store that is in effect
	full *bool          // the disk, as the store knows; nil: not what is said of this server
}

// A Server is what a server of the hub says of itself, in the store.
type Server struct {
	Name    string         `json:"name"`
	URLs    []string       `json:"urls"`
	Members store.Revision `json:"members"` // it lets in who was in the store then
	Said    time.Time      `json:"said"`
	Full    bool           `json:"disk_full,omitempty"` // or nearly
	Free    *int64         `json:"disk_free,omitempty"` // bytes, when Full changed last
}

const serversFolder = "server"

// begin loads once the store answers, be it later on a busy machine, or the context ends.
func (k *keeper) begin(ctx context.Context) error {
	for {
		err := k.load(ctx)
		if err == nil {
			err = k.migrate(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if !errors.As(err, new(*store.UnavailableError)) {
			return err
		}
		k.note("waiting: " + err.Error())
		wait.For(ctx, 200*time.Millisecond)
	}
}

// migrate brings the stores of all owners to what this release makes, and removes what
// clients of former ones may have left. Killed, it is done again.
func (k *keeper) migrate(ctx context.Context) error {
	owners, err := k.s.Owners(ctx)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		s, err := k.r.store(ctx, owner, k.replicas) // migrates
		if err != nil {
			return err
		}
		n, err := s.RemoveStrays(ctx)
		s.Close()
		if err != nil {
			return err
		}
		if n > 0 {
			k.note(fmt.Sprintf("removed %d consumers of the store of %s that are not weft's", n, owner))
		}
	}
	return nil
}

// load reads the credentials and puts them into effect.
func (k *keeper) load(ctx context.Context) error {
	list, at, err := members(ctx, k.s)
	if err != nil {
		return err
	}
	if err := k.r.access.admit(list); err != nil {
		return err
	}
	if err := k.copy(list); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.at
	k.at = at
	if was == 0 && k.p.free() < 64<<10 {
		return nil // a write that fails would stop the store, reads included
	}
	if err := k.say(ctx); err != nil {
		k.at = was // so that it is read, and said, again
		return err
	}
	return nil
}

// copy writes the credentials to start with. On a full disk the former copy makes room:
// without one, credentials are known once the store has been read.
func (k *keeper) copy(list []Member) error {
	name := k.p.file("members.json")
	err := writeJSON(name, list)
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	if err := writeJSON(name, list); !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// say writes what is in effect. The caller has the lock.
func (k *keeper) say(ctx context.Context) error {
	one := Server{Name: k.p.about.Name, URLs: k.p.urls(), Members: k.at, Said: time.Now().UTC()}
	if free, _, known := k.p.disk(k.p.dir); known {
		one.Free, one.Full = &free, free < 2*low
	}
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			k.full = &one.Full
		}
	}()
	key := serversFolder + "/" + k.p.about.Name
	for {
		e, err := k.s.Get(ctx, key)
		switch {
		case errors.As(err, new(*store.NotFoundError)):
			_, err = k.s.Create(ctx, key, text)
		case err == nil:
			_, err = k.s.Update(ctx, key, text, e.Revision)
		}
		if !errors.As(err, new(*store.StaleError)) && !errors.As(err, new(*store.ExistsError)) {
			return err
		}
	}
}

// follow puts each change into effect until the context ends.
func (k *keeper) follow(ctx context.Context) {
	for ctx.Err() == nil {
		var err error
		for _, err = range k.s.Watch(ctx, membersFolder, k.at) {
			if err == nil {
				err = k.load(ctx)
			}
			if err != nil {
				break
			}
		}
		if ctx.Err() != nil {
			return
		}
		k.note("credentials stay as they are until the store answers: " + err.Error())
		wait.For(ctx, time.Second)
		if errors.As(err, new(*store.GapError)) { // it was put back from a copy
			if err := k.load(ctx); err != nil && ctx.Err() == nil {
				k.note("credentials stay as they are: " + err.Error())
			}
		}
	}
}

// tell writes that the disk has become full, or has room again.
func (k *keeper) tell(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if free := k.p.free(); k.full != nil && *k.full == (free < 2*low) || free < 64<<10 && k.replicas == 1 {
		return // a write that fails would stop the store
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = k.say(ctx) // it is tried again in a second
}

// keepRoom keeps room on the disk reserved until the context ends, which it does when the
// storage has stopped.
func (k *keeper) keepRoom(ctx context.Context, end context.CancelCauseFunc) {
	starved := false
	for last := ""; wait.For(ctx, time.Second); {
		if free := k.p.free(); k.replicas > 1 && free < least/4 {
			starved = true
		} else if starved && free >= 2*low {
			end(errStarved)
			return
		}
		if !k.r.JetStreamEnabled() {
			end(errStorage)
			return
		}
		if _, err := os.Stat(k.p.file("hub.json")); errors.Is(err, fs.ErrNotExist) {
			end(errGone)
			return
		}
		if err := k.p.keepRoom(); err != nil && err.Error() != last {
			last = err.Error()
			k.note("room for revocations is not reserved: " + last)
		}
		k.tell(ctx)
		k.collect(ctx)
	}
}
