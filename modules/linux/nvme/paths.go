package nvme

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/modules/linux/storage"
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
	for _, t := range i.Reaches() {
		for _, sub := range t.Subsystems {
			p.Live[sub.NQN] = 0
		}
	}
	for _, c := range all {
		nqn := c.values["subsysnqn"]
		if _, ours := p.Live[nqn]; !ours || c.values["hostnqn"] != i.HostNQN {
			continue
		}
		if why := c.idle(all); c.values["state"] == "live" && why == "" {
			p.Live[nqn]++
		} else if c.values["state"] == "live" {
			p.Idle = append(p.Idle, host.IdlePath{NQN: nqn, Why: why})
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

// ReadLivePaths asks a server over which connections of its kernel I/O goes, whoever
// made them. It changes nothing.
func ReadLivePaths(ctx context.Context, h remote.Host) ([]host.LivePath, error) {
	all, err := readNVMe(ctx, h)
	if err != nil {
		return nil, err
	}
	var live []host.LivePath
	for _, c := range all {
		if c.values["state"] == "live" && !c.discovers() && c.idle(all) == "" {
			live = append(live, host.LivePath{HostNQN: c.values["hostnqn"], NQN: c.values["subsysnqn"], Address: c.address})
		}
	}
	return live, nil
}

// usesScript prints what uses the disk of the namespace whose UUID is $1: a line "user" for
// each thing that is built on it, mounted or swap, and for each partition.
const usesScript = `of_() { echo "disk $n"; ` + storage.DiskUsers + `for p in "/sys/block/$n/$n"p*; do if [ -e "$p/partition" ]; then echo "user /dev/${p##*/} is a partition"; fi; done; }; ` +
	`d=/dev/disk/by-id/nvme-uuid.$1; if [ -e "$d" ]; then n=$(readlink -f "$d"); n=${n##*/}; of_; fi; ` +
	`for b in /sys/block/nvme*n*; do if [ -e "$b/uuid" ]; then read -r v <"$b/uuid"; if [ "$v" = "$1" ]; then n=${b##*/}; of_; fi; fi; done; :`

// ReadUses asks a server what uses the disk of a namespace, whoever has connected it. It
// changes nothing.
func ReadUses(ctx context.Context, h remote.Host, uuid string) ([]string, error) {
	look := remote.Look{Args: []string{"sh", "-c", usesScript, "sh", uuid}, Root: true, Own: true}
	seen, err := remote.Read(ctx, h, []remote.Look{look})
	if err != nil {
		return nil, err
	}
	out, err := see.Output(seen, look)
	if err != nil {
		return nil, fmt.Errorf("ask what uses the namespace %s: %w", uuid, err)
	}
	var uses []string
	for line := range strings.Lines(string(out)) {
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case word == "user" && !slices.Contains(uses, rest):
			uses = append(uses, rest)
		case word != "user" && word != "disk":
			return nil, fmt.Errorf("asked what uses the namespace %s, it said %.100q", uuid, line)
		}
	}
	return uses, nil
}
