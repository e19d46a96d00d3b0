package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/store"
	"weft/internal/store/dir"
	"weft/internal/store/nats"
	"weft/inventory"
	"weft/inventory/language"
)

// defaultLease is how long whoever works on a run is waited for when it does not answer.
const defaultLease = 5 * time.Minute

// A runStore is where the runs of this command are kept.
type runStore struct {
	opts    *options
	project *project

	mu       sync.Mutex
	opened   *run.Records // see records
	openedAt string       // the place that they are of
}

// runs are the records that this command works with: those of --store, of WEFT_STORE,
// of the files, or of this directory. What is wrong with a store is said by the first
// that needs it.
func (r *runStore) records() *run.Records {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened == nil || r.openedAt != r.opts.place() {
		r.opened, r.openedAt = r.openRecords(), r.opts.place()
	}
	return r.opened
}

func (r *runStore) openRecords() *run.Records {
	if r.opts.untrusted { // the store block may lead anywhere, and .weft may be of the files
		return run.InShared(r.opts.place(), run.Sharing{Open: func(context.Context) (store.Store, error) { return nil, errUntrusted() }})
	}
	if r.opts.twin != "" { // a rehearsal is nobody else's
		return run.In(r.opts.place())
	}
	s, owner, err := r.whereRuns()
	if err == nil && s == nil {
		return run.In(r.opts.place())
	}
	if err != nil {
		return run.InShared(r.opts.place(), run.Sharing{Open: func(context.Context) (store.Store, error) { return nil, err }})
	}
	how := run.Sharing{Name: s.Path, Owner: owner, Lease: s.Lease}
	if s.Kind == "nats" {
		how.Name = s.URL
		if s.URL == "" {
			how.Name = s.Creds
		}
		how.Open = func(ctx context.Context) (store.Store, error) { return r.openHub(ctx, s, owner) }
	} else {
		how.Open = func(ctx context.Context) (store.Store, error) { return dir.Open(ctx, s.Path, dir.Options{}) }
	}
	return run.InShared(r.opts.place(), how)
}

// whereRuns finds out where runs are kept, and whose they are where the files say it;
// nil: in this directory.
func (r *runStore) whereRuns() (*inventory.Store, string, error) {
	declared, owner, diags := language.ReadStore(os.DirFS(r.opts.dir))
	text, from := r.opts.where, "--store"
	if text == "" {
		text, from = os.Getenv("WEFT_STORE"), "WEFT_STORE"
	}
	s := declared
	switch {
	case text != "":
		var err error
		if s, err = storeFrom(text); err != nil {
			return nil, "", usage(fmt.Errorf("%s: %w", from, err))
		}
	case diags.HasErrors():
		return nil, "", hint.Wrap(fmt.Errorf("where runs are kept cannot be read: %w", diags), "weft validate shows it")
	case s == nil:
		return nil, "", nil
	case s.Kind == "directory" && !filepath.IsAbs(s.Path):
		s.Path = filepath.Join(r.opts.dir, s.Path)
	case s.Creds != "" && !filepath.IsAbs(s.Creds) && !strings.HasPrefix(s.Creds, "~/"):
		s.Creds = filepath.Join(r.opts.dir, s.Creds)
	}
	s.Lease = cmp.Or(s.Lease, defaultLease)
	return s, owner, nil
}

// storeFrom reads what --store says: the file of a credential, the URL of a hub, or a
// directory; ?lease=, replicas= and creds= may follow.
func storeFrom(text string) (*inventory.Store, error) {
	where, query, _ := strings.Cut(text, "?")
	s := &inventory.Store{Kind: "directory", Path: where}
	info, err := os.Stat(where)
	switch {
	case strings.Contains(where, "://"):
		s.Kind, s.Path, s.URL = "nats", "", where
		if err := language.CheckStoreURL(where); err != nil {
			return nil, err
		}
	case err == nil && info.Mode().IsRegular():
		s.Kind, s.Path, s.Creds = "nats", "", where
	case err != nil && strings.HasSuffix(where, ".creds"):
		return nil, err
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	for name := range options {
		value := options.Get(name)
		var err error
		switch {
		case name == "lease":
			s.Lease, err = time.ParseDuration(value)
			if err == nil && (s.Lease < 5*time.Second || s.Lease > time.Hour) {
				err = errors.New("a lease lasts from 5s to 1h")
			}
		case name == "replicas" && s.Kind == "nats":
			s.Replicas, err = strconv.Atoi(value)
		case name == "creds" && s.Kind == "nats":
			s.Creds = value
		default:
			err = errors.New("there are lease, and for a hub replicas and creds")
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, value, err)
		}
	}
	return s, nil
}

// openHub reaches the store of an owner in a hub.
func (r *runStore) openHub(ctx context.Context, s *inventory.Store, owner string) (store.Store, error) {
	o := nats.Options{}
	if s.Creds != "" {
		c, err := readCredential(expandHome(s.Creds))
		if err != nil {
			return nil, err
		}
		if o, err = c.Options(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Creds, err)
		}
	}
	if s.URL != "" {
		o.URL = s.URL
		if u, err := url.Parse(s.URL); err == nil && strings.Trim(u.Path, "/") != "" && !strings.Contains(s.URL, ",") {
			o.Owner = store.Segment(strings.Trim(u.Path, "/"))
			u.Path = ""
			o.URL = u.String()
		}
	}
	mine := store.Segment(owner)
	switch {
	case o.Owner == "" && owner != "":
		o.Owner = mine
	case o.Owner == "":
		m, _, err := r.project.parse(os.DirFS(r.opts.dir), nil)
		if err != nil || m.Name == "" {
			return nil, usage(hint.Wrap(errors.New("it is not known whose runs are meant: no file here says it"), "a credential says it, and so does --store nats://HOST:PORT/OWNER"))
		}
		o.Owner = store.Segment(m.Name)
	case owner != "" && o.Owner != mine:
		return nil, usage(fmt.Errorf("the store is that of owner %s, and the files are of %s", o.Owner, owner))
	}
	o.Replicas = s.Replicas
	o.Migrate = s.Creds == "" // a server of NATS without credentials: its streams are this user's to update
	o.Connect = append(o.Connect, client.Name("weft of "+who()))
	return nats.Open(ctx, o)
}

func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// opener is how the store is opened, and what it is called. None is made.
func (r *runStore) opener() (name string, open func(context.Context) (store.Store, error), err error) {
	s, owner, err := r.whereRuns()
	if err != nil {
		return "", nil, err
	}
	if s == nil {
		s = &inventory.Store{Kind: "directory", Path: filepath.Join(r.opts.place(), ".weft", "store")}
	}
	if s.Kind == "nats" {
		return cmp.Or(s.URL, s.Creds), func(ctx context.Context) (store.Store, error) { return r.openHub(ctx, s, owner) }, nil
	}
	if _, err := os.Stat(filepath.Join(s.Path, "store.json")); err != nil {
		return "", nil, usage(hint.Wrap(fmt.Errorf("there is no store in %s", s.Path), "name where runs are kept with --store: the file of a hub's credential, its URL, or a directory"))
	}
	return s.Path, func(ctx context.Context) (store.Store, error) { return dir.Open(ctx, s.Path, dir.Options{}) }, nil
}

// readCredential reads a credential that nobody else can read.
func readCredential(file string) (*nats.Credential, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("credential: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, hint.Wrap(fmt.Errorf("credential: %s may be read by others: its mode is %s", file, mode), "chmod 600 it, and if others could read it have it revoked")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("credential: %w", err)
	}
	c, err := nats.ParseCredential(text)
	if err != nil {
		return nil, fmt.Errorf("credential: %s: %w", file, err)
	}
	return c, nil
}

// storeError gives causes their exit codes.
func storeError(err error) error {
	if errors.As(err, new(*store.UnavailableError)) {
		return &codeError{exitUnreachable, err}
	}
	if errors.As(err, new(*store.LostError)) {
		return &codeError{exitHeld, err}
	}
	return err
}
