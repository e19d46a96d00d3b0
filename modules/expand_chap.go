package modules

import (
	"slices"

	"weft/internal/agent"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/plan"
)

// chap is what the expansion knows of authentication and of its keys, those for TLS
// among them.
type chap struct {
	keys  map[*inventory.Secret]*nvme.Key
	added map[plan.ID]bool
	hosts map[*inventory.Target]map[string]*inventory.Initiator // with a key, by the names that they connect with
	tls   map[*inventory.Target]map[string]*inventory.Initiator // those with one for TLS
}

// keyed are the initiators with a key that connect to targets, by the names
// of the kernel's connections and of the probe's.
func keyed(m *inventory.Model, key func(*inventory.Initiator) *inventory.Secret) map[*inventory.Target]map[string]*inventory.Initiator {
	hosts := map[*inventory.Target]map[string]*inventory.Initiator{}
	for _, i := range m.Initiators {
		if key(i) == nil {
			continue
		}
		for _, t := range i.Reaches() {
			if hosts[t] == nil {
				hosts[t] = map[string]*inventory.Initiator{}
			}
			hosts[t][i.HostNQN], hosts[t][i.ProbeNQN] = i, i
		}
	}
	return hosts
}

// key is a secret that is read once, wherever it goes.
func (x *expansion) key(s *inventory.Secret, made func(*inventory.Secret) *nvme.Key) *nvme.Key {
	if s == nil {
		return nil
	}
	if x.chap.keys[s] == nil {
		x.chap.keys[s] = made(s)
	}
	return x.chap.keys[s]
}

// keyFile keeps a key of DH-HMAC-CHAP on a server, in the file of the NQN that it is
// proven for. It returns the path, "" where there is no key.
func (x *expansion) keyFile(d *host.Machine, s *inventory.Secret, nqn string, b *inventory.Block) (path string, needs []plan.ID) {
	return x.kept(d, nvme.DHCHAPKeyKind(), agent.KeyFile(x.model.Name, nqn), x.key(s, nvme.NewCHAPKey), nqn, b)
}

// tlsFile keeps the key by which an initiator speaks TLS.
func (x *expansion) tlsFile(d *host.Machine, i *inventory.Initiator, b *inventory.Block) (path string, needs []plan.ID) {
	return x.kept(d, nvme.TLSKeyKind(), agent.TLSKeyFile(x.model.Name, i.HostNQN), x.key(i.TLSKey, nvme.NewTLSKey), i.HostNQN, b)
}

// kept is a key in a file, which is one resource whoever wants it.
func (x *expansion) kept(d *host.Machine, kind *host.Kind[nvme.KeyFile], file string, key *nvme.Key, nqn string, b *inventory.Block) (path string, needs []plan.ID) {
	if key == nil {
		return "", nil
	}
	id := plan.ID{Device: d.Address(), Kind: kind.Name, Name: nqn}
	if !x.chap.added[id] {
		x.chap.added[id] = true
		serves := slices.ContainsFunc(x.model.Targets, func(t *inventory.Target) bool { return t.Engine == "weft" && addr(t.Server) == d.Address() })
		x.thing(id, kind.Want(d, &nvme.KeyFile{Path: file, Mode: nvme.KeyMode, Target: serves, Source: key}), b.Range)
	}
	x.stand(b, id)
	return file, []plan.ID{id}
}

// pair keeps the keys of an initiator, and of a subsystem of the target that it
// connects to, on a server.
func (x *expansion) pair(d *host.Machine, i *inventory.Initiator, t *inventory.Target, nqn string, b *inventory.Block) (p nvme.KeyPair, needs []plan.ID) {
	p = nvme.KeyPair{Host: x.key(i.Key, nvme.NewCHAPKey), Target: x.key(t.CtrlKey, nvme.NewCHAPKey)}
	var by []plan.ID
	p.HostFile, needs = x.keyFile(d, i.Key, i.HostNQN, b)
	p.TargetFile, by = x.keyFile(d, t.CtrlKey, nqn, b)
	return p, append(needs, by...)
}

// probeKeys keeps the keys where weft's probe finds them.
func (x *expansion) probeKeys() {
	for _, i := range x.model.Initiators {
		d, ok := x.machine(i.Server)
		if !ok {
			continue
		}
		x.tlsFile(d, i, &i.Block)
		if i.Key == nil {
			continue
		}
		x.keyFile(d, i.Key, i.HostNQN, &i.Block)
		for _, t := range i.Reaches() {
			for _, sub := range t.Subsystems {
				x.keyFile(d, t.CtrlKey, sub.NQN, &i.Block)
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

// tls is what weft-target speaks TLS by with the hosts of a subsystem.
func (x *expansion) tls(d *host.Machine, t *inventory.Target, sub *inventory.Subsystem) (list []agent.TLS, needs []plan.ID) {
	if !t.TLS {
		return nil, nil
	}
	for _, nqn := range sub.AllowHosts {
		if i := x.chap.tls[t][nqn]; i != nil { // the rules refuse others
			file, by := x.tlsFile(d, i, &t.Block)
			list, needs = append(list, agent.TLS{Host: nqn, KeyFile: file}), append(needs, by...)
		}
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
		x.thing(id, nvme.NVMeTAuthKind().Want(d, want), i.Range, append([]plan.ID{host}, needs...)...)
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
