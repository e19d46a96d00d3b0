package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/store"
	"weft/plan"
)

// flushEvery is how long a line of the journal may be on this machine alone. It stands
// on its disk before anything is done to a device.
const flushEvery = time.Second

// A trail is the journal that this process writes of a run: into a file of this
// machine, synced line by line, and from there into the store in pieces, which keep
// their numbers. While the store is away they wait in the file, also for another weft
// in this directory.
type trail struct {
	records *Records
	store   store.Store
	file    *os.File
	folder  string // of the pieces

	mu    sync.Mutex // guards what follows, and the sending
	sent  int64      // bytes
	size  int64      // of the file
	next  int        // number of the next piece
	late  error      // why the last sending failed
	timer *time.Timer
	done  bool
}

func (r *Records) spools() string { return filepath.Join(r.place, ".weft", "spool") }

// trail opens a journal.
func (r *Record) trail() (*trail, error) {
	if err := os.MkdirAll(r.records.spools(), 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	session := plan.NewRunID(time.Now())
	name := filepath.Join(r.records.spools(), r.ID+"."+labOrReal(r.Simulated)+"@"+session+".jsonl")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &trail{records: r.records, store: r.store, file: f, folder: r.records.journals(r.ID) + "/" + store.Segment(session)}, nil
}

// journals is where these records keep the journals of a run, soaks what was seen of it.
func (r *Records) journals(id string) string { return r.own(id, "journal") }
func (r *Records) soaks(id string) string    { return r.own(id, "soak") }

func (r *Records) own(id, kind string) string {
	if r.site != "" {
		return keySite(id, r.site) + "/" + kind
	}
	return keyRecord(id, kind)
}

// Write adds lines.
func (t *trail) Write(line []byte) (int, error) {
	n, err := t.file.Write(line)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size += int64(n)
	if t.timer == nil && !t.done {
		t.timer = time.AfterFunc(flushEvery, t.later)
	}
	return n, err
}

// Sync has what was written on the disk.
func (t *trail) Sync() error { return t.file.Sync() }

func (t *trail) later() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer = nil; !t.done {
		t.send(context.Background())
	}
}

// flush sends what there is. What cannot be sent now is sent later.
func (t *trail) flush(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.send(ctx)
}

func (t *trail) send(ctx context.Context) {
	patience := sendPatience
	if t.late != nil {
		patience = againPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t.late = nil
	for t.sent < t.size && t.late == nil {
		buf := make([]byte, min(t.size-t.sent, maxPiece))
		if _, err := t.file.ReadAt(buf, t.sent); err != nil {
			t.late = err
			return
		}
		_, err := t.store.Create(ctx, piece(t.folder, t.next), buf)
		if errors.As(err, new(*store.ExistsError)) { // its answer was lost
			err = t.resume(ctx)
		} else if err == nil {
			t.sent += int64(len(buf))
			t.next++
		}
		t.late = err
	}
}

// sendPatience is how long the work on devices waits for the store to take a journal.
const sendPatience = 5 * time.Second

// againPatience is that once the store did not answer.
const againPatience = 500 * time.Millisecond

// resume finds out what the store has.
func (t *trail) resume(ctx context.Context) error {
	entries, _, err := t.store.List(ctx, t.folder)
	if err != nil {
		return err
	}
	t.sent, t.next = 0, len(entries)
	for _, e := range entries {
		t.sent += int64(len(e.Value))
	}
	return nil
}

// Close sends the rest, and leaves the file where it cannot.
func (t *trail) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.send(context.Background())
	err := t.file.Close()
	switch {
	case t.late != nil:
		return fmt.Errorf("the journal is kept in %s, and sent by the next weft apply or rollout here: %w", t.file.Name(), errors.Join(t.late, err))
	case err != nil:
		return fmt.Errorf("journal: %w", err)
	}
	return os.Remove(t.file.Name())
}

// sendSpools sends the journals that wefts have left here which were killed, or had no
// store. Whoever calls holds the directory.
func (r *Records) sendSpools(ctx context.Context, s store.Store) error {
	names, err := filepath.Glob(filepath.Join(r.spools(), "*@*.jsonl"))
	if err != nil {
		return err
	}
	for _, name := range names {
		of, session, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".jsonl"), "@")
		id := strings.TrimSuffix(strings.TrimSuffix(of, ".lab"), ".real")
		_, err := s.Get(ctx, keyRun(id))
		if errors.As(err, new(*store.NotFoundError)) {
			continue // of a run that another store has
		}
		if err != nil {
			return r.trouble(err)
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		t := &trail{records: r, store: s, file: f, folder: r.journals(id) + "/" + store.Segment(session)}
		if info, err := f.Stat(); err == nil {
			t.size = info.Size()
		}
		if err = t.resume(ctx); err == nil {
			err = t.Close()
		}
		if err != nil {
			return r.trouble(err)
		}
	}
	return nil
}

// Journal reads all that the run has done to devices, in the order of those who did.
func (r *Record) Journal(ctx context.Context) (io.Reader, error) {
	return r.records.ofSites(ctx, r.store, r.Head, "journal")
}

// ofSites reads something that grew, of all who worked on a run: of the sites after one
// another.
func (r *Records) ofSites(ctx context.Context, s store.Store, h *Head, kind string) (io.Reader, error) {
	text, err := r.pieces(ctx, s, keyRecord(h.ID, kind))
	all := []io.Reader{text}
	var of map[string]string
	if err == nil && h.Sites != nil && kind == "journal" {
		of, err = r.placedDevices(ctx, s, h.ID)
	}
	for _, site := range h.Sites {
		if err == nil {
			text, err = r.pieces(ctx, s, keySite(h.ID, site)+"/"+kind)
			if of != nil {
				text = ownEntries(text, site, of)
			}
			all = append(all, text)
		}
	}
	if err != nil {
		return nil, err
	}
	return io.MultiReader(all...), nil
}

// pieces reads something that grew, of all sessions.
func (r *Records) pieces(ctx context.Context, s store.Store, folder string) (io.Reader, error) {
	entries, _, err := s.List(ctx, folder)
	if err != nil {
		return nil, r.trouble(err)
	}
	var all bytes.Buffer
	session := ""
	for _, e := range entries {
		now := e.Key[:strings.LastIndexByte(e.Key, '/')]
		if n := all.Len(); session != now && n > 0 && all.Bytes()[n-1] != '\n' {
			all.WriteByte('\n') // who was killed may have left half a line
		}
		session = now
		all.Write(e.Value)
	}
	return &all, nil
}

// A tail is something that grows by small lines: the last piece is written again until
// it is full.
type tail struct {
	folder string
	text   []byte
	next   int
	at     store.Revision
}

// add adds a line.
func (t *tail) add(ctx context.Context, s store.Store, line []byte) error {
	text := append(bytes.Clone(t.text), line...)
	if t.at != 0 && len(text) > maxPiece {
		t.text, t.at, text = nil, 0, line
		t.next++
	}
	var at store.Revision
	var err error
	if t.at == 0 {
		at, err = s.Create(ctx, piece(t.folder, t.next), text)
	} else {
		at, err = s.Update(ctx, piece(t.folder, t.next), text, t.at)
	}
	if err == nil {
		t.text, t.at = text, at
	} else if raced(err) { // the answer to the last one was lost
		t.text, t.at = nil, 0
		t.next++
		return t.add(ctx, s, line)
	}
	return err
}

// ChangedSince are the devices to which any run has done something after a time.
func (r *Records) ChangedSince(ctx context.Context, after time.Time, simulated bool) ([]string, error) {
	heads, err := r.Heads(ctx, simulated)
	if err != nil {
		return nil, err
	}
	var devices []string
	for _, h := range heads {
		if h.Over() && h.Changed.Before(after) {
			continue
		}
		journal, err := r.ofSites(ctx, r.opened, h, "journal")
		if err != nil {
			return nil, err
		}
		more, err := plan.ChangedSince(journal, after, simulated)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", h.ID, err)
		}
		devices = append(devices, more...)
	}
	slices.Sort(devices)
	return slices.Compact(devices), nil
}
