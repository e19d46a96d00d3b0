package nvme

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"weft/internal/remote"
	"weft/inventory"
)

// Paths are what a server's kernel has of the connections of an initiator.
type Paths struct {
	Live    map[string]int // live paths, by the NQN of each subsystem it connects to
	Devices []string       // block devices that they lead to: nvme0n1
}

// ReadPaths asks a server what its kernel has connected for an initiator. It
// changes nothing.
func ReadPaths(ctx context.Context, h remote.Host, i *inventory.Initiator) (*Paths, error) {
	if i.Engine != "kernel" {
		return nil, fmt.Errorf("with engine = %q its kernel connects to nothing", i.Engine)
	}
	all, err := readNVMe(ctx, h)
	if err != nil {
		return nil, err
	}
	p := &Paths{Live: map[string]int{}}
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

// Fewest is how many live paths lead to the subsystem that has fewest.
func (p *Paths) Fewest() int {
	fewest := -1
	for _, n := range p.Live {
		if fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return max(fewest, 0)
}

// A LivePath is a connection of a kernel over which I/O goes.
type LivePath struct {
	HostNQN, NQN string
	Address      netip.AddrPort // of the portal
}

// ReadLivePaths asks a server which connections of its kernel are live, whoever
// made them. It changes nothing.
func ReadLivePaths(ctx context.Context, h remote.Host) ([]LivePath, error) {
	all, err := readNVMe(ctx, h)
	if err != nil {
		return nil, err
	}
	var live []LivePath
	for _, c := range all {
		if c.values["state"] == "live" {
			live = append(live, LivePath{c.values["hostnqn"], c.values["subsysnqn"], c.address})
		}
	}
	return live, nil
}
