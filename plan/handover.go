package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Holder is a Resource that holds what only one resource of its device can hold at a
// time, such as an address that is listened on.
type Holder interface {
	Resource
	// Holds names it: what is held as observed, and what once it is as wanted.
	Holds(have State) (now, then []string)
}

// A handover is what goes from one item to another.
type handover struct {
	from, to int // positions of items
	what     []string
}

// handOver has whoever takes something that another one holds come after that one, and
// whatever only rested on that one not before it. Nobody has it in between: the devices
// take turns with it, and the reader of the plan is told. It returns, by who lets go, what
// comes after it for that.
func (s *survey) handOver(in *Input, found map[ID]*finding) following {
	after := following{}
	list := s.handovers(found)
	if len(list) == 0 {
		return after
	}
	takers := make(map[ID]bool, len(list))
	for _, h := range list {
		from, to := &s.items[h.from], &s.items[h.to]
		to.Needs = append(slices.Clip(to.Needs), from.ID)
		takers[to.ID] = true
		found[from.ID].diff.Alone = true
		s.tell(from.ID.Device, fmt.Sprintf("%s goes from %s.%s to %s.%s, which cannot have it at the same time: impact traffic, hosts that use it wait from the end of the one to the start of the other",
			strings.Join(h.what, ", "), from.ID.Kind, from.ID.Name, to.ID.Kind, to.ID.Name))
	}
	if in.Reverse != nil {
		s.restAgain(in, takers)
	}
	for _, h := range list {
		after.begin(s.items[h.from].ID)[s.items[h.to].ID] = true
	}
	after.spread(s.items)
	return after
}

// A following is what comes only after something has ended, by what ends.
type following map[ID]map[ID]bool

func (f following) begin(ended ID) map[ID]bool {
	if f[ended] == nil {
		f[ended] = map[ID]bool{}
	}
	return f[ended]
}

// spread adds what needs the ones that come after.
func (f following) spread(items []Item) {
	users := make(map[ID][]ID, len(items))
	for _, item := range items {
		for _, need := range item.Needs {
			users[need] = append(users[need], item.ID)
		}
	}
	for _, after := range f {
		for walk := slices.Collect(maps.Keys(after)); len(walk) > 0; {
			id := walk[len(walk)-1]
			walk = walk[:len(walk)-1]
			for _, user := range users[id] {
				if !after[user] {
					after[user] = true
					walk = append(walk, user)
				}
			}
		}
	}
}

// handovers finds what goes from one item that changes to another.
func (s *survey) handovers(found map[ID]*finding) (list []handover) {
	type thing struct{ device, name string }
	holds := map[thing]int{} // who lets go of it
	takes := make([][]string, len(s.items))
	for i, item := range s.items {
		holder, ok := item.Resource.(Holder)
		f := found[item.ID]
		if !ok || f == nil || f.diff.Err != nil {
			continue
		}
		now, then := holder.Holds(f.have)
		for _, name := range now {
			if !slices.Contains(then, name) {
				holds[thing{item.ID.Device, name}] = i
			}
		}
		takes[i] = slices.DeleteFunc(then, func(name string) bool { return slices.Contains(now, name) })
	}
	for i, names := range takes {
		of := map[int]int{}
		for _, name := range names {
			from, ok := holds[thing{s.items[i].ID.Device, name}]
			if !ok {
				continue
			}
			at, ok := of[from]
			if !ok {
				at, of[from] = len(list), len(list)
				list = append(list, handover{from: from, to: i})
			}
			list[at].what = append(list[at].what, name)
		}
	}
	return list
}

// restAgain has what a run changed rest, when the run is reverted, on the takers that it
// rested on before.
func (s *survey) restAgain(in *Input, takers map[ID]bool) {
	at := make(map[ID]int, len(s.items))
	for i, item := range s.items {
		at[item.ID] = i
	}
	for _, d := range s.devices {
		if d.err != nil {
			continue
		}
		for _, e := range d.device.Kept().Entries {
			i, ok := at[ID{d.address, e.Kind, e.Name}]
			if !ok || e.Prior == nil || e.Run != in.Reverse.Run {
				continue
			}
			for _, need := range e.Prior.Needs {
				if need.Device = in.Moved.Now(need.Device); takers[need] {
					s.items[i].Needs = append(slices.Clip(s.items[i].Needs), need)
				}
			}
		}
	}
}

// tell warns the reader of the plan of something about a device.
func (s *survey) tell(device, text string) {
	for _, d := range s.devices {
		if d.address == device {
			d.identity.Warnings = append(slices.Clip(d.identity.Warnings), text)
		}
	}
}
