//go:build unix

package lab

import (
	"context"
	"errors"
	"fmt"

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
