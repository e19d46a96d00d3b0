// Package hub is the server of a store that people, pipelines and workers share: NATS
// JetStream inside weft, with certificates and credentials of its own.
//
// A directory is all of a server: hub.json says what it is, tls has its certificates,
// admin.creds is the key to all of it, jetstream is what it keeps. Credentials of
// people are kept in the store itself, by their public keys, so that all servers of a
// hub know them; members.json is a copy to start with.
package hub

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"weft/internal/flock"
	"weft/internal/hint"
	"weft/internal/store/nats"
)

// own is whose store the hub keeps its own affairs in: no name of an owner is so
// spelled (store.Segment).
const own = "_hub"

// about is hub.json.
type about struct {
	Format int      `json:"format"`
	Name   string   `json:"name"`  // of the server, within the hub
	URLs   []string `json:"urls"`  // at which others reach it
	Admin  string   `json:"admin"` // the public key of who may do everything
	Plain  bool     `json:"plain,omitempty"`
	Mode   mode     `json:"mode,omitempty"` // "": it never ran
	Port   string   `json:"port,omitempty"` // at which it listened last; "": it never ran, or at Port

	Documents int64 `json:"max_documents,omitempty"` // bytes of each owner; 0: by the size of the disk
	Blobs     int64 `json:"max_blobs,omitempty"`
}

// A Place is the directory of a server of a hub.
type Place struct {
	dir   string
	about about
	disk  func(dir string) (free, total int64, known bool)

	requests int // a second of a credential; 0: as this release says
}

// Open finds the server of a directory.
func Open(dir string) (*Place, error) {
	p := &Place{dir: dir, disk: disk}
	text, err := os.ReadFile(p.file("hub.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hint.Wrap(fmt.Errorf("%s is no directory of a hub: there is no hub.json", dir), "make one with weft hub init --dir %s", dir)
	} else if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &p.about); err != nil {
		return nil, fmt.Errorf("%s: %w", p.file("hub.json"), err)
	}
	if p.about.Format != 1 {
		return nil, fmt.Errorf("%s: the hub has format %d, and this weft knows format 1: use a newer weft", dir, p.about.Format)
	}
	return p, nil
}

// Name is that of the server.
func (p *Place) Name() string { return p.about.Name }

func (p *Place) file(parts ...string) string {
	return filepath.Join(append([]string{p.dir}, parts...)...)
}

// urls are where clients reach the server: at the port where it listens, unless another
// was given with the host, such as that of a relay.
func (p *Place) urls() []string {
	var list []string
	for _, text := range p.about.URLs {
		if u, err := url.Parse(text); err == nil && u.Port() == Port && p.about.Port != "" {
			u.Host = net.JoinHostPort(u.Hostname(), p.about.Port)
			text = u.String()
		}
		list = append(list, text)
	}
	return list
}

// listens records the port at which the server listens.
func (p *Place) listens(addr net.Addr, note func(string)) error {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return err
	}
	was := cmp.Or(p.about.Port, Port)
	if port == was {
		return nil
	}
	note(fmt.Sprintf("clients reach this server at port %s; credentials that were made for port %s need it in their Hub lines, or are made again", port, was))
	p.about.Port = port
	return writeJSON(p.file("hub.json"), p.about)
}

// admin is the key to all.
func (p *Place) admin() (*nats.Credential, error) {
	name := p.file("admin.creds")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	c, err := nats.ParseCredential(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// A BusyError is a directory that another process has.
type BusyError struct{ Dir string }

func (e *BusyError) Error() string { return "another weft hub has the directory " + e.Dir }

// lock keeps other processes out of the directory until it is closed.
func (p *Place) lock() (*os.File, error) {
	f, err := os.OpenFile(p.file("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := flock.Try(f, false)
	if err == nil && !free {
		err = &BusyError{p.dir}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// write puts a file in its place whole, for its owner only. One that has the text already
// is left: where the disk is full, nothing else could be written.
func write(name string, text []byte) error {
	if there, err := os.ReadFile(name); err == nil && bytes.Equal(there, text) {
		return nil
	}
	tmp := name + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

func writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return write(name, append(text, '\n'))
}
