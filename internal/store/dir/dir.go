// Package dir is a store in a directory, without a server: the default.
//
// Many processes of one machine may work in it at once. A change takes the lock,
// writes the new value beside the old one, is decided by one line of a log, and puts
// the value in its place by a rename; each is on the disk before the next. Who is
// killed in between leaves the old value, or the new one, which whoever comes next
// puts in its place. Readers take no lock (on Windows a shared one) and never see
// half a value; a sum finds what the disk has spoiled.
//
//	store.json          format and epoch
//	keys/lock           locked while a change is made
//	keys/log/REVISION   a line for each change, in files that begin at a revision
//	keys/new/REVISION   values on their way
//	keys/data/+run/+r1/=plan
//	                    the document run/r1/plan
//	leases/…            the same for leases
//	blobs/sha256-…
//
// A key costs a file, a change two small files and three syncs of the disk. List reads
// what it returns, and nothing else. The log keeps its last files, 8 MB or more;
// a watch from before is told of a gap.
//
// On a network file system several machines may use it only where locks and renames
// hold among them at once: NFS 4 mounted with noac,lookupcache=none. With the default
// mount options a machine may see for some seconds what was there before, and
// may then overwrite what it did not see. Use NATS where machines share a store.
package dir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"weft/internal/store"
)

// Options of a directory; the zero value is what people use.
type Options struct {
	Clock   func() time.Time // nil is time.Now
	Timeout time.Duration    // how long another's lock is waited for without a deadline; 0 is 30 s
	Look    time.Duration    // how often a watch looks for changes; 0 is 100 ms

	segment int64          // bytes of a file of the log; 0 is 1 MB
	step    func(s string) // called before each step of a change
	lazy    bool           // nothing is synced: for tests that kill nobody
}

// A Store is a directory.
type Store struct {
	root   string
	o      Options
	*table // of what is kept by key
	leases *table
}

var _ store.Store = (*Store)(nil)

// about is store.json.
type about struct {
	Format int    `json:"format"`
	Epoch  uint64 `json:"epoch"`
}

// Open opens a store, and makes it where there is none.
func Open(ctx context.Context, root string, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Look = cmp.Or(o.Look, 100*time.Millisecond)
	o.segment = cmp.Or(o.segment, 1<<20)
	if o.step == nil {
		o.step = func(string) {}
	}
	s := &Store{root: root, o: o}
	s.table = newTable(filepath.Join(root, "keys"), &s.o)
	s.leases = newTable(filepath.Join(root, "leases"), &s.o)
	for _, d := range append(append(s.table.folders(), s.leases.folders()...), s.blobs()) {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, &store.UnavailableError{Err: err}
		}
	}
	unlock, err := s.table.lock(ctx)
	if err != nil {
		return nil, err
	}
	_, err = s.about()
	if errors.Is(err, fs.ErrNotExist) {
		err = s.found()
	}
	unlock()
	if err != nil {
		return nil, err
	}
	for _, t := range []*table{s.table, s.leases} {
		if _, err := t.finished(ctx); err != nil {
			return nil, err
		}
	}
	return s, s.sweep()
}

// found makes the epoch of a new store: the time, so that a store that was lost and is
// made anew has a higher one.
func (s *Store) found() error {
	for _, d := range []string{s.root, s.table.root, s.leases.root} {
		if err := s.o.syncDir(d); err != nil {
			return err
		}
	}
	return s.writeAbout(about{Format: 1, Epoch: uint64(s.o.Clock().UnixMilli())})
}

func (s *Store) about() (about, error) {
	name := filepath.Join(s.root, "store.json")
	text, err := os.ReadFile(name)
	if err != nil {
		return about{}, err
	}
	var a about
	if err := json.Unmarshal(text, &a); err != nil {
		return about{}, &store.CorruptError{What: name, Why: err.Error()}
	}
	if a.Format != 1 {
		return about{}, fmt.Errorf("%s: the store has format %d, and this weft knows format 1: use a newer weft", s.root, a.Format)
	}
	return a, nil
}

func (s *Store) writeAbout(a about) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	tmp := filepath.Join(s.root, "store.json.new")
	if err := s.o.writeFile(tmp, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(s.root, "store.json")); err != nil {
		return err
	}
	return s.o.syncDir(s.root)
}

// Restored makes tokens rise above those that the store gave before it was copied.
func (s *Store) Restored(ctx context.Context) error {
	unlock, err := s.table.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	a, err := s.about()
	if err != nil {
		return err
	}
	a.Epoch = max(a.Epoch+1, uint64(s.o.Clock().UnixMilli()))
	return s.writeAbout(a)
}

func (s *Store) Lease(ctx context.Context, key, holder string, ttl time.Duration) (*store.Lease, error) {
	return store.Take(ctx, book{s.leases, s}, s.o.Clock, key, holder, ttl)
}

func (s *Store) Leases(ctx context.Context, folder string) ([]store.Holding, error) {
	return store.Holdings(ctx, book{s.leases, s}, folder)
}

func (s *Store) Break(ctx context.Context, h store.Holding) error {
	return store.BreakHolding(ctx, book{s.leases, s}, h)
}

// Close has nothing to let go of: each call opens what it reads.
func (s *Store) Close() error { return nil }

func (s *Store) Epoch(ctx context.Context) (uint64, error) { return book{s: s}.Epoch(ctx) }

// A book is the table of leases, with what tells their times.
type book struct {
	*table
	s *Store
}

func (b book) Now(context.Context) (time.Time, error) { return b.s.o.Clock(), nil }

func (b book) Epoch(context.Context) (uint64, error) {
	a, err := b.s.about()
	return a.Epoch, err
}
