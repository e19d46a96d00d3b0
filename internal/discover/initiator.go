package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/modules/linux/nvme"
)

// A path is a connection that an initiator has.
type path struct {
	server *node
	name   string // of the entry: TARGET.SUBSYSTEM@ADDRESS
	probe  bool   // the kernel has it not: engine = "none"
	nvme.NVMeConnection
}

// paths are the connections that the ledgers know.
func (d *draft) paths() (list []path) {
	for _, n := range d.ordered() {
		for _, c := range n.told.Paths {
			list = append(list, path{server: n, name: c.Name, NVMeConnection: usualPath(nvme.NVMeConnection{NQN: c.NQN, Transport: c.Transport, Address: c.Address, HostNQN: c.HostNQN})})
		}
		if n.System.Connect != nil {
			continue
		}
		conns, names := decoded[nvme.NVMeConnection](d, n, "nvme_connection")
		for i, c := range conns {
			list = append(list, path{server: n, name: names[i], NVMeConnection: c})
		}
	}
	return list
}

// usualPath is a connection as files make it that say nothing of how.
func usualPath(c nvme.NVMeConnection) nvme.NVMeConnection {
	c.CtrlLoss, c.ReconnectDelay, c.KeepAlive = 600, 10, 5
	return c
}

// apart gives initiators that differ in more than values blocks of their own.
func apart(list []instance) []instance {
	labels, used := map[string]string{}, taken{}
	for i := range list {
		shape := list[i].shape()
		if labels[shape] == "" {
			labels[shape] = used.dashed(list[i].label)
		}
		list[i].label, list[i].labels = labels[shape], []string{labels[shape]}
	}
	return list
}

// allowed are the hosts that are let in where nothing is said: those that connect, and
// weft's probe on each.
func allowed(nqn string, paths []path) []string {
	seen := map[string]bool{}
	for _, p := range paths {
		if p.NQN == nqn {
			seen[p.HostNQN], seen[p.HostNQN+probeSuffix] = true, true
		}
	}
	return keys(seen)
}

// A way is how connections are made.
type way struct {
	policy                              string
	loss, fail, reconnect, keep, queues int
	written                             nvme.Written // defaults that the files of the ledger wrote
}

// byHand reports whether only a person can write a connection: into the initiator that has
// the key of the host.
func (d *draft) byHand(p path) bool {
	return p.server.hand || d.stands.initiators[p.server.Host] != nil && (d.has(p.server.Server, "dhchap_key", p.HostNQN) || d.has(p.server.Server, "tls_key", p.HostNQN))
}

// declarable are the connections that stand in files, or that can.
func (d *draft) declarable(paths []path) []path {
	return slices.DeleteFunc(slices.Clone(paths), func(p path) bool {
		return !d.stands.connected[place{p.server.Host, p.NQN}] && d.byHand(p)
	})
}

// initiators writes one for each machine that connects, with a connect for each way in
// which it does, of what does not stand in files.
func (d *draft) initiators(paths []path, targets map[string]spot) (list []instance) {
	label := d.stands.free("initiator", "nvme")
	instances := d.countTargets(targets)
	for _, n := range d.ordered() {
		var ways []way
		toward := map[way][]address{}
		nqn, id, probe, hand := "", "", false, n.hand
		for _, p := range paths {
			if p.server != n || d.stands.connected[place{n.Host, p.NQN}] {
				continue
			}
			to := targets[p.NQN]
			if to.hand && d.stands.connected[place{n.Host, to.String()}] {
				continue // it comes with the subsystem
			}
			hand = hand || to.hand || d.byHand(p)
			probe = p.probe // all of a server are, or none
			w := way{p.IOPolicy, p.CtrlLoss, p.FastFail, p.ReconnectDelay, p.KeepAlive, p.Queues, p.Written}
			if toward[w] == nil {
				ways = append(ways, w)
			}
			if !slices.Contains(toward[w], to.address) {
				toward[w] = append(toward[w], to.address)
			}
			if nqn != "" && nqn != p.HostNQN {
				d.site.found(Error, n.Host, "one initiator block has one host NQN", "it connects under several host NQNs: %s and %s", nqn, p.HostNQN)
			}
			nqn, id = p.HostNQN, cmp.Or(p.HostID, id)
		}
		if ways == nil {
			continue
		}
		i := newInstance(n.under("initiator", label))
		i.set("server", to(n.address, ""))
		if probe {
			i.set("engine", str("none"))
		}
		if !hand {
			d.keysOf(i, n, nqn)
		}
		if nqn != usualHostNQN(d.owner, n.origin.String()) {
			i.set("hostnqn", str(nqn))
		}
		if id != "" && !strings.EqualFold(id, nvme.HostID(nqn)) {
			i.set("hostid", str(strings.ToLower(id)))
		}
		for _, w := range ways {
			w.write(i.add("connect"), several(toward[w], instances))
		}
		if hand {
			d.initiatorByHand(n, i)
			continue
		}
		list = append(list, i)
	}
	return apart(list)
}

// initiatorByHand tells what only a person can write: what the initiator of the server
// lacks, or a whole one.
func (d *draft) initiatorByHand(n *node, i instance) {
	was := d.stands.initiators[n.Host]
	if was == nil {
		d.wholly(n, i)
		return
	}
	for _, it := range i.body {
		if it.in != nil {
			d.into(insert{host: n.Host, grave: Error, what: "it is connected to more than its initiator says", within: &was[0].Block, lines: it.in})
		}
	}
}

// countTargets says how many instances a target has, by its label.
func (d *draft) countTargets(targets map[string]spot) map[string]int {
	instances, seen := map[string]int{}, map[address]bool{}
	for _, t := range targets {
		if is := d.stands.instances["target."+t.label]; is > 0 {
			instances[t.label] = is
		} else if !seen[t.address] {
			seen[t.address] = true
			instances[t.label]++
		}
	}
	return instances
}

// write writes a connect.
func (w way) write(c *block, to expr) {
	c.set("to", to)
	if w.policy != "" && (w.written.IOPolicy || w.policy != "round-robin") {
		c.set("iopolicy", str(w.policy))
	}
	if w.queues != 0 {
		c.set("io_queues", number(int64(w.queues)))
	}
	if w.written.CtrlLoss || w.loss != 600 {
		c.set("ctrl_loss_tmo", number(int64(w.loss)))
	}
	if w.written.FastFail || w.fail != 0 {
		c.set("fast_io_fail_tmo", number(int64(w.fail)))
	}
	if w.written.ReconnectDelay || w.reconnect != 10 {
		c.set("reconnect_delay", str(fmt.Sprintf("%ds", w.reconnect)))
	}
	if w.keep != 5 {
		c.set("keep_alive_tmo", str(fmt.Sprintf("%ds", w.keep)))
	}
}

// several refers to targets: to all instances of a block by its name.
func several(list []address, instances map[string]int) expr {
	count := map[string]int{}
	for _, a := range list {
		count[a.label]++
	}
	var out expr
	done := map[string]bool{}
	n := 0
	for _, a := range list {
		if done[a.label] {
			continue
		}
		one := to(a, "")
		if a.keyed && count[a.label] == instances[a.label] {
			done[a.label], one = true, raw("target."+a.label)
		}
		if n++; n > 1 {
			out = append(out, raw(", ")...)
		}
		out = append(out, one...)
	}
	if n == 1 {
		return out
	}
	return append(append(raw("["), out...), raw("]")...)
}
