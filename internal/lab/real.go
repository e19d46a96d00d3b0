//go:build unix

package lab

import (
	"context"
	"fmt"
	"os/user"
	"strings"

	"golang.org/x/crypto/ssh"

	"weft/internal/lab/guest"
	"weft/internal/lab/simserver"
	"weft/internal/labctl"
	"weft/inventory"
)

// A machine is a guest with a kernel of its own.
type machine interface {
	Address() string
	HostKey() ssh.PublicKey
	Running() bool
	Reboot(ctx context.Context) error
	Reset(ctx context.Context) error
	Kill()
	Cut(plane string, on bool) error
	Traffic() []guest.Traffic
}

// guestSpecs derives guests from a model's Linux servers: the same cards and
// drives as simulated servers have.
func guestSpecs(m *inventory.Model, t *twin) ([]guest.Spec, error) {
	me, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("who logs in: %w", err)
	}
	var specs []guest.Spec
	for _, server := range t.servers {
		from := server.of
		spec := guest.Spec{Name: server.spec.Name, MachineID: strings.ReplaceAll(server.spec.MachineID, "-", "")}
		login := from.Connection
		if login == nil {
			login = m.DefaultConnection()
		}
		if spec.Users = []string{login.User}; login.User == "" {
			spec.Users = []string{me.Username}
		}
		// The first card of a simulated server is for management, which guests
		// have anyway.
		for i, card := range server.spec.Interfaces[1:] {
			spec.NICs = append(spec.NICs, guest.NIC{Plane: planeName(m, from.RNICs[i]), PCI: card.PCI, MAC: card.MAC, DCB: true, RDMA: standIn(card)})
		}
		for _, d := range server.spec.Drives {
			spec.Drives = append(spec.Drives, guest.Drive{ID: d.ID, Size: d.Size})
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// standIn is what does RDMA where the card would have it itself. Nothing does for InfiniBand,
// nor where weft is to make a device that does.
func standIn(card simserver.Interface) string {
	switch {
	case card.NoRDMA:
		return ""
	case card.Fabric == "rocev2":
		return "rxe"
	case card.Fabric == "iwarp":
		return "siw"
	}
	return ""
}

// planeName is what a card is plugged into: the plane of its address, which
// switches between are not needed for; else its cable; else nothing else.
func planeName(m *inventory.Model, r *inventory.RNIC) string {
	if r.Plane != nil {
		return r.Fabric.Name + "." + r.Plane.Name
	}
	for _, l := range m.Links {
		if (l.From.RNIC == r || l.To.RNIC == r) && l.From.RNIC != nil && l.To.RNIC != nil {
			return l.Addr
		}
	}
	return r.Server.Host + " " + r.Name
}

// guestFault makes something break on a guest, or mends it.
func (d *device) guestFault(name, value string) error {
	ctx, cancel := context.WithTimeout(context.Background(), labctl.RequestTimeout)
	defer cancel()
	switch name {
	case "reboot":
		return d.guest.Reboot(ctx)
	case "reset":
		return d.guest.Reset(ctx)
	case "kill":
		d.guest.Kill()
		return nil
	case "cut", "mend":
		return d.guest.Cut(value, name == "cut")
	}
	return fmt.Errorf("fault %s: not one that a guest has", name)
}
