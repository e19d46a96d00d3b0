package prove

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weft/internal/remote"
	"weft/inventory"
)

// A crew is servers whose kernels have paths.
type crew struct {
	mu    sync.Mutex
	paths map[string][]Path // by server
	away  string            // does not answer
	dumb  string            // answers, and does not say what it has
	asked []string
}

func (c *crew) ask(_ context.Context, s *inventory.Server) ([]Path, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.asked = append(c.asked, s.Name); s.Name {
	case c.away:
		return nil, &remote.UnreachableError{Name: s.Name, Err: errors.New("connection refused")}
	case c.dumb:
		return nil, &remote.BecomeError{Name: s.Name, Reply: "a password is required"}
	}
	return slices.Clone(c.paths[s.Name]), nil
}

// cut takes away the paths of a server that lead to an address.
func (c *crew) cut(server, at string) {
	c.paths[server] = slices.DeleteFunc(c.paths[server], func(p Path) bool { return p.Address.String() == at })
}

// manned is two initiators that reach two targets over two planes, a switch in
// each, and all paths live.
func manned() (*inventory.Model, *crew) {
	m, c := model(2, 2, time.Second), &crew{paths: map[string][]Path{}}
	f := &inventory.Fabric{Name: "roce"}
	for _, name := range []string{"a", "b"} {
		m.Switches = append(m.Switches, &inventory.Switch{Block: inventory.Block{Addr: "switch." + name}, Name: name, Fabric: f, Plane: name, Unmanaged: true})
	}
	enlist := func(s *inventory.Server) {
		m.Servers = append(m.Servers, s)
		for i, nic := range s.RNICs {
			nic.Name, nic.Fabric = "p"+nic.Plane.Name, f
			m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{RNIC: nic}, To: inventory.LinkEnd{Switch: m.Switches[i], Port: s.Name}})
		}
	}
	for _, t := range m.Targets {
		enlist(t.Server)
	}
	for _, i := range m.Initiators {
		enlist(i.Server)
		i.Engine, i.HostNQN = "kernel", "nqn:host-"+i.Server.Name
		i.Connects[0].ReconnectDelay = 2 * time.Second
		for _, t := range m.Targets {
			for _, p := range t.Portals {
				c.paths[i.Server.Name] = append(c.paths[i.Server.Name], Path{i.HostNQN, t.Subsystems[0].NQN, p.Address})
			}
		}
	}
	return m, c
}

// A path that was lost while something else was changed fails, and a server that
// has gone silent proves nothing; what a change may explain is no finding.
func TestGuardOfServers(t *testing.T) {
	const t1a, t1b = "10.0.1.10:4420", "10.0.2.10:4420"
	for _, test := range []struct {
		name  string
		busy  string
		ready func(device, port string) bool
		then  func(*crew)
		later func(*crew)   // at the second look
		wait  time.Duration // before it
		want  string
	}{
		{name: "nothing happens", wait: time.Minute},
		{name: "a path is lost", then: func(c *crew) { c.cut("i1", t1a) }, wait: 7 * time.Second,
			want: "fail paths server.i1 → target.t1 over plane a"},
		{name: "it may come back yet", then: func(c *crew) { c.cut("i1", t1a) }, wait: 6 * time.Second},
		{name: "it comes back", then: func(c *crew) { c.cut("i1", t1a) }, wait: time.Minute,
			later: func(c *crew) { _, whole := manned(); c.paths = whole.paths }},
		{name: "its target is being changed", busy: "server.t1", then: func(c *crew) { c.cut("i1", t1a) }, wait: time.Minute},
		{name: "its initiator is", busy: "server.i1", then: func(c *crew) { c.cut("i1", t1a) }, wait: time.Minute},
		{name: "its switch is", busy: "switch.a", then: func(c *crew) { c.cut("i1", t1a) }, wait: time.Minute},
		{name: "the other switch is", busy: "switch.b", then: func(c *crew) { c.cut("i1", t1a) }, wait: time.Minute,
			want: "fail paths server.i1 → target.t1 over plane a"},
		{name: "the other target is", busy: "server.t2", then: func(c *crew) { c.cut("i1", t1b) }, wait: time.Minute,
			want: "fail paths server.i1 → target.t1 over plane b, undecided between server.i1 pb and switch.b i1"},
		{name: "a NIC that is not rolled out", ready: func(_, port string) bool { return port == "pb" }, then: func(c *crew) { c.cut("i1", t1a) }, wait: time.Minute},
		{name: "a target is gone", wait: time.Minute, then: func(c *crew) {
			for _, i := range []string{"i1", "i2"} {
				c.cut(i, t1a)
				c.cut(i, t1b)
			}
		}, want: "fail paths server.i1 → target.t1 over plane a, at server.t1; fail paths server.i1 → target.t1 over plane b, at server.t1; " +
			"fail paths server.i2 → target.t1 over plane a, at server.t1; fail paths server.i2 → target.t1 over plane b, at server.t1"},
		{name: "somebody else's path", wait: time.Minute, then: func(c *crew) { c.paths["i1"] = c.paths["i1"][:4] }},
		{name: "a server is gone", then: func(c *crew) { c.away = "t2" }, wait: time.Minute, want: "inconclusive answers server.t2"},
		{name: "an initiator is gone", then: func(c *crew) { c.away = "i1" }, wait: time.Minute, want: "inconclusive answers server.i1"},
		{name: "a server that is being changed", busy: "server.t2", then: func(c *crew) { c.away = "t2" }, wait: time.Minute},
		{name: "it does not say", then: func(c *crew) { c.dumb = "i1" }, wait: time.Minute},
		{name: "a server that is not rolled out", ready: func(device, _ string) bool { return device != "server.t2" }, then: func(c *crew) { c.away = "t2" }, wait: time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, c := manned()
				c.paths["i1"] = append(c.paths["i1"], Path{"nqn:other", "nqn:t1", m.Targets[0].Portals[0].Address})
				g, err := NewGuard(t.Context(), Input{Model: m, Ready: test.ready, Paths: c.ask})
				if err != nil || g == nil {
					t.Fatal(g, err)
				}
				free := func(device string) bool { return device != test.busy }
				c.asked = nil
				if test.then != nil {
					test.then(c)
				}
				list := g.Look(t.Context(), free)
				if servers := slices.Compact(slices.Sorted(slices.Values(c.asked))); len(servers) != len(c.asked) {
					t.Errorf("asked more than once: %v", c.asked)
				}
				time.Sleep(test.wait)
				if test.later != nil {
					test.later(c)
				}
				list = append(list, g.Look(t.Context(), free)...)
				list = append(list, g.Look(t.Context(), free)...) // nothing is said twice
				var got []string
				for _, j := range list {
					text := string(j.Verdict) + " " + j.Metric + " " + j.Pair
					if j.Where != "" {
						text += ", " + j.Where
					}
					got = append(got, text)
				}
				if text := strings.Join(got, "; "); text != test.want {
					t.Errorf("%s\nwant %s", text, test.want)
				}
				if slices.Contains(c.asked, strings.TrimPrefix(test.busy, "server.")) {
					t.Errorf("%s was asked", test.busy)
				}
			})
		})
	}
}

// The last look waits until it is known whether a path comes back, and asks
// nobody else meanwhile.
func TestGuardWaitsForDoubts(t *testing.T) {
	all := func(string) bool { return true }
	begin := func(t *testing.T) (*Guard, *crew) {
		m, c := manned()
		g, err := NewGuard(t.Context(), Input{Model: m, Paths: c.ask})
		if err != nil {
			t.Fatal(err)
		}
		c.asked = nil
		return g, c
	}
	synctest.Test(t, func(t *testing.T) {
		g, c := begin(t)
		begun := time.Now()
		if list := g.Last(t.Context(), all); len(list) > 0 || time.Since(begun) > 0 || len(c.asked) != 4 {
			t.Errorf("no doubt: %v after %v, asked %v", list, time.Since(begun), c.asked)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g, c := begin(t)
		c.cut("i1", "10.0.1.10:4420")
		go func() {
			time.Sleep(3500 * time.Millisecond)
			_, whole := manned()
			c.mu.Lock()
			defer c.mu.Unlock()
			c.paths = whole.paths
		}()
		begun := time.Now()
		if list := g.Last(t.Context(), all); len(list) > 0 || time.Since(begun) != 4*time.Second {
			t.Errorf("it comes back: %v after %v", list, time.Since(begun))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g, c := begin(t)
		c.cut("i1", "10.0.1.10:4420")
		begun := time.Now()
		list := g.Last(t.Context(), all)
		if len(list) != 1 || list[0].Verdict != Fail || time.Since(begun) != 7*time.Second {
			t.Errorf("it does not: %v after %v", list, time.Since(begun))
		}
		if i := slices.Index(c.asked[4:], "t1"); i >= 0 {
			t.Errorf("asked %v", c.asked)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g, c := begin(t)
		c.cut("i1", "10.0.1.10:4420")
		ctx, end := context.WithTimeout(t.Context(), 3*time.Second)
		defer end()
		if list := g.Last(ctx, all); list != nil {
			t.Errorf("it was cut short: %v", list)
		}
	})
}
