package lab

import (
	"context"
	"errors"

	"weft/internal/hint"
	"weft/internal/lab/guest"
	"weft/internal/lab/simserver"
	"weft/inventory"
)

// boot starts a guest for every Linux server of a model.
func (l *Lab) boot(ctx context.Context, m *inventory.Model, t *twin) error {
	specs, err := guestSpecs(m, t)
	if err != nil {
		return err
	}
	if len(specs) == 0 {
		return hint.Wrap(errors.New("there is no Linux server that could be a guest"), "start the lab without --real")
	}
	image, err := guest.Build(ctx, l.log.w)
	if err != nil {
		return err
	}
	running, err := guest.Start(ctx, specs, guest.Options{Image: image, Key: l.key, Logs: l.place.File("log"), Log: l.log.w, Passed: func(p guest.Passage) {
		t.frame(simserver.End{Server: p.From.Guest, PCI: p.From.PCI}, simserver.End{Server: p.To.Guest, PCI: p.To.PCI}, p.DSCP, p.Bytes)
	}})
	if err != nil {
		return err
	}
	l.guests = running
	for n, g := range running.Guests() {
		l.devices = append(l.devices, &device{name: g.Name(), addr: t.servers[n].addr, login: t.servers[n].login, kind: "guest", hostKey: g.HostKey(), guest: g})
	}
	return nil
}

// missingForGuests is why guests with real kernels cannot run on this machine; nil: they can.
func missingForGuests() error { return guest.Missing() }
