//go:build unix

package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"weft/internal/lab/simserver"
	"weft/internal/lab/simwindows"
	"weft/inventory"
)

type windowsSpec struct {
	addr, user string
	spec       simwindows.Spec
}

// newWindows derives a Windows host. Its NICs hang on the switches as those of servers do.
func newWindows(m *inventory.Model, s *inventory.Server, cards map[*inventory.RNIC]simserver.Interface) windowsSpec {
	spec := windowsSpec{addr: s.Addr, spec: simwindows.Spec{Name: s.Host, MachineID: s.MachineID}}
	if s.Credential != nil {
		spec.user = s.Credential.User
	}
	for i, r := range s.RNICs {
		card := newCard(m, s, r, i)
		cards[r] = card
		rdma := r.Fabric == nil || r.Fabric.Transport != "tcp"
		spec.spec.NICs = append(spec.spec.NICs, simwindows.NIC{PCI: card.PCI, MAC: card.MAC, Speed: card.Speed, RDMA: rdma})
	}
	for _, other := range m.Servers {
		for _, r := range other.RNICs {
			if s.SMB != nil && other.SMB != nil && other != s && r.Address.IsValid() {
				spec.spec.Peers = append(spec.spec.Peers, r.Address.Addr().String())
			}
		}
	}
	return spec
}

// buildWindows starts the Windows hosts of the twin.
func (l *Lab) buildWindows(ctx, running context.Context, specs []windowsSpec) error {
	for _, s := range specs {
		s.spec.Probe = l.runProbe(s.spec)
		h, err := simwindows.New(s.spec)
		if err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
		d := &device{name: s.spec.Name, addr: s.addr, kind: "server", user: s.user, win: h}
		l.devices = append(l.devices, d)
		if err := errors.Join(ctx.Err(), l.serve(ctx, running, d)); err != nil {
			return err
		}
	}
	return nil
}

// runProbe runs weft-initiator for a Windows host: SIMULATED, as the program that runs is the
// one of the same weft for the machine of the lab. Any other program is refused.
func (l *Lab) runProbe(spec simwindows.Spec) func(context.Context, []byte, []string, []byte) ([]byte, []byte, int, error) {
	dir, bad := filepath.Abs(l.place.Root(spec.Name))
	name := filepath.Join(dir, "weft-initiator")
	install := sync.OnceValue(func() error {
		err := bad
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(name, l.standIn.Exe, 0o700)
	})
	of := simserver.Stranger{Name: spec.Name, Dir: dir, Exe: name}
	return func(ctx context.Context, exe []byte, args []string, input []byte) (stdout, stderr []byte, code int, err error) {
		switch {
		case l.standIn == nil:
			err = errors.New("this lab has no agents to stand in for those of Windows")
		case l.standIn.Missing != "":
			err = errors.New(l.standIn.Missing)
		case l.standIn.For != fmt.Sprintf("%x", sha256.Sum256(exe)):
			err = errors.New("this SIMULATED host runs no program but weft-initiator of the weft that started the lab")
		default:
			err = install()
		}
		if err != nil {
			return nil, nil, 0, err
		}
		asking := of
		asking.Holds = func(a netip.Addr) (string, bool) { return l.windowsNIC(spec.Name, a) }
		return l.network.Probe(ctx, asking, args, input)
	}
}

// windowsNIC is where the NIC of a Windows host is that has an address.
func (l *Lab) windowsNIC(name string, a netip.Addr) (pci string, ok bool) {
	d, err := l.find(name)
	if err != nil || d.win == nil {
		return "", false
	}
	return d.win.Holds(a.String())
}

func (d *device) windowsFault(name string) error {
	switch name {
	case "reboot":
		d.listener.setRefuse(true)
		d.listener.drop()
		d.win.Reboot()
		d.listener.setRefuse(false)
		return nil
	case "timers":
		d.win.Fire()
		return nil
	}
	return d.win.Fault(name)
}
