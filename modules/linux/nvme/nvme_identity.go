package nvme

import (
	"fmt"
	"strings"

	"weft/internal/hint"
)

// efault is what the kernel shows as the subsystem of a controller that has not been
// connected yet: drivers/nvme/host/sysfs.c, nvme_subsys_show_str_function.
const efault = "(efault)"

// otherIdentity refuses a connection that the kernel would not make: it takes one host id
// for a host NQN and one host NQN for a host id, over all connections of the server
// (drivers/nvme/host/fabrics.c, nvmf_host_add).
func (n *NVMeConnection) otherIdentity(all []*controller) error {
	for _, c := range all {
		nqn, id := c.values["hostnqn"], c.values["hostid"]
		sameNQN, sameID := nqn == n.HostNQN, strings.EqualFold(id, n.HostID)
		switch {
		case id == "" || nqn == "" || sameNQN == sameID:
		case sameNQN:
			return hint.Wrap(fmt.Errorf("%s (%s at %s) has the host NQN %s with the host id %s, and weft would connect by that NQN with the host id %s: the kernel takes one host id for a host NQN",
				c.name, c.values["subsysnqn"], c.values["address"], nqn, id, n.HostID),
				"write hostid = %q in the initiator, or disconnect it once nothing uses its disks: nvme disconnect -d %s", strings.ToLower(id), c.name)
		default:
			return hint.Wrap(fmt.Errorf("%s (%s at %s) has the host id %s with the host NQN %s, and weft would connect by that id with the host NQN %s: the kernel takes one host NQN for a host id",
				c.name, c.values["subsysnqn"], c.values["address"], id, nqn, n.HostNQN),
				"give the initiator a hostid of its own (without one it follows from hostnqn), so that it connects before the other one ends; or disconnect that once nothing uses its disks: nvme disconnect -d %s", c.name)
		}
	}
	return nil
}
