package plan

import (
	"context"
	"fmt"

	"weft/internal/hint"
)

// identified is what no two devices have in common, for people; "": that is not known.
// Machines that were made of one image may have one machine id: when they started, and who
// made them, tells them apart.
func (i *Identity) identified() string {
	switch {
	case i.MachineID != "" && i.BootID+i.Serial != "":
		return "machine id " + i.MachineID
	case i.MachineID == "" && i.Serial != "":
		return "serial " + i.Serial
	}
	return ""
}

// refuseTwins refuses devices that are one: two names lead to it, and what is declared of one
// would be pruned as what the other has left.
func (s *survey) refuseTwins(ctx context.Context, in *Input, devices []*surveyed) {
	first := map[[3]string]*surveyed{}
	var twins []*surveyed
	for _, d := range devices {
		key := [3]string{d.identity.identified(), d.identity.BootID, d.identity.Serial}
		if d.err != nil || key[0] == "" {
			continue
		}
		other := first[key]
		if other == nil {
			first[key] = d
			continue
		}
		if other.err == nil {
			other.err = same(other, d, key[0])
			twins = append(twins, other)
		}
		d.err = same(d, other, key[0])
		twins = append(twins, d)
	}
	for _, d := range twins {
		d.found = nil // nothing that was compared counts
		d.report(ctx, in, d.address+" is not planned")
	}
}

func same(d, other *surveyed, key string) error {
	err := fmt.Errorf("it is the same device as %s, which has %s, too", other.address, key)
	return hint.Wrap(err, "each of them has a host of its own: see the files, the name service and ~/.ssh/config")
}
