package target

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/wire"
)

// subsystem is a Subsystem at work. It lives as long as a configuration has its
// name; what it serves is replaced as a whole.
type subsystem struct {
	nqn  string
	now  atomic.Pointer[layout]
	gone counters // of namespaces that were removed
}

// layout is what a subsystem serves; it never changes.
type layout struct {
	Subsystem
	allowed    map[string]bool
	namespaces map[uint32]*namespace
	ids        []uint32 // of the namespaces, ascending
}

// namespace is a Namespace at work. It never changes but for what it counts.
type namespace struct {
	Namespace
	info   backend.Info
	blocks uint64
	count  *counters
	limit  *limiter // nil without limits
}

// counters count what a namespace has served.
type counters struct {
	reads, writes, others   atomic.Uint64 // commands that succeeded
	bytesRead, bytesWritten atomic.Uint64
	errors                  atomic.Uint64 // of the backend
}

// add adds what other has counted.
func (c *counters) add(other *counters) {
	c.reads.Add(other.reads.Load())
	c.writes.Add(other.writes.Load())
	c.others.Add(other.others.Load())
	c.bytesRead.Add(other.bytesRead.Load())
	c.bytesWritten.Add(other.bytesWritten.Load())
	c.errors.Add(other.errors.Load())
}

// newLayout makes a layout of s. Namespaces that were there before, in old,
// go on counting where they were; old may be nil.
func newLayout(s Subsystem, old *layout) (*layout, error) {
	if err := wire.ValidNQN(s.NQN); err != nil {
		return nil, err
	}
	if len(s.Namespaces) > maxNamespaces {
		return nil, fmt.Errorf("%d namespaces, at most %d", len(s.Namespaces), maxNamespaces)
	}
	l := &layout{Subsystem: s, allowed: map[string]bool{}, namespaces: map[uint32]*namespace{}}
	for _, h := range s.AllowHosts {
		l.allowed[h] = true
	}
	for _, n := range s.Namespaces {
		if n.ID == 0 || n.ID == wire.NSIDAll || l.namespaces[n.ID] != nil {
			return nil, fmt.Errorf("namespace id %d is impossible or there twice", n.ID)
		}
		n.Group = cmp.Or(n.Group, 1)
		if n.Group > MaxGroups {
			return nil, fmt.Errorf("namespace %d: group %d, at most %d", n.ID, n.Group, MaxGroups)
		}
		info := n.Backend.Info()
		ns := &namespace{Namespace: n, info: info, blocks: uint64(info.Size / int64(info.BlockSize)), count: new(counters)}
		if was := old.namespace(n.ID); was != nil && was.same(ns) {
			ns.count = was.count
		}
		l.namespaces[n.ID] = ns
		l.ids = append(l.ids, n.ID)
	}
	slices.Sort(l.ids)
	return l, nil
}

// admits says that a host may connect at a portal.
func (l *layout) admits(host string, at *portal) bool {
	return l.allowed[host] && l.Subsystem.servedAt(at.address)
}

func (s *Subsystem) servedAt(address string) bool {
	return len(s.Portals) == 0 || slices.Contains(s.Portals, address)
}

// namespace is nil where there is none, or no layout.
func (l *layout) namespace(id uint32) *namespace {
	if l == nil {
		return nil
	}
	return l.namespaces[id]
}

// same says that two namespaces are the same blocks under the same name.
func (n *namespace) same(other *namespace) bool {
	return n.Backend == other.Backend && n.UUID == other.UUID && n.NGUID == other.NGUID
}

// highest is the highest namespace id that hosts may expect, today or after a
// reload.
func (l *layout) highest() uint32 {
	if n := len(l.ids); n > 0 && l.ids[n-1] > maxNamespaces {
		return l.ids[n-1]
	}
	return maxNamespaces
}

// changed are the ids of namespaces that hosts must look at anew.
func (l *layout) changed(old *layout) (ids []uint32) {
	for id, n := range l.namespaces {
		was := old.namespace(id)
		if was == nil || !was.same(n) || was.ReadOnly != n.ReadOnly || was.Group != n.Group || was.blocks != n.blocks {
			ids = append(ids, id)
		}
	}
	for id := range old.namespaces {
		if l.namespaces[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Stat counts what a subsystem has served.
type Stat struct {
	NQN          string
	Controllers  int // connected now
	BytesRead    uint64
	BytesWritten uint64
	Namespaces   []NamespaceStat
}

// NamespaceStat counts what a namespace has served.
type NamespaceStat struct {
	ID           uint32
	Reads        uint64 // commands that succeeded
	Writes       uint64
	Others       uint64
	BytesRead    uint64
	BytesWritten uint64
	Errors       uint64 // of the backend
	Throttled    uint64 // commands that limits have delayed
	ThrottleTime time.Duration
}

// stat reads the counters.
func (c *counters) stat(id uint32) NamespaceStat {
	return NamespaceStat{
		ID: id, Reads: c.reads.Load(), Writes: c.writes.Load(), Others: c.others.Load(),
		BytesRead: c.bytesRead.Load(), BytesWritten: c.bytesWritten.Load(), Errors: c.errors.Load(),
	}
}

// Stats returns the counts of the subsystems in the order of Config.
func (t *Target) Stats() []Stat {
	t.mu.Lock()
	defer t.mu.Unlock()
	connected := map[*subsystem]int{}
	for _, c := range t.controllers {
		connected[c.sub]++
	}
	var all []Stat
	for _, s := range t.conf.Subsystems {
		sub := t.subsystems[s.NQN]
		l := sub.now.Load()
		stat := Stat{
			NQN: s.NQN, Controllers: connected[sub],
			BytesRead: sub.gone.bytesRead.Load(), BytesWritten: sub.gone.bytesWritten.Load(),
		}
		for _, id := range l.ids {
			n := l.namespaces[id].count.stat(id)
			if limit := l.namespaces[id].limit; limit != nil {
				n.Throttled, n.ThrottleTime = limit.throttled()
			}
			stat.BytesRead += n.BytesRead
			stat.BytesWritten += n.BytesWritten
			stat.Namespaces = append(stat.Namespaces, n)
		}
		all = append(all, stat)
	}
	return all
}
