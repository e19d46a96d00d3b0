package esxi

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
)

// readNamespaces are the namespaces that a controller shows, with ANA states as far as the
// host's paths tell: of all paths to the device, as esxcli does not say which is the
// controller's. nil: they could not be read.
func readNamespaces(s remote.Seen, c controller) []host.Namespace {
	var err error
	_, devices := readBlocks(s, []controller{c}, &err)
	if err != nil {
		return nil
	}
	states := map[string][]string{}
	var unknown error // a release, or a host with another plugin, that lists no paths of HPP
	for _, r := range table(s, pathsLook(), &unknown) {
		states[r.text("Device")] = append(states[r.text("Device")], r.text("PathState"))
	}
	list := []host.Namespace{}
	for _, d := range devices {
		n := host.Namespace{Disk: d}
		if unknown == nil && len(states[d]) > 0 && !slices.ContainsFunc(states[d], isActive) {
			n.State = strings.Join(states[d], ", ")
		}
		list = append(list, n)
	}
	return list
}

func isActive(state string) bool { return strings.HasPrefix(state, "active") }

// idle says why a controller that is online gives no storage to the host with that NQN; "":
// it does, or the host does not say.
func idle(s remote.Seen, c controller, nqn string) string {
	list := readNamespaces(s, c)
	to := fmt.Sprintf("%s to %s at %s", c.nqn, nqn, c.address)
	switch {
	case !c.online || list == nil || slices.ContainsFunc(list, func(n host.Namespace) bool { return n.State == "" }):
		return ""
	case len(list) == 0:
		return fmt.Sprintf("controller %s is online, and no device came of it: the target maps no namespace of %s, or every path to it is inaccessible (ANA). "+
			"Map one to that host NQN on the target; esxcli nvme namespace list", c.number, to)
	}
	var states []string
	for _, n := range list {
		states = append(states, n.Disk+" is "+n.State)
	}
	return fmt.Sprintf("controller %s is online, and no path takes I/O, of %s: %s. Look at the target: which of its ports serves the namespace; esxcli storage hpp path list",
		c.number, to, strings.Join(states, "; "))
}
