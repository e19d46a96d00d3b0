package nvme

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"weft/internal/hint"
	"weft/internal/nvme/names"
)

// efault is what the kernel shows as the subsystem of a controller that has not been
// connected yet: drivers/nvme/host/sysfs.c, nvme_subsys_show_str_function.
const efault = "(efault)"

// HostID is the identifier that goes with a host NQN where the files write none: kernels want
// one for each.
func HostID(nqn string) string {
	if rest, ok := strings.CutPrefix(nqn, names.UUID); ok {
		if id, err := uuid.Parse(rest); err == nil && id.String() == rest {
			return rest
		}
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(nqn)).String()
}

// rivals are the connections that keep the kernel from making this one: it takes one host id
// for a host NQN and one host NQN for a host id, over all connections of the server
// (drivers/nvme/host/fabrics.c, nvmf_host_add).
func (n *NVMeConnection) rivals(all []*controller) (list []*controller) {
	for _, c := range all {
		nqn, id := c.values["hostnqn"], c.values["hostid"]
		if id != "" && nqn != "" && (nqn == n.HostNQN) != strings.EqualFold(id, n.HostID) {
			list = append(list, c)
		}
	}
	return list
}

// beside refuses a connection that its rivals do not let come, unless the files accept that
// they end first.
func (n *NVMeConnection) beside(have *NVMeConnection) error {
	if have != nil || len(n.conflicts) == 0 || n.DisconnectFirst {
		return nil
	}
	return n.refuseBeside(n.conflicts[0])
}

// refuseBeside refuses a connection beside another one, with both identities and the way out.
func (n *NVMeConnection) refuseBeside(c *controller) error {
	nqn, id := c.values["hostnqn"], c.values["hostid"]
	first := "reconnect = \"disconnect-first\" in the connect block accepts the outage: all connections by the old identity end before the first by the new one is made"
	if n.DisconnectFirst {
		first = "reconnect = \"disconnect-first\" ends only connections that weft has made and the files declare no more: disconnect this one once nothing uses its disks: nvme disconnect -d " + c.name
	}
	if nqn == n.HostNQN {
		return hint.Wrap(fmt.Errorf("%s (%s at %s) has the host NQN %s with the host id %s, and weft would connect by that NQN with the host id %s: the kernel takes one host id for a host NQN",
			c.name, c.values["subsysnqn"], c.values["address"], nqn, id, n.HostID),
			"write hostid = %q in the initiator, or a hostnqn of its own with this hostid, which connects before the other one ends; %s", strings.ToLower(id), first)
	}
	return hint.Wrap(fmt.Errorf("%s (%s at %s) has the host id %s with the host NQN %s, and weft would connect by that id with the host NQN %s: the kernel takes one host NQN for a host id",
		c.name, c.values["subsysnqn"], c.values["address"], id, nqn, n.HostNQN),
		"give the initiator a hostid of its own (without one it follows from hostnqn), so that it connects before the other one ends; %s", first)
}

// follows names the subsystems to which connections have to end before this one comes.
func (n *NVMeConnection) follows() (list []string) {
	for _, c := range n.conflicts {
		if nqn := c.values["subsysnqn"]; !slices.Contains(list, nqn) {
			list = append(list, nqn)
		}
	}
	return list
}
