package discover

import (
	"slices"
	"strings"

	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/plan"
)

// probed are hosts that the kernel connects nothing from, and that an export lets in by the
// name that follows from their server: weft's probe alone connects from there.
func (d *draft) probed(exports []*export, paths []path) (list []path) {
	var nameless []*node // with a probe, on a system of which nothing else would have it there
	for _, n := range d.ordered() {
		nqn := usualHostNQN(d.owner, n.origin.String())
		keys := d.has(n.Server, "tls_key", nqn) || d.has(n.Server, "dhchap_key", nqn)
		probe := slices.ContainsFunc(n.entries(d.owner, "agent"), func(e plan.Entry) bool { return e.Name == "weft-initiator" })
		if slices.ContainsFunc(paths, func(p path) bool { return p.server == n }) || !keys && !probe {
			continue
		}
		known := false
		for _, x := range exports {
			if slices.Contains(x.hosts, nqn) {
				list, known = append(list, probeOf(n, x, nqn)), true
			}
		}
		if !known && n.System.Lacks(host.Intents) != nil && d.stands.initiators[n.Host] == nil {
			nameless = append(nameless, n)
		}
	}
	return append(list, d.strange(nameless, exports, append(slices.Clone(paths), list...))...)
}

func probeOf(n *node, x *export, nqn string) path {
	return path{server: n, probe: true, NVMeConnection: usualPath(nvme.NVMeConnection{NQN: x.nqn, HostNQN: nqn})}
}

// probeSuffix is what the name of weft's probe has after that of its host.
const probeSuffix = ":probe"

// strange are hosts with weft's probe, under names that somebody chose and no device tells.
// Of one host and one name it is clear who has it; of more it is not, and the names stay
// in the list of the target.
func (d *draft) strange(nameless []*node, exports []*export, paths []path) (list []path) {
	if len(nameless) == 0 {
		return nil
	}
	taken := map[string]bool{}
	for _, p := range paths {
		taken[p.HostNQN] = true
	}
	free := map[string]bool{}
	for _, x := range exports {
		for _, nqn := range unexplained(x, taken) {
			free[nqn] = true
		}
	}
	names := keys(free)
	for _, n := range nameless {
		nqn := usualHostNQN(d.owner, n.origin.String())
		switch {
		case len(names) == 0:
			d.site.found(Error, n.Host, "write its initiator by hand", "weft's probe is installed there, but no known target admits it")
			continue
		case len(names) == 1 && len(nameless) == 1:
			nqn = names[0]
		default:
			d.site.found(Warn, n.Host, "write its hostnqn by hand, and take allow_hosts out where it then says no more than the initiators do", "weft's probe is installed there, but devices do not report which of the names %s it uses: it is written without a name", strings.Join(names, ", "))
		}
		for _, x := range exports {
			if len(unexplained(x, taken)) > 0 {
				list = append(list, probeOf(n, x, nqn))
			}
		}
	}
	return list
}

// unexplained are the hosts with a probe that an export lets in and nobody is known to be.
func unexplained(x *export, taken map[string]bool) (names []string) {
	for _, nqn := range x.hosts {
		if !taken[nqn] && !strings.HasSuffix(nqn, probeSuffix) && slices.Contains(x.hosts, nqn+probeSuffix) {
			names = append(names, nqn)
		}
	}
	return names
}
