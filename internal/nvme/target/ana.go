package target

import (
	"slices"
	"sync/atomic"

	"weft/internal/nvme/wire"
)

// portal is an address that hosts have come to, with the access to groups of
// namespaces there. It lives as long as the target.
type portal struct {
	address string
	changes atomic.Uint64
	groups  [MaxGroups + 1]struct {
		state   atomic.Uint32 // wire.ANAState
		changes atomic.Uint64
	}
}

// portalAt is the portal of an address. The caller holds mu.
func (t *Target) portalAt(address string) *portal {
	p := t.portals[address]
	if p == nil {
		p = &portal{address: address}
		for i := range p.groups {
			p.groups[i].state.Store(uint32(wire.ANAOptimized))
		}
		t.portals[address] = p
	}
	return p
}

// setAccess takes over the Access of the configuration and returns the portals
// where something is different. The caller holds mu.
func (t *Target) setAccess() (moved map[*portal]bool) {
	want := map[*portal]map[uint32]wire.ANAState{}
	for _, a := range t.conf.Access {
		p := t.portalAt(a.Portal)
		if want[p] == nil {
			want[p] = map[uint32]wire.ANAState{}
		}
		want[p][a.Group] = a.State
	}
	moved = map[*portal]bool{}
	for _, p := range t.portals {
		for i := range p.groups {
			state, named := want[p][uint32(i)]
			if !named {
				state = wire.ANAOptimized
			}
			if old := p.groups[i].state.Swap(uint32(state)); old != uint32(state) {
				p.groups[i].changes.Add(1)
				moved[p] = true
			}
		}
		if moved[p] {
			p.changes.Add(1)
		}
	}
	return moved
}

// reach is the status of commands to a group of namespaces that cannot be
// reached here, and success for others.
func (p *portal) reach(group uint32) wire.Status {
	switch wire.ANAState(p.groups[group].state.Load()) {
	case wire.ANAUnreachable:
		return wire.ANAInaccessible
	case wire.ANALost:
		return wire.ANAPersistentLoss
	case wire.ANAChanging:
		return wire.ANATransition
	}
	return wire.Success
}

// anaLog is the log page for a portal, with the ids of namespaces unless only
// groups are asked for.
func (l *layout) anaLog(p *portal, groupsOnly bool) *wire.ANALog {
	log := &wire.ANALog{Changes: p.changes.Load()}
	members := map[uint32][]uint32{}
	var groups []uint32
	for _, id := range l.ids {
		g := l.namespaces[id].Group
		if members[g] == nil {
			groups = append(groups, g)
		}
		members[g] = append(members[g], id)
	}
	slices.Sort(groups)
	for _, g := range groups {
		one := wire.ANAGroup{ID: g, Changes: p.groups[g].changes.Load(), State: wire.ANAState(p.groups[g].state.Load())}
		if !groupsOnly {
			one.NSIDs = members[g]
		}
		log.Groups = append(log.Groups, one)
	}
	return log
}

// regrouped says that a namespace is in another group than before.
func (l *layout) regrouped(old *layout) bool {
	for id, n := range l.namespaces {
		if was := old.namespaces[id]; was == nil || was.Group != n.Group {
			return true
		}
	}
	return false
}
