package run

import (
	"context"

	"weft/internal/prove"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules"
	"weft/modules/linux/nvme"
	"weft/plan"
	"weft/switches"
)

// Measure runs validations; without names all of them. It fills in how the devices
// of the site are asked.
func (s *Site) Measure(ctx context.Context, in prove.Input) (*prove.Result, error) {
	hosts := s.Logins()
	defer hosts.End()
	in.Model, in.Emit, in.Host, in.Attached, in.Switch = s.Model, s.Input.Emit, hosts.Host, Attached, s.counted
	if s.access.Hollow != nil {
		in.Hollow = s.access.Hollow()
	}
	in.Volume = func(v *inventory.Volume, on *inventory.Server) string { return modules.VolumePath(s.Model.Name, v, on) }
	return prove.Run(ctx, in)
}

// counted asks a switch what it has counted on ports.
func (s *Site) counted(ctx context.Context, sw *inventory.Switch, ports []string) (*switches.Counted, error) {
	d, err := plan.As[modules.Counter](s.Input.Devices, sw.Addr, "has no ports that count")
	if err != nil {
		return nil, err
	}
	return d.Counters(ctx, ports)
}

// Attached asks a server what its kernel has of an initiator.
func Attached(ctx context.Context, h remote.Host, i *inventory.Initiator) (*prove.Attached, error) {
	p, err := nvme.ReadPaths(ctx, h, i)
	if err != nil {
		return nil, err
	}
	return &prove.Attached{LivePaths: p.Fewest(), Devices: p.Devices}, nil
}
