package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"weft/internal/store/nats"
)

// Room on the disk. JetStream stops, reads included, when a write fails for want of room,
// so that none may: the broker refuses documents and blobs below low bytes. Removals and
// renewals of leases go on down to least, which is left for the administrator: revoking a
// credential writes some hundred bytes. A file of reserve bytes stands by for the case
// that another program has filled the disk.
const (
	low     = 4 << 20
	least   = 1 << 20
	reserve = 2 << 20
)

// limits are the most that the store of an owner may have, so that one of several owners
// does not fill the disk. The hub's own store has none.
func (p *Place) limits(owner string) nats.Limits {
	if owner == own {
		return nats.Limits{}
	}
	l := nats.Limits{Documents: 1 << 30, Leases: 32 << 20, Blobs: 16 << 30}
	if _, total, known := p.disk(p.dir); known {
		l.Documents, l.Leases, l.Blobs = min(l.Documents, total/8), min(l.Leases, total/64), min(l.Blobs, total/4)
	}
	if n := p.about.Documents; n > 0 {
		l.Documents, l.DocumentsSet = n, true
	}
	if n := p.about.Blobs; n > 0 {
		l.Blobs, l.BlobsSet = n, true
	}
	return l
}

// The smallest limits that leave room for a run.
const (
	leastDocuments = 4 << 20
	leastBlobs     = 16 << 20
)

// bound records the limits of owners, which stay until others are given.
func (p *Place) bound(how Serving) error {
	switch {
	case how.Documents != 0 && how.Documents < leastDocuments:
		return fmt.Errorf("%d bytes of documents of an owner are too few: at least %d", how.Documents, leastDocuments)
	case how.Blobs != 0 && how.Blobs < leastBlobs:
		return fmt.Errorf("%d bytes of blobs of an owner are too few: at least %d", how.Blobs, leastBlobs)
	case how.Requests < 0:
		return fmt.Errorf("%d requests a second are none", how.Requests)
	}
	p.requests = how.Requests
	was := p.about
	p.about.Documents, p.about.Blobs = cmp.Or(how.Documents, was.Documents), cmp.Or(how.Blobs, was.Blobs)
	if p.about.Documents == was.Documents && p.about.Blobs == was.Blobs {
		return nil
	}
	return writeJSON(p.file("hub.json"), p.about)
}

// free is how much the disk has free; where it is not known, enough.
func (p *Place) free() int64 {
	free, _, known := p.disk(p.dir)
	if !known {
		return 1 << 60
	}
	return free
}

// keepRoom reserves room where there is enough.
func (p *Place) keepRoom() error {
	name := p.file("room")
	if info, err := os.Stat(name); err == nil && info.Size() == reserve || p.free() < low+2*reserve {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	block := []byte(strings.Repeat("weft\n", 1<<10))[:4<<10] // zeros could be left out
	for n := 0; n < reserve && err == nil; n += len(block) {
		_, err = f.Write(block)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// makeRoom gives up what is reserved where the disk is full.
func (p *Place) makeRoom() error {
	if p.free() >= least {
		return nil
	}
	if err := os.Remove(p.file("room")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A space admits what there is room for.
type space struct {
	p    *Place
	used func(ctx context.Context, stream string) (bytes, most int64, err error)
	note func(string)

	mu      sync.Mutex
	pending int64     // bytes of messages that were passed on and are not acknowledged
	last    time.Time // that one was
	full    bool
	streams map[string]*usage
}

// A usage is what a stream has, as of a time, and what was added since.
type usage struct {
	bytes, most, added int64
	at                 time.Time
}

// A purpose is what a message is for.
type purpose int

const (
	keeps   purpose = iota // it adds to what is kept
	renews                 // it replaces a lease
	removes                // it removes a document
	reads                  // it is a fence, which every server writes when a client of any reads
)

// admit reports why there is no room for a message.
func (s *space) admit(t *tenant, stream string, size int, what purpose) error {
	if what == reads {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	need := int64(size) + 1<<10
	if time.Since(s.last) > time.Minute {
		s.pending = 0 // nothing is on its way for so long
	}
	floor := map[bool]int64{true: low, false: least}[what == keeps]
	free := s.p.free() - s.pending
	if free-need < floor && what == removes {
		if err := s.p.makeRoom(); err == nil {
			free = s.p.free() - s.pending
		}
	}
	s.report(free)
	if free-need < floor {
		return &refusal{413, fmt.Sprintf(nats.FullDisk+"%s has %.1f MB left, and keeps the last %.1f MB for removals and revocations", s.p.Name(), mb(max(free, 0)), mb(floor))}
	}
	if what == keeps {
		if err := s.share(t, stream, need); err != nil {
			return err
		}
	}
	s.pending, s.last = s.pending+need, time.Now()
	return nil
}

// done: a message of a size is acknowledged, or refused.
func (s *space) done(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = max(s.pending-int64(size)-1<<10, 0)
}

// report says once that the disk is full, and that it is not any more.
func (s *space) report(free int64) {
	switch {
	case !s.full && free < low:
		s.full = true
		s.note(fmt.Sprintf("the disk has %.1f MB left: documents and blobs are refused until %.1f MB are free; reads, removals and revocations go on", mb(max(free, 0)), mb(low)))
	case s.full && free > 2*low:
		s.full = false
		s.note("the disk has room again")
	}
}

func mb(n int64) float64 { return float64(n) / 1e6 }

// share refuses what would leave no room for others in a stream: workers may use three
// quarters of it, so that people can still act on what a worker did.
func (s *space) share(t *tenant, stream string, need int64) error {
	u := s.streams[stream]
	if u == nil {
		u = &usage{}
		s.streams[stream] = u
	}
	if time.Since(u.at) > time.Second || u.added > u.most/64 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if bytes, most, err := s.used(ctx, stream); err == nil { // else the stream refuses it itself
			*u = usage{bytes: bytes, most: most, at: time.Now()}
		}
	}
	limit := u.most / 16 * 15
	if t.Kind == Worker {
		limit = u.most / 4 * 3
	}
	if u.most > 0 && u.bytes+u.added+need > limit {
		return &refusal{413, fmt.Sprintf("stream %s has %.1f MB, and may have %.1f MB of %s: delete what is not needed", stream, mb(u.bytes+u.added), mb(limit), t.Kind)}
	}
	u.added += need
	return nil
}
