package hub

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/store/nats"
)

// Port is where a hub listens unless it is told.
const Port = "4222"

// A Founding is how a server of a hub is made.
type Founding struct {
	Dir   string
	Name  string   // of the server; "" is hub1
	Hosts []string // names and addresses at which others reach it, with a port or not
	Plain bool     // without TLS, for this machine alone
	Like  string   // directory of a server of the same hub; "": it is the first
}

// Found makes the directory of a server, and returns what it has made.
func Found(f Founding) (*Place, error) {
	names, ports, err := f.begin()
	if err != nil {
		return nil, err
	}
	p := &Place{dir: f.Dir, disk: disk, about: about{Format: 1, Name: f.Name, Plain: f.Plain}}
	if f.Plain {
		if i := slices.IndexFunc(names, func(n string) bool { return !loopback(n) }); i >= 0 {
			return nil, fmt.Errorf("%s is not this machine: a hub without TLS is for loopback only", names[i])
		}
	}
	scheme := map[bool]string{true: "nats://", false: "tls://"}[f.Plain]
	for i, n := range names {
		p.about.URLs = append(p.about.URLs, scheme+net.JoinHostPort(n, ports[i]))
	}
	admin := &nats.Credential{Name: "the hub's administrator", Owner: own, URLs: p.about.URLs}
	switch {
	case f.Plain && f.Like != "":
		return nil, errors.New("servers of one hub speak TLS with each other")
	case f.Plain:
	case f.Like == "":
		err = p.newAuthority()
	default:
		err = p.authorityOf(f.Like, admin)
	}
	if err == nil && !f.Plain {
		admin.CA, err = p.certify(names)
	}
	if err != nil {
		return nil, err
	}
	if admin.Seed == nil {
		if admin.Seed, err = newSeed(); err != nil {
			return nil, err
		}
	}
	if p.about.Admin, err = public(admin.Seed); err != nil {
		return nil, err
	}
	if err := write(p.file("admin.creds"), admin.Text()); err != nil {
		return nil, err
	}
	return p, writeJSON(p.file("hub.json"), p.about) // last: now it is one
}

// begin makes an empty directory of a founding that can be, and says which names and
// ports the server has.
func (f *Founding) begin() (names, ports []string, err error) {
	f.Name = cmp.Or(f.Name, "hub1")
	if err := store.CheckKey(f.Name); err != nil || strings.Contains(f.Name, "/") {
		return nil, nil, fmt.Errorf("%q is no name of a server: it is one part of a-z, 0-9, - and _", f.Name)
	}
	if len(f.Hosts) == 0 {
		f.Hosts = []string{"127.0.0.1"}
	}
	if names, ports, err = split(f.Hosts); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	if there, err := os.ReadDir(f.Dir); err != nil {
		return nil, nil, err
	} else if len(there) > 0 {
		return nil, nil, hint.Wrap(fmt.Errorf("%s is not empty", f.Dir), "a hub needs its own directory")
	}
	return names, ports, nil
}

// Made are the files that a server was made with.
type Made struct {
	Name      string   `json:"name"`
	URLs      []string `json:"urls"`
	Admin     string   `json:"admin"`
	Authority string   `json:"authority,omitempty"` // "" without TLS
}

// Made says what was made.
func (p *Place) Made() Made {
	m := Made{Name: p.about.Name, URLs: p.about.URLs, Admin: p.file("admin.creds")}
	if !p.about.Plain {
		m.Authority = p.file("tls", "ca.key")
	}
	return m
}

// split takes ports from hosts.
func split(hosts []string) (names, ports []string, err error) {
	for _, h := range hosts {
		name, port, err := net.SplitHostPort(h)
		if err != nil {
			name, port = strings.Trim(h, "[]"), Port
		}
		if name == "" || strings.ContainsAny(name, "/ \t\n,@") {
			return nil, nil, fmt.Errorf("%q is no host: it is a name or an address, with a port or not", h)
		}
		names, ports = append(names, name), append(ports, port)
	}
	return names, ports, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func newSeed() ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return pair.Seed()
}

func public(seed []byte) (string, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}

// authorityOf takes the authority and the administrator of another server's directory.
func (p *Place) authorityOf(dir string, admin *nats.Credential) error {
	other, err := Open(dir)
	if err != nil {
		return err
	}
	if other.about.Name == p.about.Name {
		return fmt.Errorf("%s is the name of the server in %s: each server of a hub has its own", p.about.Name, dir)
	}
	a, err := other.admin()
	if err != nil {
		return err
	}
	admin.Seed, admin.URLs = a.Seed, append(admin.URLs, a.URLs...)
	if err := os.Mkdir(p.file("tls"), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"ca.crt", "ca.key"} {
		text, err := os.ReadFile(other.file("tls", name))
		if err != nil {
			return fmt.Errorf("make a certificate by the authority of %s: %w", dir, err)
		}
		if err := write(p.file("tls", name), text); err != nil {
			return err
		}
	}
	return nil
}
