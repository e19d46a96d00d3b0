package main

import (
	"cmp"
	"strings"

	"weft/internal/agent"
	"weft/internal/nvme/backend"
	"weft/internal/nvme/psk"
	"weft/internal/nvme/target"
)

// now is the status.
func (s *service) now() agent.TargetStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.UserTime, status.SystemTime = processorTime()
	status.Generation = s.target.Generation()
	status.Metrics = s.metrics.address()
	status.KeysChanged = s.keysChanged()
	status.Portals = []agent.PortalStatus{}
	for _, p := range s.portals {
		is := p.PortalStatus
		if l, ok := p.Listener.(interface{ Gone() error }); ok && l.Gone() != nil {
			is.Error = l.Gone().Error()
		}
		status.Portals = append(status.Portals, is)
	}
	status.Portals = append(status.Portals, s.missing...)
	served := map[string]target.Stat{}
	for _, t := range s.target.Stats() {
		served[t.NQN] = t
	}
	status.Subsystems = []agent.SubsystemStatus{}
	for _, sub := range s.conf.Subsystems {
		status.Subsystems = append(status.Subsystems, s.subsystem(sub, served[sub.NQN]))
	}
	status.Controllers = []agent.ControllerStatus{}
	for _, c := range s.target.Controllers() {
		status.Controllers = append(status.Controllers, agent.ControllerStatus(c))
	}
	status.Refused = agent.RefusedStatus(s.target.Refused())
	return status
}

// keysChanged reports whether the files with keys hold others than those that
// hosts are asked for; the caller holds s.mu.
func (s *service) keysChanged() bool {
	for _, sub := range s.conf.Subsystems {
		for _, a := range sub.Auth {
			is := s.keys[sub.NQN][a.Host]
			host, err := secret(s.places, a.Key, a.KeyFile)
			if err != nil || !host.Equal(is.Host) {
				return true
			}
			if a.SubsystemKey == "" && a.SubsystemKeyFile == "" {
				continue
			}
			if own, err := secret(s.places, a.SubsystemKey, a.SubsystemKeyFile); err != nil || !own.Equal(is.Sub) {
				return true
			}
		}
		for _, k := range sub.TLS {
			if !s.hasTLSKey(sub.NQN, k) {
				return true
			}
		}
	}
	return false
}

// hasTLSKey reports whether a key is the one that is in force.
func (s *service) hasTLSKey(nqn string, t agent.TLS) bool {
	text, err := written(s.places, t.Key, t.KeyFile)
	if err != nil {
		return false
	}
	key, err := psk.Parse(text)
	if err != nil {
		return false
	}
	k, err := key.TLS(psk.One, t.Host, nqn) // an identity tells keys apart
	_, has := s.tlsKey(k.Identity)
	return err == nil && has
}

func (s *service) subsystem(conf agent.Subsystem, t target.Stat) agent.SubsystemStatus {
	out := agent.SubsystemStatus{
		NQN: conf.NQN, Controllers: t.Controllers, BytesRead: t.BytesRead, BytesWritten: t.BytesWritten,
		Namespaces: []agent.NamespaceStatus{},
	}
	counts := map[uint32]target.NamespaceStat{}
	for _, n := range t.Namespaces {
		counts[n.ID] = n
	}
	for _, n := range conf.Namespaces {
		c := counts[n.ID]
		out.Namespaces = append(out.Namespaces, agent.NamespaceStatus{
			ID: n.ID, UUID: n.UUID, Backend: n.Backend, Path: cmp.Or(n.Path, strings.Join(n.Mirror, " and ")), BlockSize: n.BlockSize,
			Size: s.stores[sourceOf(n)].Info().Size, ANAGroup: max(n.ANAGroup, 1), ReadOnly: n.ReadOnly,
			IOPS: n.IOPS, Bandwidth: n.Bandwidth,
			Reads: c.Reads, Writes: c.Writes, Others: c.Others, BytesRead: c.BytesRead, BytesWritten: c.BytesWritten,
			Errors: c.Errors, Throttled: c.Throttled, ThrottleTime: c.ThrottleTime,
			Mirror: mirror(s.stores[sourceOf(n)]),
		})
	}
	return out
}

// mirror is how the halves of a mirror are; nil of other backends.
func mirror(b backend.Backend) *agent.MirrorStatus {
	m, ok := b.(*backend.Mirror)
	if !ok {
		return nil
	}
	s := m.Status()
	out := &agent.MirrorStatus{Behind: s.Behind}
	for _, l := range s.Legs {
		out.Legs = append(out.Legs, string(l))
	}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	return out
}
