package nvme

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weft/internal/nvme/names"
	"weft/internal/remote"
	"weft/internal/wait"
	"weft/modules/host"
)

// HeadOf is the disk of a path to a namespace: nvme0n1 of nvme0c1n1.
func HeadOf(path string) string {
	c, n := strings.LastIndexByte(path, 'c'), strings.LastIndexByte(path, 'n')
	if c < 0 || n < c {
		return path
	}
	return path[:c] + path[n:]
}

// discovers reports whether a connection leads to a discovery service, which is no storage:
// kernels before 5.15 show only its name.
func (c *controller) discovers() bool {
	return c.values["subsysnqn"] == names.Discovery || c.values["cntrltype"] == "discovery" || c.subsystem == "discovery"
}

// idle says why a live connection gives its host no storage, of all connections of the server;
// "": it does, or what the kernel shows is not enough to say so.
func (c *controller) idle(all []*controller) string {
	read, mapped := false, map[string][]string{} // whether namespaces are shown; their states over all paths of the host
	served, able := false, false
	for _, other := range all {
		if other.values["subsysnqn"] != c.values["subsysnqn"] || other.values["state"] != "live" {
			continue
		}
		read = read || len(other.paths) > 0
		if other.values["hostnqn"] != c.values["hostnqn"] {
			continue
		}
		for disk, state := range other.paths {
			if _, mine := c.paths[disk]; mine {
				served = served || host.Serves(state) && slices.Contains(c.disks, disk)
				able = able || host.Serves(state)
				mapped[disk] = append(mapped[disk], fmt.Sprintf("%s over %s", cmp.Or(state, "in a state that is not shown"), other.name))
			}
		}
	}
	to := fmt.Sprintf("%s to %s at %s", c.values["subsysnqn"], c.values["hostnqn"], c.values["address"])
	switch {
	case served, len(c.disks) > 0 && !read:
		return ""
	case len(mapped) > 0:
		var states []string
		for _, disk := range slices.Sorted(maps.Keys(mapped)) {
			slices.Sort(mapped[disk])
			states = append(states, disk+" is "+strings.Join(mapped[disk], " and "))
		}
		why, next := "every path is inaccessible (ANA)", "Look at the target: which of its ports serves the namespace, and whether that one is connected; nvme list-subsys; cat /sys/class/nvme/*/nvme*c*n*/ana_state"
		if able {
			why, next = "the kernel has no block device for its namespaces", "Look at dmesg: a namespace with the identifiers of another one, or a format that the kernel does not take, has none"
		}
		return fmt.Sprintf("%s is connected, and no disk came of it that takes I/O: %s, of %s: %s. %s", c.name, why, to, strings.Join(states, "; "), next)
	case read || len(c.disks) > 0:
		return fmt.Sprintf("%s is connected, and no disk came of it: the target maps no namespace of %s: another connection of this server has some. Map the namespaces to that host NQN on the target; nvme list-subsys", c.name, to)
	}
	return fmt.Sprintf("%s is connected, and no disk came of it: the target maps no namespace of %s, or every path to it is inaccessible (ANA). "+
		"Map one to that host NQN on the target; nvme list-subsys; cat /sys/class/nvme/*/nvme*c*n*/ana_state", c.name, to)
}

const (
	connectPatience = 20 * time.Second // until a connection is live, and its target has changed over
	storagePatience = 5 * time.Second  // until a live one has its disks
)

// Verify: the path is live, and storage came of it.
func (n *NVMeConnection) Verify(ctx context.Context, h remote.Host) error {
	for begun := time.Now(); ; {
		patience := connectPatience
		seen, err := remote.Read(ctx, h, n.Looks())
		if err != nil {
			return err
		}
		have, err := n.Parse(seen)
		switch {
		case err == nil && have == nil:
			err = fmt.Errorf("the kernel has no connection to %s at %s", n.NQN, n.Address)
		case err == nil:
			err = have.proven()
			if have.state == "live" && !have.changing {
				patience = storagePatience
			}
		}
		if err == nil || time.Since(begun) > patience {
			return err
		}
		if !wait.For(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
}

func (n *NVMeConnection) proven() error {
	if text := n.useless(); text != "" {
		return errors.New(text)
	}
	return nil
}
