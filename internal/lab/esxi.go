//go:build unix

package lab

import (
	"context"
	"errors"
	"fmt"

	"weft/internal/lab/simesxi"
	"weft/internal/lab/simserver"
	"weft/inventory"
)

// newESXi derives an ESXi host. Its NICs hang on the switches as those of servers do.
func newESXi(m *inventory.Model, s *inventory.Server, cards map[*inventory.RNIC]simserver.Interface) esxiSpec {
	spec := esxiSpec{addr: s.Addr, spec: simesxi.Spec{Name: s.Host, MachineID: s.MachineID}}
	if s.Credential != nil {
		spec.user = s.Credential.User
	}
	for i, r := range s.RNICs {
		card := newCard(m, s, r, i)
		cards[r] = card
		rdma := r.Fabric == nil || r.Fabric.Transport != "tcp"
		nic := simesxi.NIC{PCI: card.PCI, MAC: card.MAC, Speed: card.Speed, RDMA: rdma}
		if r.Fabric != nil && r.Fabric.Lossless() {
			for _, c := range r.Fabric.Classes {
				if c.PFC {
					nic.Lossless = append(nic.Lossless, c.Priority)
				}
			}
		}
		spec.spec.NICs = append(spec.spec.NICs, nic)
		if r.VMK != nil && r.VMK.Netstack != "" {
			spec.spec.Stacks = append(spec.spec.Stacks, r.VMK.Netstack)
		}
	}
	return spec
}

// buildESXi starts the ESXi hosts of the twin.
func (l *Lab) buildESXi(ctx, running context.Context, specs []esxiSpec) error {
	for _, s := range specs {
		s.spec.Root = l.place.Root(s.spec.Name)
		h, err := simesxi.New(s.spec)
		if err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
		d := &device{name: s.spec.Name, addr: s.addr, kind: "server", user: s.user, esxi: h}
		l.devices = append(l.devices, d)
		if err := errors.Join(ctx.Err(), l.serve(ctx, running, d)); err != nil {
			return err
		}
	}
	return nil
}
