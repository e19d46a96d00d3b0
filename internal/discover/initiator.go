package discover

import (
	"fmt"
	"slices"

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

// initiators writes one for each machine that connects, with a connect for each way in
// which it does.
func (d *draft) initiators(paths []path, targets map[string]address) (list []instance) {
	type way struct {
		policy                              string
		loss, fail, reconnect, keep, queues int
	}
	instances := map[string]int{} // of targets, by kind and label
	for _, a := range targets {
		instances[a.label]++
	}
	for _, n := range d.ordered() {
		var ways []way
		toward := map[way][]address{}
		nqn, probe := "", false
		for _, p := range paths {
			if p.server != n {
				continue
			}
			probe = p.probe // all of a server are, or none
			w := way{p.IOPolicy, p.CtrlLoss, p.FastFail, p.ReconnectDelay, p.KeepAlive, p.Queues}
			if toward[w] == nil {
				ways = append(ways, w)
			}
			if a := targets[p.NQN]; !slices.Contains(toward[w], a) {
				toward[w] = append(toward[w], a)
			}
			if nqn != "" && nqn != p.HostNQN {
				d.site.found(Error, n.Host, "one initiator block has one host NQN", "it connects under several host NQNs: %s and %s", nqn, p.HostNQN)
			}
			nqn = p.HostNQN
		}
		if ways == nil {
			continue
		}
		i := newInstance(n.under("initiator", "nvme"))
		i.set("server", to(n.address, ""))
		if probe {
			i.set("engine", str("none"))
		}
		d.keysOf(i, n, nqn)
		if nqn != usualHostNQN(d.owner, n.String()) {
			i.set("hostnqn", str(nqn))
		}
		for _, w := range ways {
			c := i.add("connect")
			c.set("to", several(toward[w], instances))
			if w.policy != "" && w.policy != "round-robin" {
				c.set("iopolicy", str(w.policy))
			}
			if w.queues != 0 {
				c.set("io_queues", number(int64(w.queues)))
			}
			if w.loss != 600 {
				c.set("ctrl_loss_tmo", number(int64(w.loss)))
			}
			if w.fail != 0 {
				c.set("fast_io_fail_tmo", number(int64(w.fail)))
			}
			if w.reconnect != 10 {
				c.set("reconnect_delay", str(fmt.Sprintf("%ds", w.reconnect)))
			}
			if w.keep != 5 {
				c.set("keep_alive_tmo", str(fmt.Sprintf("%ds", w.keep)))
			}
		}
		list = append(list, i)
	}
	return apart(list)
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
