package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"strings"

	"weft/internal/hint"
	"weft/internal/slice"
)

// Places say where on this machine an agent finds the files and addresses that
// its configuration and its command line name. The zero value is the machine
// as it is. A lab gives each agent a folder and loopback ports of its own.
type Places struct {
	Root string // folder that stands for "/"; "" is "/" itself
	Maps Maps   // when there are any, an address without one is refused
}

// A Map is an address as the fabric names it, and where it really is.
type Map struct {
	Logical netip.AddrPort
	Real    string // host:port; port 0 lets the system choose when listening
}

// Maps are given one by one on a command line: they are a flag's value.
type Maps []Map

// Set adds a map in the form that ParseMap reads.
func (m *Maps) Set(s string) error {
	one, err := ParseMap(s)
	if err != nil {
		return err
	}
	for _, other := range *m {
		if other.Logical == one.Logical && other.Real != one.Real {
			return fmt.Errorf("map %q: %s is at %s already", s, one.Logical, other.Real)
		}
	}
	*m = append(*m, one)
	return nil
}

// String lists the maps.
func (m *Maps) String() string {
	all := slice.Map(*m, func(one Map) string { return one.Logical.String() + "=" + one.Real })
	return strings.Join(all, " ")
}

// Type names the form in help texts.
func (m *Maps) Type() string { return "LOGICAL=REAL" }

// ParseMap reads LOGICAL=REAL, such as 10.40.1.11:4420=127.0.0.1:0.
func ParseMap(s string) (Map, error) {
	logical, to, ok := strings.Cut(s, "=")
	if !ok {
		return Map{}, fmt.Errorf("%q is not LOGICAL=REAL, like 10.40.1.11:4420=127.0.0.1:0", s)
	}
	from, err := netip.ParseAddrPort(logical)
	if err != nil {
		return Map{}, fmt.Errorf("map %q: %q is no address with a port", s, logical)
	}
	if _, err := netip.ParseAddrPort(to); err != nil {
		return Map{}, fmt.Errorf("map %q: %q is no address with a port", s, to)
	}
	return Map{from, to}, nil
}

// RDMA says why there is none at these places: an address that is mapped is a
// port of TCP on loopback.
func (p Places) RDMA() error {
	if len(p.Maps) == 0 {
		return nil
	}
	return hint.Wrap(errors.New("addresses are mapped, as in weft's lab: there is no RDMA"),
		"RDMA wants a NIC, or a real kernel with Soft-RoCE or Soft-iWARP: weft lab up --real")
}

// Path is where a file is that is named by an absolute path. As below "/", no
// ".." leads out of the root.
func (p Places) Path(name string) string {
	if p.Root == "" {
		return name
	}
	return filepath.Join(p.Root, filepath.FromSlash(path.Clean("/"+name)))
}

// Address is where to listen or dial for an address of the fabric.
func (p Places) Address(logical string) (string, error) {
	a, err := netip.ParseAddrPort(logical)
	if err != nil {
		return "", fmt.Errorf("%q is no address with a port, like 10.40.1.11:4420", logical)
	}
	if len(p.Maps) == 0 {
		return a.String(), nil
	}
	for _, m := range p.Maps {
		if m.Logical == a {
			return m.Real, nil
		}
	}
	return "", fmt.Errorf("address %s has no --map, and with any --map given only mapped ones are used", logical)
}

// TLSKeyFile is the file, readable by root only, in which weft keeps the key by which
// a host speaks TLS, by its NQN.
func TLSKeyFile(owner, nqn string) string { return keyFile(owner, "tls", nqn) }

// KeyFile is the file, readable by root only, in which weft keeps the key that
// a host or a subsystem proves to have, by its NQN.
func KeyFile(owner, nqn string) string {
	return keyFile(owner, "dhchap", nqn)
}

func keyFile(owner, folder, nqn string) string {
	return "/etc/weft/" + owner + "/" + folder + "/" + strings.ReplaceAll(nqn, "/", "%2F") + ".key"
}
