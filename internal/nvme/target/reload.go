package target

import (
	"fmt"
	"slices"

	"weft/internal/nvme/wire"
)

// next is a configuration that was found good and is not yet served.
type next struct {
	conf    Config
	layouts map[string]*layout
}

// prepare judges a configuration; it changes nothing.
func (t *Target) prepare(c Config) (*next, error) {
	n := &next{conf: c, layouts: map[string]*layout{}}
	for _, s := range c.Subsystems {
		if n.layouts[s.NQN] != nil || s.NQN == wire.DiscoveryNQN {
			return nil, fmt.Errorf("subsystem %q is there twice", s.NQN)
		}
		var old *layout
		if sub := t.subsystems[s.NQN]; sub != nil {
			old = sub.now.Load()
		}
		l, err := newLayout(s, old)
		if err != nil {
			return nil, fmt.Errorf("subsystem %q: %w", s.NQN, err)
		}
		n.layouts[s.NQN] = l
	}
	for _, a := range c.Access {
		if a.Group == 0 || a.Group > MaxGroups {
			return nil, fmt.Errorf("portal %s: group %d is not from 1 to %d", a.Portal, a.Group, MaxGroups)
		}
	}
	return n, nil
}

// Hold says that a new configuration is being read: until Reload or Resume a
// host that is not known is asked to come again, because it may be known soon.
func (t *Target) Hold() { t.loading.Store(true) }

// Resume ends Hold without a new configuration.
func (t *Target) Resume() { t.loading.Store(false) }

// Reload serves c instead of what was served before, without ending a
// connection that c allows: commands under way go on, and hosts are told what
// has changed. A namespace whose Backend, id, UUID and NGUID stay is the same
// namespace; its Backend may have grown. Backends that c no longer has are flushed and closed. With an
// error nothing has changed, and the backends of c that are new still belong to
// the caller. The Firmware, Generation, Log and Descriptors of c are not used.
func (t *Target) Reload(c Config) error {
	t.reload.Lock()
	defer t.reload.Unlock()
	if t.gate.isShut() {
		return fmt.Errorf("the target is closing")
	}
	c.Firmware, c.Generation, c.Log = t.conf.Firmware, t.conf.Generation, t.conf.Log
	n, err := t.prepare(c)
	if err != nil {
		return err
	}
	before := t.views()
	old, was := t.conf, t.layouts()
	moved := t.install(n)
	t.loading.Store(false)
	t.expel()
	t.announce(before, was, moved)
	t.discard(old)
	return nil
}

// layouts are what the subsystems serve now.
func (t *Target) layouts() map[*subsystem]*layout {
	all := map[*subsystem]*layout{}
	for _, sub := range t.subsystems {
		all[sub] = sub.now.Load()
	}
	return all
}

// install serves n from now on. It returns the portals where the access to a
// group has changed.
func (t *Target) install(n *next) (moved map[*portal]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	subsystems := map[string]*subsystem{}
	for nqn, l := range n.layouts {
		sub := t.subsystems[nqn]
		if sub == nil {
			sub = &subsystem{nqn: nqn}
		}
		old := sub.now.Load()
		t.setLimits(l, old)
		sub.now.Store(l)
		if old != nil {
			for id, was := range old.namespaces {
				if now := l.namespaces[id]; now == nil || now.count != was.count {
					sub.gone.add(was.count)
				}
			}
		}
		subsystems[nqn] = sub
	}
	for nqn, sub := range t.subsystems {
		if subsystems[nqn] == nil {
			t.setLimits(&layout{}, sub.now.Load())
		}
	}
	if t.subsystems != nil && !sameOffer(t.conf, n.conf) {
		t.generation++
	}
	t.subsystems, t.conf = subsystems, n.conf
	return t.setAccess()
}

// sameOffer says that discovery shows every host the same for two
// configurations.
func sameOffer(a, b Config) bool {
	return slices.Equal(a.Portals, b.Portals) && slices.EqualFunc(a.Subsystems, b.Subsystems, func(x, y Subsystem) bool {
		return x.NQN == y.NQN && slices.Equal(x.AllowHosts, y.AllowHosts) && slices.Equal(x.Portals, y.Portals)
	})
}

// expel ends the controllers of hosts that are no longer allowed, and of
// subsystems that are no longer there.
func (t *Target) expel() {
	for _, c := range t.connected() {
		if c.sub != nil && !t.welcome(c) {
			c.end("the new configuration does not allow this host here")
		}
	}
}

func (t *Target) welcome(c *controller) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.subsystems[c.sub.nqn] == c.sub && c.sub.now.Load().admits(c.host.HostNQN, c.portal)
}

// views are what discovery shows to each host that is connected to it.
func (t *Target) views() map[*controller]string {
	seen := map[*controller]string{}
	for _, c := range t.connected() {
		if c.sub == nil {
			seen[c] = t.view(c)
		}
	}
	return seen
}

// view is the discovery log of a controller but for the generation.
func (t *Target) view(c *controller) string {
	page, err := t.discoveryLog(c.host.HostNQN, c.here())
	if err != nil {
		return err.Error()
	}
	return string(page[8:])
}

// announce tells hosts what has changed.
func (t *Target) announce(before map[*controller]string, was map[*subsystem]*layout, moved map[*portal]bool) {
	for _, c := range t.connected() {
		if c.sub == nil {
			if seen, there := before[c]; there && seen != t.view(c) {
				c.tell(wire.EventDiscovery)
			}
			continue
		}
		old, l := was[c.sub], c.sub.now.Load()
		if old == nil {
			continue
		}
		if ids := l.changed(old); len(ids) > 0 {
			c.changedNamespaces(ids)
		}
		if moved[c.portal] || l.regrouped(old) {
			c.tell(wire.EventANA)
		}
	}
}

// discard flushes and closes the backends that the configuration in force no
// longer has. It waits for the calls under way.
func (t *Target) discard(old Config) {
	kept := map[any]bool{}
	for _, s := range t.conf.Subsystems {
		for _, n := range s.Namespaces {
			kept[n.Backend] = true
		}
	}
	for _, s := range old.Subsystems {
		for _, n := range s.Namespaces {
			if kept[n.Backend] {
				continue
			}
			if err := closeBackend(s.NQN, n); err != nil {
				t.log.Error("backend", "error", err)
			}
		}
	}
}
