//go:build unix

package lab

import (
	"cmp"
	"maps"
	"slices"

	"weft/internal/lab/simserver"
	"weft/internal/lab/simswitch"
)

// noLimit is a frame that nothing is known to speak against.
const noLimit = 1 << 16

// way finds how a frame goes from one interface to another, and the smallest
// MTU of the switch ports on the way. An interface without a declared cable
// reaches everybody in its subnet: nothing is known that would speak against.
func (t *twin) way(from, to simserver.End) (mtu int, ok bool) {
	a, cabledA := t.plugs[from]
	b, cabledB := t.plugs[to]
	if !cabledA || !cabledB {
		return noLimit, true
	}
	texts := map[string]string{}
	mtu = noLimit
	hops := t.hops(a, b)
	for _, h := range hops {
		mtu = min(mtu, t.portMTU(texts, plug{h.sw, h.in}), t.portMTU(texts, plug{h.sw, h.out}))
	}
	return mtu, hops != nil
}

// A hop is a switch on a way, and the ports in and out.
type hop struct{ sw, in, out string }

// hops are the switches from one port to another, breadth first over the cables
// between them; nil: no way leads there.
func (t *twin) hops(a, b plug) []hop {
	ways := map[string][]hop{a.sw: {{sw: a.sw, in: a.port}}}
	for queue := []string{a.sw}; len(queue) > 0; queue = queue[1:] {
		way := ways[queue[0]]
		last := len(way) - 1
		if queue[0] == b.sw {
			way[last].out = b.port
			return way
		}
		for _, near := range slices.SortedFunc(maps.Keys(t.cables), byName) {
			far := t.cables[near]
			if _, seen := ways[far.sw]; near.sw != queue[0] || seen {
				continue
			}
			next := append(slices.Clone(way), hop{sw: far.sw, in: far.port})
			next[last].out = near.port
			ways[far.sw] = next
			queue = append(queue, far.sw)
		}
	}
	return nil
}

func byName(a, b plug) int { return cmp.Or(cmp.Compare(a.sw, b.sw), cmp.Compare(a.port, b.port)) }

// forward counts packets of a DSCP from one port of a switch to another.
type forward func(in, out string, dscp int, packets, bytes uint64)

// moved counts what agents have moved on every managed switch on its way, there
// and back.
func (t *twin) moved(m simserver.Transfer) {
	a, cabledA := t.plugs[m.From]
	b, cabledB := t.plugs[m.To]
	if !cabledA || !cabledB {
		return
	}
	for _, h := range t.hops(a, b) {
		if count := t.forward[h.sw]; count != nil {
			count(h.in, h.out, m.DSCP, m.Commands, m.There)
			count(h.out, h.in, m.Reply, m.Data, m.Back)
		}
	}
}

// frame counts one that guests have sent on every managed switch on its way. The
// switches between guests are simulated: what they count is real, but they hold
// nothing up, whatever the MTU of a port.
func (t *twin) frame(from, to simserver.End, dscp, bytes int) {
	a, cabledA := t.plugs[from]
	b, cabledB := t.plugs[to]
	if !cabledA || !cabledB {
		return
	}
	for _, h := range t.hops(a, b) {
		if count := t.forward[h.sw]; count != nil {
			count(h.in, h.out, dscp, 1, uint64(bytes))
		}
	}
}

// portMTU reads the MTU of a port from the switch's running configuration,
// which texts keeps.
func (t *twin) portMTU(texts map[string]string, p plug) int {
	read, managed := t.running[p.sw]
	if !managed {
		return noLimit
	}
	if _, have := texts[p.sw]; !have {
		texts[p.sw] = read()
	}
	return simswitch.MTU(t.os[p.sw], texts[p.sw], p.port)
}
