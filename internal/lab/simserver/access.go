//go:build unix

package simserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file simulates which namespaces a target maps to a host, over which paths, as
// drivers/nvme/host/core.c and multipath.c of Linux do. A path has an ANA state for each
// namespace; the block device appears with the first path that takes I/O, and stays until no
// path leads to the namespace.

// A mapping is what a target shows a host in a subsystem.
type mapping struct {
	model      string
	namespaces map[string]mapped // by id
}

type mapped struct{ sectors, uuid, state string }

// maps is what a connection with these options is shown. The caller holds the state of no
// server.
func (s *Server) maps(o map[string]string) mapping {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sub := s.nvmet.subsystems[o["nqn"]]
	if sub == nil {
		return s.agentMaps(o["nqn"])
	}
	m := mapping{model: sub.model, namespaces: map[string]mapped{}}
	for id, ns := range sub.namespaces {
		if !ns.enabled {
			continue
		}
		is := mapped{sectors: "0", uuid: ns.uuid, state: "optimized"}
		if info, err := s.rootView().Stat(ns.path); err == nil {
			is.sectors = fmt.Sprint(info.Size() / 512)
		}
		for _, p := range s.nvmet.ports {
			if p.transport == o["transport"] && p.address == o["traddr"] && p.service == o["trsvcid"] {
				is.state = p.groups[strconv.Itoa(ns.group)]
			}
		}
		m.namespaces[id] = is
	}
	return m
}

// discover notes that a host has seen a subsystem, whose identity stays from then on.
func (s *Server) discover(nqn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.nvmet.subsystems[nqn]; sub != nil {
		sub.discovered = true
	}
}

// agentMaps are the namespaces that weft-target exports in a subsystem, as its
// configuration names them, always optimized. The caller holds s.mu.
func (s *Server) agentMaps(nqn string) mapping {
	m := mapping{model: "weft", namespaces: map[string]mapped{}}
	text, err := s.rootView().ReadFile("/etc/weft/target.toml")
	if err != nil {
		return m
	}
	table, in, id := "", "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, " = ")
		value = strings.Trim(value, "'\"")
		is := m.namespaces[id]
		switch {
		case strings.HasPrefix(line, "["):
			if table = line; table == "[[subsystem]]" {
				in = ""
			}
			id = ""
			continue
		case !assigned:
			continue
		case table == "[[subsystem]]" && key == "nqn":
			in = value
			continue
		case table != "[[subsystem.namespace]]" || in != nqn:
			continue
		case key == "id":
			id, is = value, mapped{sectors: "0", state: "optimized"}
		case id == "":
			continue
		case key == "uuid":
			is.uuid = value
		case key == "size":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				is.sectors = fmt.Sprint(n / 512)
			}
		}
		m.namespaces[id] = is
	}
	return m
}

// take notes what a target shows. A size stays as it was when the namespace came.
func (c *controller) take(m mapping) {
	c.model = m.model
	for id := range c.namespaces {
		if _, still := m.namespaces[id]; !still {
			delete(c.namespaces, id)
			delete(c.uuids, id)
			delete(c.states, id)
			delete(c.shown, id)
		}
	}
	for id, is := range m.namespaces {
		if _, known := c.namespaces[id]; !known {
			c.namespaces[id] = is.sectors
		}
		c.states[id] = is.state
		if is.uuid != "" {
			c.uuids[id] = is.uuid
		}
		if is.state == "optimized" || is.state == "non-optimized" {
			c.shown[id] = true
		}
	}
}

// shows reports whether the connection has what a target shows already.
func (c *controller) shows(m mapping) bool {
	if c.model != m.model || len(c.namespaces) != len(m.namespaces) {
		return false
	}
	for id, is := range m.namespaces {
		_, known := c.namespaces[id]
		serves := is.state == "optimized" || is.state == "non-optimized"
		if !known || c.states[id] != is.state || is.uuid != "" && c.uuids[id] != is.uuid || serves && !c.shown[id] {
			return false
		}
	}
	return true
}

// askEvery is how long what targets showed last is taken to hold: /sys is drawn for each file
// that somebody opens.
const askEvery = 50 * time.Millisecond

// askAgain asks the targets of connections what they show now, as a notice of theirs has a
// kernel do. It locks what changes only where something has changed. The caller holds the state
// of no server.
func (s *Server) askAgain() {
	now, last := time.Now().UnixNano(), s.asked.Load()
	if now-last < int64(askEvery) || !s.asked.CompareAndSwap(last, now) {
		return
	}
	s.mu.RLock()
	all := slices.Clone(s.controllers)
	s.mu.RUnlock()
	for _, c := range all {
		to, err := s.served(c)
		if err != nil {
			continue // it keeps what it was told
		}
		m := to.maps(c.options)
		s.mu.RLock()
		same := c.shows(m)
		s.mu.RUnlock()
		if !same {
			s.mu.Lock()
			c.take(m)
			s.mu.Unlock()
		}
	}
}
