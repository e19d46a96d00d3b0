package switches

import (
	"fmt"
	"slices"
	"strings"
)

// nxosStrict says what becomes of queues that no class claims so that strict ones
// are what they are meant to be, and where classes stand in the way of that.
func nxosStrict(c Reading, want Intent) (out []string) {
	lowest := lowestStrict(want.Classes)
	var fill []string
	for q := lowest + 1; q < priorities; q++ {
		i := slices.IndexFunc(want.Classes, func(k Class) bool { return k.Priority == q })
		b, _ := findBlock(c.read.global, nxosQueuing+want.Name+roleOut, "class type queuing "+nxosQueue(q))
		switch {
		case i >= 0 && !want.Classes[i].Strict:
			out = append(out, fmt.Sprintf("class %s: its queue %d shares by weight above queue %d, which is strict: Cisco wants strict queues to be the highest, next to each other", want.Classes[i].Name, q, lowest))
		case i < 0 && !slices.ContainsFunc(b.lines, func(l string) bool { return strings.HasPrefix(l, nxosLevel) }):
			fill = append(fill, fmt.Sprint(q))
		}
	}
	if len(fill) > 0 {
		out = append(out, fmt.Sprintf("queue %s, which no class has, becomes strict: Cisco wants strict queues to be the highest, next to each other, and queue %d is one", strings.Join(fill, ", "), lowest))
	}
	return out
}

// nxosDivides reports whether what leads to want touches the network-qos policy,
// of which there is one for all ports.
func nxosDivides(c Reading, want Intent) bool {
	system, _ := findBlock(c.read.global, nxosSystem)
	attached := ""
	for _, line := range system.lines {
		if policy, ok := strings.CutPrefix(line, nxosAttachNQ); ok {
			attached = policy
		}
	}
	if len(want.Classes) == 0 {
		return attached != "" && want.mine(attached)
	}
	return attached != want.Name+roleNQ || !slices.Equal(lossless(c.Classes), lossless(want.Classes))
}
