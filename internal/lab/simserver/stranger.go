//go:build unix

package simserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"

	"github.com/pelletier/go-toml/v2"
)

// A Stranger is a host of another simulator that weft-initiator is run on: what stands for
// its program is the same one for the machine that the lab runs on.
type Stranger struct {
	Dir, Exe string                                 // where it runs, and what
	Holds    func(netip.Addr) (pci string, ok bool) // its NIC of an address, if that is up
	Name     string                                 // of the host
}

// Probe runs weft-initiator for a stranger to its end. It reads from portals of this
// network, and what it has moved is counted on its way. Nothing else is done for it.
func (n *Network) Probe(ctx context.Context, of Stranger, args []string, input []byte) (stdout, stderr []byte, code int, err error) {
	q, err := readAsked(args, bytes.NewReader(input))
	if err != nil {
		return nil, nil, 0, err
	}
	if q.listen != "" || q.probe || len(q.to) > 1 {
		return nil, nil, 0, errors.New("weft-initiator only reads there, over one way")
	}
	if own := host(q.from); q.from != "" {
		if _, ok := of.Holds(own); !ok {
			return nil, nil, 0, fmt.Errorf("bind: the requested address %s is not valid in its context", own)
		}
	}
	all := []string{"--root", "."}
	for _, m := range n.portals(ctx) {
		all = append(all, "--map", m)
	}
	cmd := exec.Command(of.Exe, append(all, args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = of.Dir, []string{"HOME=/"}, ownGroup()
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &said
	code, err = n.run(ctx, cmd)
	if r, ok := readHaul(out.Bytes()); ok && err == nil {
		n.strange(of, q.tos>>2, r)
	}
	return out.Bytes(), said.Bytes(), code, err
}

// strange counts what a stranger has read: what comes back is marked by the target.
func (n *Network) strange(of Stranger, dscp int, r haul) {
	pci, ok := of.Holds(host(r.Local))
	other, to := n.holder(host(r.Remote))
	if !ok || other == nil {
		return
	}
	t := r.packets()
	t.From, t.To, t.DSCP = End{of.Name, pci}, End{other.spec.Name, to.PCI}, dscp
	t.Reply, _ = other.answersWith(r.Remote)
	other.count(to, t.DSCP, t.Commands, t.There, 0, 0)
	other.count(to, t.Reply, 0, 0, t.Data, t.Back)
	if n.Moved != nil {
		n.Moved(t)
	}
}

// answersWith is the DSCP that weft-target of a server marks with what it sends from a
// portal of TCP; false: it has no such portal.
func (s *Server) answersWith(portal string) (dscp int, ok bool) {
	var conf struct {
		ToS    int `toml:"tos"`
		Portal []struct {
			Transport, Address string
			ToS                int `toml:"tos"`
		} `toml:"portal"`
	}
	text, err := s.rootView().ReadFile("/etc/weft/target.toml")
	if err != nil || toml.Unmarshal(text, &conf) != nil {
		return 0, false
	}
	for _, p := range conf.Portal {
		if p.Address == portal && p.Transport == "tcp" {
			if p.ToS == 0 {
				p.ToS = conf.ToS
			}
			return p.ToS >> 2, true
		}
	}
	return 0, false
}
