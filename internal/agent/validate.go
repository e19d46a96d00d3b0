package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"weft/internal/nvme/names"

	"github.com/google/uuid"
)

// DiscoveryNQN names the discovery service of every target; no subsystem may
// have it.
const DiscoveryNQN = names.Discovery

const (
	maxGroup      = 128  // of asymmetric access
	maxNamespaces = 1024 // of a subsystem
)

// Validate reports everything in the configuration that weft-target would
// refuse; nil means it can be served, as far as can be told without looking at
// files and addresses.
func (t *Target) Validate() error {
	v := &findings{paths: map[string]string{}, uuids: map[string]string{}, nguids: map[[16]byte]string{}}
	if t.Owner == "" {
		v.add("owner is missing")
	}
	v.portals(t.Portals)
	v.access(t)
	v.metrics(t.Metrics)
	seen := map[string]bool{}
	for i, s := range t.Subsystems {
		name := fmt.Sprintf("subsystem %q", s.NQN)
		if s.NQN == "" {
			name = fmt.Sprintf("subsystem %d", i+1)
		}
		if seen[s.NQN] {
			v.add("%s is there twice", name)
		}
		seen[s.NQN] = true
		v.subsystem(name, s, t.Portals)
	}
	return errors.Join(v.errs...)
}

// findings collects what is wrong, and what must be unique in the whole file.
type findings struct {
	errs   []error
	paths  map[string]string // of file backends, to the namespace that has it
	uuids  map[string]string
	nguids map[[16]byte]string
}

func (v *findings) add(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

func (v *findings) portals(portals []Portal) {
	if len(portals) == 0 {
		v.add("no portal: no initiator could connect")
	}
	seen := map[Portal]bool{}
	for _, p := range portals {
		rdma := Portal{Transport: "rdma", Address: p.Address}
		if p.Instead && (p.Transport == "rdma" || !slices.ContainsFunc(portals, rdma.Same)) {
			v.add("portal %s %s: there is no RDMA portal at this address for which it could be a fallback", p.Transport, p.Address)
		}
		if p.TLS && p.Transport == "rdma" {
			v.add("portal %s %s: TLS is for tcp; there is none for RDMA", p.Transport, p.Address)
		}
		if p.ToS != 0 && p.Transport == "rdma" {
			v.add("portal %s %s: tos is for tcp; with RDMA both ends send with what the host asks for", p.Transport, p.Address)
		}
		p.Instead, p.TLS, p.ToS = false, false, 0
		if seen[p] {
			v.add("portal %s %s is there twice", p.Transport, p.Address)
		}
		seen[p] = true
		switch p.Transport {
		case "tcp", "rdma":
		default:
			v.add("portal %s: unknown transport %q; tcp and rdma are known", p.Address, p.Transport)
		}
		switch a, err := netip.ParseAddrPort(p.Address); {
		case err != nil:
			v.add("portal address %q is no IP address with a port, like 10.40.1.11:4420", p.Address)
		case a.Port() == 0:
			v.add("portal address %q has no port to connect to", p.Address)
		case a.Addr().IsUnspecified():
			v.add("portal address %q is not one that initiators could dial; name each address", p.Address)
		}
	}
}

// CheckNQN reports why s is no NVMe Qualified Name of a host or subsystem:
// nqn.yyyy-mm.reverse.domain:name, or nqn.2014-08.org.nvmexpress:uuid:UUID.
func CheckNQN(s string) error {
	switch {
	case s == DiscoveryNQN:
		return errors.New("the NQN of the discovery service is no subsystem's and no host's")
	case len(s) > names.MaxNQN:
		return fmt.Errorf("NQN of %d bytes; %d is the most", len(s), names.MaxNQN)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("NQN %q has blanks or control characters", s)
	case !names.IsNQN(s):
		return fmt.Errorf("%q is no NQN; they look like nqn.2026-11.net.example:name, of letters, digits and . _ : + = @ ~ -", s)
	}
	if id, ok := strings.CutPrefix(s, names.UUID); ok {
		// A name may follow the UUID, as in …:uuid:UUID:probe.
		id, _, _ = strings.Cut(id, ":")
		if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
			return fmt.Errorf("%q: %q is no UUID", s, id)
		}
	}
	return nil
}

func printable(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return true
}
