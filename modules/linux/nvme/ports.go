package nvme

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/see"
)

// ReadPorts reads the ports of the kernel's target. It changes nothing.
func ReadPorts(ctx context.Context, h remote.Host) ([]host.TargetPort, error) {
	seen, err := remote.Read(ctx, h, []remote.Look{nvmetLook(), listenersLook()})
	if err != nil {
		return nil, err
	}
	return parsePorts(seen)
}

func parsePorts(seen remote.Seen) ([]host.TargetPort, error) {
	tree, err := parseNVMeT(seen)
	if err != nil {
		return nil, err
	}
	var at []string
	text, unread := see.Output(seen, listenersLook())
	if unread == nil {
		at = see.CMListeners(string(text))
	}
	var list []host.TargetPort
	for _, name := range tree.in("ports") {
		dir := "ports/" + name
		p := host.TargetPort{Transport: tree[dir+"/addr_trtype"], Address: portAddress(tree, dir), NQNs: tree.in(dir + "/subsystems")}
		if p.Transport == "rdma" && p.Address.IsValid() && len(p.NQNs) > 0 {
			switch {
			case unread != nil:
				p.Unknown = fmt.Errorf("rdma resource show cm_id: %w", unread)
			case !listening(at, p.Address):
				p.Closed = "the kernel's target exports subsystems there, but does not listen: rdma resource show cm_id"
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// listenersLook lists the listeners of the RDMA connection manager: the kernel's target loses
// one with the address or the device of a port, and keeps the port.
func listenersLook() remote.Look {
	return remote.Look{Args: []string{"rdma", "resource", "show", "cm_id"}, Root: true}
}

// listening reports whether one of the listeners serves an address.
func listening(listeners []string, at netip.AddrPort) bool {
	return slices.ContainsFunc(listeners, func(text string) bool {
		l, err := netip.ParseAddrPort(text)
		return err == nil && l.Port() == at.Port() && (l.Addr() == at.Addr() || l.Addr().IsUnspecified())
	})
}
