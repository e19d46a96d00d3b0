package nxos

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/traffic"
	"weft/switches"
)

// strict says what becomes of queues that no class claims so that strict ones
// are what they are meant to be, and where classes stand in the way of that.
func strict(c switches.Reading, want switches.Intent) (out []string) {
	lowest := lowestStrict(want.Classes)
	var fill []string
	for q := lowest + 1; q < traffic.Priorities; q++ {
		i := slices.IndexFunc(want.Classes, func(k switches.Class) bool { return k.Priority == q })
		b, _ := switches.FindBlock(c.Text().Global, policyQueuing+want.Name+roleOut, "class type queuing "+queueClass(q))
		switch {
		case i >= 0 && !want.Classes[i].Strict:
			out = append(out, fmt.Sprintf("class %s: its queue %d shares by weight above queue %d, which is strict: Cisco wants strict queues to be the highest, next to each other", want.Classes[i].Name, q, lowest))
		case i < 0 && !slices.ContainsFunc(b.Lines, func(l string) bool { return strings.HasPrefix(l, priorityLevel) }):
			fill = append(fill, fmt.Sprint(q))
		}
	}
	if len(fill) > 0 {
		out = append(out, fmt.Sprintf("queue %s, which no class has, becomes strict: Cisco wants strict queues to be the highest, next to each other, and queue %d is one", strings.Join(fill, ", "), lowest))
	}
	return out
}

// divides reports whether what leads to want touches the network-qos policy,
// of which there is one for all ports.
func divides(c switches.Reading, want switches.Intent) bool {
	system, _ := switches.FindBlock(c.Text().Global, systemQoS)
	attached := ""
	for _, line := range system.Lines {
		if policy, ok := strings.CutPrefix(line, attachNQ); ok {
			attached = policy
		}
	}
	if len(want.Classes) == 0 {
		return attached != "" && c.Text().OS.Mine(want, attached)
	}
	return attached != want.Name+roleNQ || !slices.Equal(switches.Lossless(c.Classes), switches.Lossless(want.Classes))
}
