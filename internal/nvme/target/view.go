package target

import (
	"cmp"
	"slices"
	"time"

	"weft/internal/nvme/wire"
)

// ControllerStat is what one host has of one subsystem.
type ControllerStat struct {
	ID            uint16
	Subsystem     string // wire.DiscoveryNQN for discovery
	Host          string
	Portal        string
	From          string // address of its admin queue
	IOQueues      int    // connected
	KeepAlive     time.Duration
	Authenticated bool
}

// Controllers are those that are connected, by their ids.
func (t *Target) Controllers() []ControllerStat {
	var all []ControllerStat
	for _, c := range t.connected() {
		all = append(all, c.stat())
	}
	slices.SortFunc(all, func(a, b ControllerStat) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (c *controller) stat() ControllerStat {
	s := ControllerStat{ID: c.id, Subsystem: wire.DiscoveryNQN, Host: c.host.HostNQN, Portal: c.portal.address}
	if c.sub != nil {
		s.Subsystem = c.sub.nqn
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.KeepAlive = c.alive
	for qid, q := range c.queues {
		if qid != 0 {
			s.IOQueues++
			continue
		}
		s.From = q.conn.Remote()
		s.Authenticated = c.keys.Load() != nil && !q.auth.closed.Load()
	}
	return s
}

// RefusedStat counts what was turned away since the start.
type RefusedStat struct {
	Connects        uint64
	Authentications uint64
	KeepAlives      uint64 // controllers that fell silent
	LogLines        uint64 // about any of that and more, that were left out
}

// Refused returns the counts.
func (t *Target) Refused() RefusedStat {
	return RefusedStat{t.refused.connect.Load(), t.refused.auth.Load(), t.refused.silent.Load(), t.pace.left.Load()}
}

// Generation is that of the discovery log.
func (t *Target) Generation() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.generation
}
