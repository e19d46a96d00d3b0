package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An offer is a target as files are to have it: the subsystems that a server has at the same
// portals, or that an array elsewhere has.
type offer struct {
	label   string
	bound   bool // connections call it so
	exports []*export
	subs    []string // what they are called
}

// calledBy is how the connections to a subsystem call its target and itself; "": there are none.
func calledBy(x *export, paths []path) (target, subsystem string) {
	for _, p := range paths {
		if p.NQN != x.nqn {
			continue
		}
		name, _, _ := strings.Cut(p.name, "@")
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			target, subsystem = name[:i], name[i+1:]
		}
		if x.server != nil && x.server.origin.keyed {
			target = strings.TrimSuffix(target, "-"+x.server.origin.key)
		}
		break
	}
	return label(target, ""), label(subsystem, "")
}

// offers puts exports together that one target has: no two of them have one portal.
func offers(exports []*export, paths []path) (list []*offer) {
	for _, x := range exports {
		name, sub := calledBy(x, paths)
		i := slices.IndexFunc(list, func(o *offer) bool {
			first := o.exports[0]
			return (x.server != nil || name != "" && name == o.label) && first.server == x.server && first.engine == x.engine && first.asks == x.asks &&
				slices.Equal(first.transports, x.transports) && slices.Equal(first.portals, x.portals) && (name == "" || !o.bound || name == o.label)
		})
		if i < 0 {
			i, list = len(list), append(list, &offer{})
		}
		o := list[i]
		if name != "" {
			o.label, o.bound = name, true
		}
		o.exports, o.subs = append(o.exports, x), append(o.subs, sub)
	}
	for _, o := range list {
		o.label = cmp.Or(o.label, "nvme")
		used := taken{}
		for _, sub := range o.subs {
			used[sub] = true
		}
		for i, sub := range o.subs {
			if sub == "" {
				o.subs[i] = used.dashed("data")
			}
		}
	}
	return list
}

// storage writes pools, volumes, targets and initiators.
func (d *draft) storage() (list []instance) {
	exports, paths := d.exports(), d.paths()
	pairs := d.pairs(exports)
	list, byPath := d.volumes(pairs)
	paths = quicker(append(paths, d.probed(exports, paths)...), exports, pairs)
	exports = append(exports, d.others(exports)...)
	d.cutByOthers()
	exports = append(exports, d.elsewhere(exports, paths)...)
	targets := map[string]spot{} // by NQN
	fresh := d.standingTargets(exports, paths, targets, byPath)
	keyed, used := map[string]bool{}, taken{}
	for _, o := range offers(fresh, paths) {
		x, a := o.exports[0], address{kind: "target"}
		if x.server != nil {
			a = x.server.origin.under("target", "")
		}
		wish := o.label
		if !o.bound && d.stands.labels["target."+wish] != nil {
			wish = d.stands.free("target", wish)
		}
		a.label = wish
		for n := 2; used[a.String()] || used[a.label] && keyed[a.label] != a.keyed; n++ {
			a.label = fmt.Sprintf("%s-%d", wish, n)
		}
		used[a.String()], used[a.label], keyed[a.label] = true, true, a.keyed
		one, hand := d.target(a, o, paths, byPath)
		if hand = hand || d.stands.has(one); hand {
			d.wholly(x.server, one)
		} else {
			list = append(list, one)
		}
		for _, x := range o.exports {
			targets[x.nqn] = spot{a, hand}
		}
	}
	return append(list, d.initiators(paths, targets)...)
}

// standingTargets leaves out what stands in files. What a target there lacks of a subsystem,
// or has as a portal, is told with the lines of it.
func (d *draft) standingTargets(exports []*export, paths []path, targets map[string]spot, volumes map[half]spot) (fresh []*export) {
	for nqn, is := range d.stands.subsystems {
		targets[nqn] = spotOf(&is.target.Block)
	}
	for _, x := range exports {
		is, stands := d.stands.subsystems[x.nqn]
		switch {
		case stands:
			for _, ns := range x.spaces {
				if x.server == nil || is.has(ns.id) {
					continue
				}
				lines, _ := d.namespace(x, ns, volumes)
				d.into(insert{host: x.server.Host, grave: Error, what: fmt.Sprintf("namespace %d of %s exists", ns.id, x.nqn), within: &is.target.Block, inner: &is.subsystem.Block, of: fmt.Sprintf("subsystem %q", is.subsystem.Name), lines: lines})
			}
		case x.server != nil && d.stands.sharing(x) != nil:
			t := d.stands.sharing(x)
			_, sub := calledBy(x, paths)
			lines, _ := d.subsystem(cmp.Or(sub, "data"), x, paths, volumes)
			d.into(insert{host: x.server.Host, grave: Error, what: fmt.Sprintf("%s is exported there at a portal of %s", x.nqn, t.Addr), within: &t.Block, lines: lines})
			targets[x.nqn] = spot{spotOf(&t.Block).address, true}
		default:
			fresh = append(fresh, x)
		}
	}
	return fresh
}

// target writes one; hand: with it something that only a person can write.
func (d *draft) target(a address, o *offer, paths []path, volumes map[half]spot) (t instance, hand bool) {
	t = newInstance(a)
	x := o.exports[0]
	if x.server != nil {
		t.set("server", to(x.server.address, ""))
		hand = x.server.hand
	}
	if x.engine != "weft" {
		t.set("engine", str(x.engine))
	}
	t.set("transport", strs(x.transports))
	d.portals(t, x)
	x.asks.write(d, t, x.server)
	for i, x := range o.exports {
		s, byHand := d.subsystem(o.subs[i], x, paths, volumes)
		t.body, hand = append(t.body, item{in: s}), hand || byHand
	}
	return t, hand
}

func (d *draft) subsystem(name string, x *export, paths []path, volumes map[half]spot) (s *block, hand bool) {
	s = &block{kind: "subsystem", labels: []string{name}}
	s.set("nqn", str(x.nqn))
	if x.server == nil {
		return s, false
	}
	if x.serial != usualSerial(x.nqn) {
		s.set("serial", str(x.serial))
	}
	if hosts := sorted(x.hosts); !slices.Equal(hosts, allowed(x.nqn, d.declarable(paths))) {
		s.set("allow_hosts", strs(hosts))
	}
	for _, ns := range x.spaces {
		in, byHand := d.namespace(x, ns, volumes)
		s.body, hand = append(s.body, item{in: in}), hand || byHand
	}
	return s, hand
}

func (d *draft) namespace(x *export, ns space, volumes map[half]spot) (in *block, hand bool) {
	in = &block{kind: "namespace", labels: []string{fmt.Sprint(ns.id)}}
	v, ok := volumes[half{x.server, ns.path}]
	if !ok {
		d.site.found(Error, x.server.Host, "write it by hand", "namespace %d of %s is %s, which no volume that is written is", ns.id, x.nqn, ns.path)
		return in, false
	}
	in.set("from", to(v.address, ""))
	if ns.uuid != usualUUID(x.nqn, ns.id) {
		in.set("uuid", str(ns.uuid))
	}
	if ns.iops+ns.bandwidth > 0 {
		l := in.add("limits")
		if ns.iops > 0 {
			l.set("iops", number(ns.iops))
		}
		if ns.bandwidth > 0 {
			l.set("bandwidth", str(size(ns.bandwidth)))
		}
	}
	return in, v.hand
}

// portals names the NICs that have the addresses, and the addresses where none has.
func (d *draft) portals(t instance, x *export) {
	port := uint16(4420)
	out := raw("[")
	for i, p := range x.portals {
		if i > 0 {
			out = append(out, raw(", ")...)
		}
		if x.server != nil {
			if c := x.server.at(p.Addr()); c != nil {
				out, port = append(out, to(x.server.address, ".rnic."+c.label)...), p.Port()
				continue
			}
		}
		out = append(out, str(p.String())...)
	}
	t.set("portals", append(out, raw("]")...))
	if port != 4420 {
		t.set("port", number(int64(port)))
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
