package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// runs are the records that this command works with: those of --store, of WEFT_STORE,
// of the files, or of this directory. What is wrong with a store is said by the first
// that needs it.
func (a *app) runs() *run.Records {
	a.reading.Lock()
	defer a.reading.Unlock()
	if a.records == nil || a.recordsOf != a.place() {
		a.records, a.recordsOf = a.openRecords(), a.place()
	}
	return a.records
}

func (a *app) openRecords() *run.Records {
	if a.untrusted { // the store block may lead anywhere, and .weft may be of the files
		return run.InShared(a.place(), run.Sharing{Open: func(context.Context) (store.Store, error) { return nil, errUntrusted() }})
	}
	if a.twin != "" { // a rehearsal is nobody else's
		return run.In(a.place())
	}
	s, owner, err := a.whereRuns()
	if err == nil && s == nil {
		return run.In(a.place())
	}
	if err != nil {
		return run.InShared(a.place(), run.Sharing{Open: func(context.Context) (store.Store, error) { return nil, err }})
	}
	how := run.Sharing{Name: s.Path, Owner: owner, Lease: s.Lease}
	if s.Kind == "nats" {
		how.Name = s.URL
		if s.URL == "" {
			how.Name = s.Creds
		}
		how.Open = func(ctx context.Context) (store.Store, error) { return a.openHub(ctx, s, owner) }
	} else {
		how.Open = func(ctx context.Context) (store.Store, error) { return dir.Open(ctx, s.Path, dir.Options{}) }
	}
	return run.InShared(a.place(), how)
}

// whereRuns finds out where runs are kept, and whose they are where the files say it;
// nil: in this directory.
func (a *app) whereRuns() (*inventory.Store, string, error) {
	declared, owner, diags := language.ReadStore(os.DirFS(a.dir))
	text, from := a.store, "--store"
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
		s.Path = filepath.Join(a.dir, s.Path)
	case s.Creds != "" && !filepath.IsAbs(s.Creds) && !strings.HasPrefix(s.Creds, "~/"):
		s.Creds = filepath.Join(a.dir, s.Creds)
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
func (a *app) openHub(ctx context.Context, s *inventory.Store, owner string) (store.Store, error) {
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
		m, _, err := a.parse(os.DirFS(a.dir), nil)
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

// commit is that of the files, where git knows it: for the record.
func (a *app) commit() string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := a.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "" // there is no git, or no repository
	}
	return strings.TrimSpace(string(out))
}
