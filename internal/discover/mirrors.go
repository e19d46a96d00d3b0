package discover

import (
	"slices"
	"strings"

	"weft/modules/linux/storage"
)

// A half is one of the two places in which a mirrored volume is kept.
type half struct {
	server *node
	path   string // of its device
}

// A pair is what one half is kept the same as, and by which array of md a host does so;
// "": the server itself does.
type pair struct {
	other half
	array string // its UUID
}

// pairs are the halves that somebody keeps the same, by either of them: a host does so
// over two servers, weft-target over two pools of its own.
func (d *draft) pairs(exports []*export) map[half]pair {
	out := map[half]pair{}
	at := map[string]half{} // by the UUIDs of namespaces, as hosts see them
	for _, x := range exports {
		for _, ns := range x.spaces {
			one := half{x.server, ns.path}
			at["nvme-uuid."+strings.ToLower(ns.uuid)] = one
			if ns.twin != "" {
				two := half{x.server, ns.twin}
				out[one], out[two] = pair{two, ""}, pair{one, ""}
			}
		}
	}
	for _, n := range d.ordered() {
		arrays, _ := decoded[storage.Mirror](d, n, "mirror")
		for _, m := range arrays {
			if len(m.Halves) != 2 {
				continue
			}
			one, ok := at[m.Halves[0].Disk]
			two, also := at[m.Halves[1].Disk]
			if !ok || !also {
				d.site.found(Error, n.Host, "discover the servers that have its halves, too", "it mirrors %s and %s, and not both were read: the volume is not written", m.Halves[0].What, m.Halves[1].What)
				continue
			}
			out[one], out[two] = pair{two, m.UUID}, pair{one, m.UUID}
		}
	}
	return out
}

// mirrorFastFail is fast_io_fail_tmo of connections to half of a mirror, where files say
// nothing.
const mirrorFastFail = 5

// quicker are paths without the time that those to halves of mirrors have by themselves.
func quicker(paths []path, exports []*export, pairs map[half]pair) []path {
	halves := map[string]bool{} // by the NQNs of their subsystems
	for _, x := range exports {
		for _, ns := range x.spaces {
			halves[x.nqn] = halves[x.nqn] || pairs[half{x.server, ns.path}].array != ""
		}
	}
	out := slices.Clone(paths)
	for i, p := range out {
		if halves[p.NQN] && p.FastFail == mirrorFastFail {
			out[i].FastFail = 0
		}
	}
	return out
}

// A cut is a volume as the ledger of its server has it.
type cut struct {
	half
	name string // without that of its pool
	pool pool
	size int64
	lone bool // it is half of a mirror over two servers
}

const secondHalf = "-mirror" // what the names of second halves end with

// volume writes a volume whose first half it is; false: it cannot be written.
func (d *draft) volume(c *cut, pairs map[half]pair, cuts map[half]*cut) (one instance, twin *cut, ok bool) {
	a := c.pool.origin.under("volume", c.name)
	p, mirrored := pairs[c.half]
	if mirrored {
		if twin = cuts[p.other]; twin == nil || !strings.HasSuffix(twin.name, secondHalf) {
			return one, nil, false
		}
		if p.array != "" { // the array follows from what the volume is called
			if plain := (address{kind: "volume", label: c.name}); usualArray(d.owner, a.String()) != p.array {
				a = plain
			}
			if usualArray(d.owner, a.String()) != p.array {
				return one, nil, false
			}
		}
	} else if c.lone {
		return one, nil, false
	}
	one = newInstance(a)
	one.set("pool", to(c.pool.address, ""))
	one.set("size", str(size(c.size)))
	if twin != nil {
		one.set("mirror", append(append(raw("["), to(twin.pool.address, "")...), raw("]")...))
	}
	return one, twin, true
}
