package target

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// another is the configuration of a rig, to be changed without changing what
// is served.
func (r *rig) another() Config {
	c := r.target.conf
	c.Portals = slices.Clone(c.Portals)
	c.Subsystems = slices.Clone(c.Subsystems)
	for i := range c.Subsystems {
		s := &c.Subsystems[i]
		s.Namespaces, s.AllowHosts = slices.Clone(s.Namespaces), slices.Clone(s.AllowHosts)
	}
	return c
}

func (r *rig) reload(c Config) {
	r.Helper()
	if err := r.target.Reload(c); err != nil {
		r.Fatal(err)
	}
}

// listen wants events on an admin queue, and has one request waiting.
func (r *rig) listen(q fabric.Queue, notices uint32) {
	r.Helper()
	r.want(wire.Success, q, wire.FeatureCommand{Set: true, FID: wire.FeatureAsyncEvents, Value: notices}.Command(), nil)
	r.await(q)
}

const eventTag = 30 // of event requests

func (r *rig) await(q fabric.Queue) {
	r.Helper()
	cmd := wire.Command{Opcode: wire.OpAsyncEvent}
	if err := q.Submit(eventTag, &cmd, fabric.Buffer{}); err != nil {
		r.Fatal(err)
	}
}

// event waits for the event request and compares.
func (r *rig) event(q fabric.Queue, want wire.Event) {
	r.Helper()
	var done [1]wire.Completion
	if _, err := q.Wait(done[:]); err != nil || done[0].CID != eventTag || done[0].Status != wire.Success || done[0].Result != uint64(want) {
		r.Fatalf("%+v %v, want the event %#x", done[0], err, uint32(want))
	}
}

func TestReloadTellsOfNamespaces(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		admin, io := r.both()
		r.listen(admin, wire.NoticeNamespaces)
		b, err := backend.NewMemory(1<<20, 512)
		if err != nil {
			t.Fatal(err)
		}
		c := r.another()
		s := &c.Subsystems[0]
		gone := s.Namespaces[1].Backend
		s.Namespaces[1] = Namespace{ID: 9, UUID: [16]byte{9}, Backend: b}
		r.want(wire.Success, io, blocks(wire.OpWrite, 1, 0, 1), make([]byte, 512))
		r.reload(c)
		r.event(admin, wire.EventNamespaces)

		// The connections are the same, and so is namespace 1.
		r.want(wire.InvalidNamespace.WithDNR(), io, blocks(wire.OpRead, 3, 0, 1), make([]byte, 4096))
		r.want(wire.Success, io, blocks(wire.OpRead, 9, 0, 1), make([]byte, 512))
		if n := r.target.Stats()[0].Namespaces; len(n) != 2 || n[0].Writes != 1 || n[1].ID != 9 {
			t.Errorf("%+v", n)
		}
		if err := gone.ReadBlocks(make([]byte, 4096), 0); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("the backend of the removed namespace: %v", err)
		}

		// Not told again before the list was read.
		r.await(admin)
		s.Namespaces = slices.Clone(s.Namespaces)
		s.Namespaces[1].ReadOnly = true
		r.reload(c)
		r.want(wire.NSWriteProtected.WithDNR(), io, blocks(wire.OpWrite, 9, 0, 1), make([]byte, 512))
		r.changed(admin, true, []uint32{3, 9})
		r.changed(admin, false, []uint32{3, 9})
		r.changed(admin, false, nil)
		s.Namespaces = slices.Clone(s.Namespaces)
		s.Namespaces[1].ReadOnly = false
		r.reload(c)
		r.event(admin, wire.EventNamespaces)
		r.changed(admin, false, []uint32{9})
	})
}

// A device that has grown is told of, and its new blocks are served.
func TestReloadGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(path, make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := backend.OpenFile(path, 0, 512)
	if err != nil {
		t.Fatal(err)
	}
	r := rigOn(t, b)
	admin, io := r.both()
	r.listen(admin, wire.NoticeNamespaces)
	if err := errors.Join(os.Truncate(path, 16384), b.(backend.Grower).Grow()); err != nil {
		t.Fatal(err)
	}
	r.want(wire.LBAOutOfRange.WithDNR(), io, blocks(wire.OpRead, 1, 31, 1), make([]byte, 512)) // not yet told
	r.reload(r.another())
	r.event(admin, wire.EventNamespaces)
	r.changed(admin, false, []uint32{1})
	var ns wire.IdentifyNamespace
	page := make([]byte, wire.IdentifySize)
	r.want(wire.Success, admin, wire.IdentifyCommand{CNS: wire.CNSNamespace, NSID: 1}.Command(), page)
	if err := ns.UnmarshalBinary(page); err != nil || ns.NSZE != 32 || ns.NCAP != 32 {
		t.Errorf("%+v, %v", ns, err)
	}
	r.want(wire.Success, io, blocks(wire.OpRead, 1, 31, 1), make([]byte, 512))
}

// changed reads the changed namespace list.
func (r *rig) changed(q fabric.Queue, keep bool, want []uint32) {
	r.Helper()
	var list wire.NSList
	if err := list.UnmarshalBinary(r.page(wire.Success, q, wire.GetLogPageCommand{LID: wire.LogChangedNS, RAE: keep}, 4096)); err != nil || !slices.Equal(list, want) {
		r.Errorf("changed namespaces %d (%v), want %d", list, err, want)
	}
}

func TestReloadTellsOfAccess(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		admin, _ := r.both()
		r.listen(admin, wire.NoticeANA)
		c := r.another()
		c.Access = []Access{{Portal: r.portal.Addr(), Group: 1, State: wire.ANANonOptimized}}
		r.reload(c)
		r.event(admin, wire.EventANA)
		// An event that comes while no request is held waits for the next one.
		r.ana(admin, 0)
		c.Access = nil
		r.reload(c)
		r.await(admin)
		r.event(admin, wire.EventANA)
	})
}

// A host hears of a change of discovery only if the change shows to it.
func TestReloadTellsOfDiscovery(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		mine, _ := r.admin(wire.DiscoveryNQN, hostNQN, 0)
		others, _ := r.admin(wire.DiscoveryNQN, stranger, 0)
		r.listen(mine, wire.NoticeDiscovery)
		r.listen(others, wire.NoticeDiscovery)
		c := r.another()
		c.Subsystems[1].AllowHosts = []string{stranger}
		r.reload(c)
		r.event(others, wire.EventDiscovery)
		if head, entries := r.log(stranger, 4096); head.GenCtr != 8 || len(entries) != 3 || entries[1].SubNQN != otherNQN {
			t.Errorf("%+v %+v", head, entries)
		}
		r.reload(c) // nothing is new
		c.Portals = c.Portals[:1]
		r.reload(c)
		r.event(mine, wire.EventDiscovery)
		if head, entries := r.log(hostNQN, 4096); head.GenCtr != 9 || len(entries) != 2 {
			t.Errorf("%+v %+v", head, entries)
		}
		// The stranger has not read its log since the first event.
		cmd := wire.Command{Opcode: wire.OpKeepAlive}
		r.await(others)
		r.want(wire.Success, others, cmd, nil)
	})
}

func TestReloadExpels(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, io := r.both()
		discovery, _ := r.admin(wire.DiscoveryNQN, hostNQN, 0)
		c := r.another()
		c.Subsystems[0].AllowHosts = []string{stranger}
		r.reload(c)
		r.dead(io)
		r.want(wire.ConnectInvalidHost.WithDNR(), r.dial(0), connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
		_, id := r.admin(subNQN, stranger, 0)
		io = r.io(subNQN, stranger, id, 1)
		c.Subsystems = slices.Clone(c.Subsystems[1:])
		r.reload(c)
		r.dead(io)
		r.want(wire.Success, discovery, wire.Command{Opcode: wire.OpKeepAlive}, nil)
	})
}

// A subsystem is served, and shown, at its own portals only.
func TestReloadMovesPortals(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, io := r.both()
		c := r.another()
		c.Subsystems[0].Portals = []string{r.portal.Addr()}
		c.Portals = append(c.Portals, Portal{Transport: "tcp", Address: r.portal.Addr()})
		r.reload(c)
		r.want(wire.Success, io, wire.Command{Opcode: wire.OpFlush, Flags: wire.FlagsSGL, NSID: 1}, nil)
		if head, entries := r.log(hostNQN, 4096); head.GenCtr != 8 || len(entries) != 2 || entries[1].PortID != 3 {
			t.Errorf("%+v %+v", head, entries)
		}
		c = r.another()
		c.Subsystems[0].Portals = []string{c.Portals[0].Address}
		r.reload(c)
		r.dead(io)
		r.want(wire.ConnectInvalidHost.WithDNR(), r.dial(0), connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
		if head, entries := r.log(hostNQN, 4096); head.GenCtr != 9 || len(entries) != 2 || entries[1].PortID != 1 {
			t.Errorf("%+v %+v", head, entries)
		}
	})
}

func TestReloadRefuses(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, io := r.both()
		for name, change := range map[string]func(*Config){
			"twice": func(c *Config) { c.Subsystems[1].NQN = subNQN },
			"id":    func(c *Config) { c.Subsystems[0].Namespaces[0].ID = 0 },
			"group": func(c *Config) { c.Subsystems[0].Namespaces[0].Group = MaxGroups + 1 },
			"state": func(c *Config) { c.Access = []Access{{Portal: "x", Group: 0}} },
		} {
			c := r.another()
			change(&c)
			if err := r.target.Reload(c); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		r.want(wire.Success, io, blocks(wire.OpRead, 3, 0, 1), make([]byte, 4096))
	})
}

// While a configuration is being read, no host is told to go away for good.
func TestHold(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		connect := func(want wire.Status) {
			t.Helper()
			r.want(want, r.dial(0), connectCommand(0, 0), connectData(otherNQN, stranger, 0xffff))
		}
		connect(wire.ConnectInvalidHost.WithDNR())
		r.target.Hold()
		connect(wire.ConnectControllerBusy)
		r.target.Resume()
		connect(wire.ConnectInvalidHost.WithDNR())
		r.target.Hold()
		c := r.another()
		c.Subsystems[1].AllowHosts = []string{stranger}
		r.reload(c)
		connect(wire.Success)
	})
}

// A reset or a shutdown aborts requests for events, and says nothing of them: the
// host has forgotten them. Those that come after it are served.
func TestResetDropsEventRequests(t *testing.T) {
	const enable = wire.CCEnable | wire.CCIOSQES | wire.CCIOCQES
	for name, cc := range map[string]uint32{"reset": 0, "shutdown": enable | wire.CCShutdown} {
		fabrics(t, func(t *testing.T, r *rig) {
			admin, _ := r.both()
			r.await(admin)
			r.want(wire.Success, admin, setCC(cc), nil) // another completion would fail it
			r.want(wire.Success, admin, setCC(0), nil)
			r.want(wire.Success, admin, setCC(enable), nil)
			r.want(wire.Success, admin, wire.Command{Opcode: wire.OpKeepAlive}, nil)
			var done [1]wire.Completion
			if n, err := admin.Poll(done[:]); n != 0 || err != nil {
				t.Errorf("%s: %d, %v: %v", name, n, err, done[0])
			}
		})
	}
}
