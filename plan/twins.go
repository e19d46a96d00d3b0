package plan

import (
	"context"
	"fmt"
	"slices"
	"sync"

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

// sameMachine reports whether two identities are of one device. Where only the machine id is
// known, machines of one image are taken for one.
func (i *Identity) sameMachine(o Identity) bool {
	if i.MachineID == "" && o.MachineID == "" {
		return i.Serial != "" && i.Serial == o.Serial
	}
	return i.MachineID != "" && i.MachineID == o.MachineID
}

// refuseTwins refuses devices that are one: two names lead to it, and what is declared of one
// would be pruned as what the other has left. Of a plan for some devices only, those others
// are asked who they are that declare what would be pruned.
func (s *survey) refuseTwins(ctx context.Context, in *Input, beat *pulse) error {
	others := s.suspects(in)
	slots := make(chan struct{}, in.Parallelism)
	var asked sync.WaitGroup
	for _, d := range others {
		slots <- struct{}{}
		asked.Go(func() {
			defer beat.begin(d.address, "connecting")()
			d.identity, d.err = d.device.Open(ctx)
			<-slots
		})
	}
	asked.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while reading devices: %w", context.Cause(ctx))
	}
	s.refuseOf(ctx, in, slices.Concat(s.devices, others))
	return nil
}

// suspects are the devices that the plan leaves out and that declare what it would prune of
// another.
func (s *survey) suspects(in *Input) (list []*surveyed) {
	if !in.Select.narrow() || in.Reverse != nil || in.Destroy {
		return nil
	}
	seen, pruned := map[string]bool{}, map[[2]string]bool{}
	for _, d := range s.devices {
		seen[d.address] = true
		for _, item := range d.items {
			if item.prune != nil {
				pruned[[2]string{item.ID.Kind, item.ID.Name}] = true
			}
		}
	}
	for _, item := range in.Items {
		id := item.ID
		if device := in.Devices[id.Device]; device != nil && !seen[id.Device] && pruned[[2]string{id.Kind, id.Name}] {
			seen[id.Device] = true
			list = append(list, &surveyed{address: id.Device, device: device})
		}
	}
	return list
}

func (s *survey) refuseOf(ctx context.Context, in *Input, devices []*surveyed) {
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
	return hint.Wrap(err, "each of them needs its own host: check the files, the name service and ~/.ssh/config")
}
