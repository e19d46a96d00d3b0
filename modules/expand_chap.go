package modules

import (
	"slices"

	"weft/internal/agent"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/plan"
)

// chap is what the expansion knows of authentication.
type chap struct {
	keys  map[*inventory.Secret]*nvme.ChapKey
	added map[plan.ID]bool
	hosts map[*inventory.Target]map[string]*inventory.Initiator // with a key, by the names that they connect with
}

// chapHosts are the initiators with keys that connect to targets, by the names
// of the kernel's connections and of the probe's.
func chapHosts(m *inventory.Model) map[*inventory.Target]map[string]*inventory.Initiator {
	hosts := map[*inventory.Target]map[string]*inventory.Initiator{}
	for _, i := range m.Initiators {
		if i.Key == nil {
			continue
		}
		for _, c := range i.Connects {
			for _, t := range c.To {
				if hosts[t] == nil {
					hosts[t] = map[string]*inventory.Initiator{}
				}
				hosts[t][i.HostNQN], hosts[t][i.ProbeNQN] = i, i
			}
		}
	}
	return hosts
}

// key is a secret that is read once, wherever it goes.
func (x *expansion) key(s *inventory.Secret) *nvme.ChapKey {
	if s == nil {
		return nil
	}
	if x.chap.keys[s] == nil {
		x.chap.keys[s] = nvme.NewCHAPKey(s)
	}
	return x.chap.keys[s]
}

// keyFile keeps a key on a server, in the file of the NQN that it is proven
// for. It returns the path, "" where there is no key.
func (x *expansion) keyFile(d *host.Machine, s *inventory.Secret, nqn string, b *inventory.Block) (path string, needs []plan.ID) {
	if s == nil {
		return "", nil
	}
	path = agent.KeyFile(x.model.Name, nqn)
	id := plan.ID{Device: d.Address(), Kind: "dhchap_key", Name: nqn}
	if !x.chap.added[id] {
		x.chap.added[id] = true
		serves := slices.ContainsFunc(x.model.Targets, func(t *inventory.Target) bool { return t.Engine == "weft" && addr(t.Server) == d.Address() })
		x.add(id, nvme.DHCHAPKeyKind().Want(d, &nvme.DHCHAPKey{Path: path, Mode: nvme.KeyMode, Target: serves, Source: x.key(s)}), b.Range)
	}
	x.stand(b, id)
	return path, []plan.ID{id}
}

// pair keeps the keys of an initiator, and of a subsystem of the target that it
// connects to, on a server.
func (x *expansion) pair(d *host.Machine, i *inventory.Initiator, t *inventory.Target, nqn string, b *inventory.Block) (p nvme.KeyPair, needs []plan.ID) {
	p = nvme.KeyPair{Host: x.key(i.Key), Target: x.key(t.CtrlKey)}
	var by []plan.ID
	p.HostFile, needs = x.keyFile(d, i.Key, i.HostNQN, b)
	p.TargetFile, by = x.keyFile(d, t.CtrlKey, nqn, b)
	return p, append(needs, by...)
}

// probeKeys keeps the keys where weft's probe finds them.
func (x *expansion) probeKeys() {
	for _, i := range x.model.Initiators {
		d, ok := x.machine(i.Server)
		if !ok || i.Key == nil {
			continue
		}
		x.keyFile(d, i.Key, i.HostNQN, &i.Block)
		for _, c := range i.Connects {
			for _, t := range c.To {
				for _, sub := range t.Subsystems {
					x.keyFile(d, t.CtrlKey, sub.NQN, &i.Block)
				}
			}
		}
	}
}

// auth is what weft-target asks of the hosts of a subsystem.
func (x *expansion) auth(d *host.Machine, t *inventory.Target, sub *inventory.Subsystem) (list []agent.Auth, needs []plan.ID) {
	for _, nqn := range sub.AllowHosts {
		i := x.chap.hosts[t][nqn]
		if i == nil {
			continue
		}
		keys, by := x.pair(d, i, t, sub.NQN, &t.Block)
		needs = append(needs, by...)
		list = append(list, agent.Auth{Host: nqn, KeyFile: keys.HostFile, SubsystemKeyFile: keys.TargetFile, Hashes: only(t.Hash), DHGroups: only(t.DHGroup)})
	}
	return list, needs
}

// only is a list of one, or of none.
func only(word string) []string {
	if word == "" {
		return nil
	}
	return []string{word}
}

// nvmetAuth is what a kernel's target asks of a host.
func (x *expansion) nvmetAuth(d *host.Machine, t *inventory.Target, sub *inventory.Subsystem, nqn string, host plan.ID) []plan.ID {
	i := x.chap.hosts[t][nqn]
	if i == nil {
		return nil
	}
	id := plan.ID{Device: d.Address(), Kind: "nvmet_auth", Name: nqn}
	if !x.chap.added[id] {
		x.chap.added[id] = true
		keys, needs := x.pair(d, i, t, sub.NQN, &t.Block)
		want := &nvme.NVMeTAuth{NQN: nqn, Hash: t.Hash, DHGroup: t.DHGroup, Keys: keys}
		x.add(id, nvme.NVMeTAuthKind().Want(d, want), i.Range, append([]plan.ID{host}, needs...)...)
	}
	x.stand(&t.Block, id)
	return []plan.ID{id}
}

// proves gives a connection the keys of its two ends.
func (x *expansion) proves(d *host.Machine, want *nvme.NVMeConnection, i *inventory.Initiator, t *inventory.Target) (needs []plan.ID) {
	if i.Key == nil {
		return nil
	}
	want.Keys, needs = x.pair(d, i, t, want.NQN, &i.Block)
	return needs
}
