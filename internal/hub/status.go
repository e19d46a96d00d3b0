package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/flock"
	"weft/internal/store"
	"weft/internal/store/nats"
)

// A Status is how a hub is.
type Status struct {
	Name        string     `json:"name"`
	URL         string     `json:"url"`
	PID         int        `json:"pid"`
	Since       time.Time  `json:"since"`
	Plain       bool       `json:"plain"`
	Certificate *time.Time `json:"certificate_until,omitempty"` // that of the hub's own authority
	Servers     []Server   `json:"servers"`
	Members     int        `json:"members"`
	Owners      []Owner    `json:"owners"`
	Free        *int64     `json:"disk_free,omitempty"` // bytes; nil: not known
	Issues      []string   `json:"issues,omitempty"`    // what needs the administrator
}

// An Owner is whose store the hub keeps.
type Owner struct {
	Name string `json:"name"`
	nats.State
	Held []store.Holding `json:"leases_held"`

	corrupt error // documents that are no leases
}

// Whole reports whether every server has all, and there is room for more.
func (s *Status) Whole() bool {
	if len(s.Issues) > 0 {
		return false
	}
	for _, o := range s.Owners {
		for _, stream := range o.Streams {
			if len(stream.Behind) > 0 {
				return false
			}
		}
	}
	return true
}

// A StoppedError is a hub that does not run.
type StoppedError struct{ Dir string }

func (e *StoppedError) Error() string { return fmt.Sprintf("the hub in %s does not run", e.Dir) }

// Status asks the hub how it is. It is not run for that.
func (p *Place) Status(ctx context.Context) (*Status, error) {
	lock, err := p.lock()
	switch {
	case err == nil:
		_ = flock.Release(lock)
		return nil, &StoppedError{p.dir}
	case !errors.As(err, new(*BusyError)):
		return nil, err
	}
	at, err := p.served()
	if err != nil && p.free() < least { // there was no room for the file
		at, err = Started{URL: p.urls()[0]}, nil
	}
	if err != nil {
		return nil, &store.UnavailableError{Err: errors.New("it is starting, or stopping")}
	}
	s := &Session{p: p}
	out := &Status{Name: p.about.Name, URL: at.URL, PID: at.PID, Since: at.Since, Plain: p.about.Plain}
	if !p.about.Plain {
		own := &pair{cert: p.file("tls", "server.crt"), key: p.file("tls", "server.key")}
		c, err := own.get()
		if err != nil {
			return nil, err
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			return nil, err
		}
		out.Certificate = &leaf.NotAfter
	}
	mine, err := s.Store(ctx, own)
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	if out.Servers, err = said(ctx, mine); err != nil {
		return nil, err
	}
	list, _, err := members(ctx, mine)
	if err != nil {
		return nil, err
	}
	out.Members = len(list)
	all, err := mine.Owners(ctx)
	for _, name := range all {
		var o Owner
		if o, err = s.owner(ctx, name); err != nil {
			break
		}
		out.Owners = append(out.Owners, o)
	}
	out.judge(p)
	return out, err
}

// judge lists what is full, or nearly so.
func (s *Status) judge(p *Place) {
	if free, _, known := p.disk(p.dir); known {
		s.Free = &free
		if free < 2*low {
			s.Issues = append(s.Issues, fmt.Sprintf("the disk of %s has %.1f MB free, and the hub takes no documents below %.1f MB: free some, or delete runs", p.dir, mb(free), mb(low)))
		}
	}
	var away []string
	for _, one := range s.Servers {
		if one.Full && one.Name != p.about.Name && one.Free != nil {
			s.Issues = append(s.Issues, fmt.Sprintf("the disk of server %s had %.1f MB free at %s: free some there, or delete runs", one.Name, mb(*one.Free), one.Said.Format(time.RFC3339)))
		}
	}
	for _, o := range s.Owners {
		if o.corrupt != nil {
			s.Issues = append(s.Issues, fmt.Sprintf("owner %s: %s: weft store lease break KEY removes it", o.Name, strings.ReplaceAll(o.corrupt.Error(), "\n", "; ")))
		}
		for _, one := range o.Streams {
			for _, b := range one.Behind {
				if !slices.Contains(away, b.Server) {
					away = append(away, b.Server)
					s.Issues = append(s.Issues, fmt.Sprintf("server %s does not have all changes: it is down, cut off or catching up, or its storage has stopped: see its log", b.Server))
				}
			}
			if most := one.MaxBytes; most > 0 && int64(one.Bytes) > most/8*5 {
				s.Issues = append(s.Issues, fmt.Sprintf("stream %s has %.1f MB of %.1f MB: workers of %s can add little or nothing: delete runs", one.Name, mb(int64(one.Bytes)), mb(most), o.Name))
			}
		}
	}
}

func (s *Session) owner(ctx context.Context, name string) (Owner, error) {
	o := Owner{Name: name}
	one, err := s.Store(ctx, name)
	if err != nil {
		return o, err
	}
	defer one.Close()
	if o.State, err = one.State(ctx); err == nil {
		o.Held, err = one.Leases(ctx, "")
	}
	if errors.As(err, new(*store.CorruptError)) { // a client may write anything in its folder
		o.corrupt, err = err, nil
	}
	return o, err
}
