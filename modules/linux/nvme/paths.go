package nvme

import (
	"context"
	"fmt"
	"slices"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
)

// ReadPaths asks a server what its kernel has connected for an initiator. It
// changes nothing.
func ReadPaths(ctx context.Context, h remote.Host, i *inventory.Initiator) (*host.Paths, error) {
	if i.Engine != "kernel" {
		return nil, fmt.Errorf("with engine = %q its kernel connects to nothing", i.Engine)
	}
	all, err := readNVMe(ctx, h)
	if err != nil {
		return nil, err
	}
	p := &host.Paths{Live: map[string]int{}}
	for _, c := range i.Connects {
		for _, t := range c.To {
			for _, sub := range t.Subsystems {
				p.Live[sub.NQN] = 0
			}
		}
	}
	for _, c := range all {
		nqn := c.values["subsysnqn"]
		if _, ours := p.Live[nqn]; !ours || c.values["hostnqn"] != i.HostNQN {
			continue
		}
		if c.values["state"] == "live" {
			p.Live[nqn]++
		}
		p.Devices = append(p.Devices, c.disks...)
	}
	slices.Sort(p.Devices)
	p.Devices = slices.Compact(p.Devices)
	return p, nil
}

// readNVMe asks a server for its kernel's connections.
func readNVMe(ctx context.Context, h remote.Host) ([]*controller, error) {
	seen, err := remote.Read(ctx, h, []remote.Look{nvmeLook()})
	if err != nil {
		return nil, err
	}
	return parseNVMe(seen)
}

// ReadLivePaths asks a server which connections of its kernel are live, whoever
// made them. It changes nothing.
func ReadLivePaths(ctx context.Context, h remote.Host) ([]host.LivePath, error) {
	all, err := readNVMe(ctx, h)
	if err != nil {
		return nil, err
	}
	var live []host.LivePath
	for _, c := range all {
		if c.values["state"] == "live" {
			live = append(live, host.LivePath{HostNQN: c.values["hostnqn"], NQN: c.values["subsysnqn"], Address: c.address})
		}
	}
	return live, nil
}
