package target

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
	"weft/internal/nvme/wire"
	"weft/internal/require"
)

func TestConnectRefused(t *testing.T) {
	base := func() wire.ConnectCommand { return wire.ConnectCommand{SQSize: 31} }
	cases := []struct {
		name   string
		cmd    func() wire.ConnectCommand
		data   []byte
		want   wire.Status
		result uint64
	}{
		{"format", func() wire.ConnectCommand { c := base(); c.RecordFormat = 1; return c }, connectData(subNQN, hostNQN, 0xffff), wire.ConnectIncompatible, 0},
		{"queue of one", func() wire.ConnectCommand { c := base(); c.SQSize = 0; return c }, connectData(subNQN, hostNQN, 0xffff), wire.ConnectInvalidParam, 44},
		{"queue too long", func() wire.ConnectCommand { c := base(); c.SQSize = MaxDepth; return c }, connectData(subNQN, hostNQN, 0xffff), wire.ConnectInvalidParam, 44},
		{"static controller", base, connectData(subNQN, hostNQN, 0xfffe), wire.ConnectInvalidParam, 1<<16 | 16},
		{"no subsystem named", base, connectData("", hostNQN, 0xffff), wire.ConnectInvalidParam, 1<<16 | 256},
		{"no host named", base, connectData(subNQN, "", 0xffff), wire.ConnectInvalidParam, 1<<16 | 512},
		{"stranger", base, connectData(subNQN, stranger, 0xffff), wire.ConnectInvalidHost, 0},
		{"closed subsystem", base, connectData(otherNQN, hostNQN, 0xffff), wire.ConnectInvalidHost, 0},
		{"no such subsystem", base, connectData("nqn.2026-11.net.example:none", hostNQN, 0xffff), wire.ConnectInvalidHost, 0},
		{"I/O queue without controller", func() wire.ConnectCommand { c := base(); c.QID = 1; return c }, connectData(subNQN, hostNQN, 99), wire.ConnectInvalidParam, 1<<16 | 16},
	}
	// A target that was restarted does not know the controllers of before: a
	// host that was told not to retry would never come back.
	again := map[string]bool{"I/O queue without controller": true}
	fabrics(t, func(t *testing.T, r *rig) {
		for _, c := range cases {
			q := r.dial(c.cmd().QID)
			want := c.want.WithDNR()
			if again[c.name] {
				want = c.want
			}
			if result := r.want(want, q, c.cmd().Command(), c.data); result != c.result {
				t.Errorf("%s: result %#x, want %#x", c.name, result, c.result)
			}
			// Nothing is told to a queue that was refused.
			r.want(wire.CommandSequence.WithDNR(), q, wire.IdentifyCommand{CNS: wire.CNSController}.Command(), make([]byte, 4096))
		}
		if s := r.target.Stats(); s[0].Controllers != 0 || s[1].Controllers != 0 {
			t.Errorf("refused hosts have controllers: %+v", s)
		}
	})
}

func TestConnectNeedsItsData(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q := r.dial(0)
		r.want(wire.SGLInvalidLength.WithDNR(), q, connectCommand(0, 0), make([]byte, 512))
		r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
		r.want(wire.CommandSequence.WithDNR(), q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	})
}

func TestIOQueuesJoinTheirOwnController(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		invalidID, sequence := wire.ConnectInvalidParam.WithDNR(), wire.CommandSequence.WithDNR()
		_, id := r.admin(subNQN, hostNQN, 0)
		join := func(want wire.Status, qid uint16, sub, host string, id uint16) {
			t.Helper()
			r.want(want, r.dial(qid), connectCommand(qid, 0), connectData(sub, host, id))
		}
		join(wire.Success, 1, subNQN, hostNQN, id)
		join(sequence, 1, subNQN, hostNQN, id) // taken
		join(wire.Success, maxQueues, subNQN, hostNQN, id)
		join(invalidID, maxQueues+1, subNQN, hostNQN, id)
		join(wire.ConnectInvalidParam, 2, wire.DiscoveryNQN, hostNQN, id)
		join(wire.ConnectInvalidHost.WithDNR(), 2, subNQN, stranger, id)

		_, discovery := r.admin(wire.DiscoveryNQN, hostNQN, 0)
		join(invalidID, 1, wire.DiscoveryNQN, hostNQN, discovery) // has none

		idle := r.dial(0)
		disabled := uint16(r.want(wire.Success, idle, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff)))
		join(sequence, 1, subNQN, hostNQN, disabled)
		if disabled == id {
			t.Errorf("two controllers are %d", id)
		}
		if s := r.target.Stats(); s[0].Controllers != 2 {
			t.Errorf("%d controllers, want 2", s[0].Controllers)
		}
	})
}

func TestProperties(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q := r.dial(0)
		r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
		get := func(want wire.Status, offset uint32, wide bool) uint64 {
			t.Helper()
			return r.want(want, q, wire.PropertyCommand{Offset: offset, Wide: wide}.Command(), nil)
		}
		invalid := wire.InvalidField.WithDNR()
		if c := wire.CAPOf(get(wire.Success, wire.PropCAP, true)); c.MQES != MaxDepth-1 || c.MPSMIN != 0 || !c.CQR || c.TO == 0 || c.CSS&1 == 0 {
			t.Errorf("capabilities %+v", c)
		}
		get(invalid, wire.PropCAP, false)
		get(invalid, wire.PropVS, true)
		get(invalid, 0x3c, false)
		r.want(invalid, q, wire.PropertyCommand{Set: true, Offset: wire.PropCSTS}.Command(), nil)

		status := func(want uint64) {
			t.Helper()
			if got := get(wire.Success, wire.PropCSTS, false); got != want {
				t.Errorf("status %#x, want %#x", got, want)
			}
		}
		identify := wire.IdentifyCommand{CNS: wire.CNSController}.Command()
		page := make([]byte, 4096)
		status(0)
		r.want(wire.CommandSequence.WithDNR(), q, identify, page)
		r.want(wire.Success, q, setCC(wire.CCEnable), nil) // without entry sizes
		status(wire.CSTSFatal)
		r.want(wire.Success, q, setCC(0), nil)
		r.want(wire.Success, q, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
		status(wire.CSTSReady)
		r.want(wire.Success, q, identify, page)
		r.want(wire.Success, q, setCC(wire.CCEnable|wire.CCShutdown|wire.CCIOSQES|wire.CCIOCQES), nil)
		status(wire.CSTSShutdownComplete)
		r.want(wire.CommandSequence.WithDNR(), q, identify, page)
	})
}

func TestShutdownEndsIOQueues(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		admin, io := r.both()
		r.want(wire.Success, admin, setCC(wire.CCEnable|wire.CCShutdown|wire.CCIOSQES|wire.CCIOCQES), nil)
		r.dead(io)
		r.want(wire.Success, admin, wire.PropertyCommand{Offset: wire.PropCSTS}.Command(), nil)
	})
}

func TestControllerEndsWithItsAdminQueue(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		admin, io := r.both()
		if err := admin.Close(); err != nil {
			t.Fatal(err)
		}
		r.dead(io)
		if s := r.target.Stats(); s[0].Controllers != 0 {
			t.Errorf("%d controllers are left", s[0].Controllers)
		}
	})
}

func TestKeepAliveTimeout(t *testing.T) {
	require.Long(t, "4 s")
	fabrics(t, func(t *testing.T, r *rig) {
		admin, id := r.admin(subNQN, hostNQN, 60_001) // rounded up to a second
		io := r.io(subNQN, hostNQN, id, 1)
		get := wire.FeatureCommand{FID: wire.FeatureKeepAlive}.Command()
		if ms := r.want(wire.Success, admin, get, nil); ms != 61_000 {
			t.Errorf("keep-alive timeout of %d ms, want 61000", ms)
		}
		r.want(wire.Success, admin, wire.FeatureCommand{Set: true, FID: wire.FeatureKeepAlive, Value: 1}.Command(), nil)
		r.hangsUp(admin)
		r.dead(io)
		if s := r.target.Stats(); s[0].Controllers != 0 {
			t.Errorf("%d controllers are left", s[0].Controllers)
		}
	})
}

// Discovery is open to everybody: its controllers must not take the places of
// those that do I/O, nor those of each other.
func TestDiscoveryLeavesRoom(t *testing.T) {
	t.Parallel()
	tgt, err := New(config(t))
	if err != nil {
		t.Fatal(err)
	}
	visit := func(source string) *controller {
		t.Helper()
		c := &controller{t: tgt, source: source, portal: &portal{}}
		if err := tgt.add(c, wire.DynamicController); err != nil {
			t.Fatalf("a controller of discovery is refused: %v", err)
		}
		tgt.receive(&tgt.visitors, c)
		return c
	}
	quiet := visit("host")
	for i := range 2 * maxDiscovery {
		visit(fmt.Sprint("stranger", i%8))
	}
	if n := tgt.visitors.Len(); n != maxDiscovery || len(tgt.connected()) != n || quiet.ended {
		t.Errorf("%d controllers of discovery, want %d; the one of a host that came first has ended: %v", n, maxDiscovery, quiet.ended)
	}
	for range maxDiscovery {
		visit("stranger0")
	}
	count := 0
	for _, c := range tgt.connected() {
		if c.source == "stranger0" {
			count++
		}
	}
	if count > maxDiscovery/strangersShare || quiet.ended {
		t.Errorf("%d controllers of one source, want at most %d", count, maxDiscovery/strangersShare)
	}
	if err := tgt.add(&controller{t: tgt, sub: tgt.subsystems[subNQN], portal: &portal{}, host: wire.ConnectData{HostNQN: hostNQN}}, wire.DynamicController); err != nil {
		t.Errorf("no room for a controller that does I/O: %v", err)
	}
	for _, c := range tgt.connected() {
		if c.sub == nil {
			c.end("the test is over")
		}
	}
	if n := tgt.visitors.Len(); n != 0 {
		t.Errorf("%d controllers of discovery after they have ended", n)
	}
	if err := tgt.Close(); err != nil {
		t.Error(err)
	}
}

// TestShortOfSomething: what this machine lacks for a host to connect, or for its
// commands, is said here, with what to do; the host learns no more than that it is refused. Strangers that
// come and go are not worth a word.
func TestShortOfSomething(t *testing.T) {
	var said bytes.Buffer
	tgt, err := New(Config{Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer tgt.Close()
	tgt.Accept(new(paper)).Disconnected(errors.New("reset by peer"))
	if said.Len() > 0 {
		t.Errorf("said of a stranger: %s", said.String())
	}
	tgt.Accept(new(paper)).Disconnected(hint.Wrap(errors.New("register 4096 bytes: cannot allocate memory"), "see ulimit -l"))
	tgt.Accept(new(paper)).(fabric.Short).Short(hint.Wrap(errors.New("register 65536 bytes: cannot allocate memory"), "see LimitMEMLOCK="))
	for _, want := range []string{"could not connect", "cannot allocate memory", "see ulimit -l", "commands of a host fail", "register 65536", "see LimitMEMLOCK="} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not said: %s", want, said.String())
		}
	}
}

// TestDiscoveryIsSmall: what anybody may have takes little memory, and hosts are
// told so before they ask for more.
func TestDiscoveryIsSmall(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		data := connectData(wire.DiscoveryNQN, stranger, wire.DynamicController)
		for _, size := range []uint16{discoveryDepth, MaxDepth - 1} {
			q := r.dial(0)
			want := wire.ConnectInvalidResult(atSQSize, false)
			if got := r.want(wire.ConnectInvalidParam.WithDNR(), q, wire.ConnectCommand{SQSize: size}.Command(), data); got != want {
				t.Errorf("queue of %d entries: refused for %#x, want %#x", size+1, got, want)
			}
		}
		q := r.dial(0)
		r.want(wire.Success, q, wire.ConnectCommand{SQSize: discoveryDepth - 1}.Command(), data)
		r.want(wire.Success, q, setCC(wire.CCEnable), nil)
		caps := wire.CAPOf(r.want(wire.Success, q, wire.PropertyCommand{Offset: wire.PropCAP, Wide: true}.Command(), nil))
		var id wire.IdentifyController
		page := make([]byte, wire.IdentifySize)
		r.want(wire.Success, q, wire.IdentifyCommand{CNS: wire.CNSController}.Command(), page)
		if err := id.UnmarshalBinary(page); err != nil {
			t.Fatal(err)
		}
		if int(caps.MQES) != discoveryDepth-1 || 4096<<id.MDTS != discoveryTransfer || int(id.MAXCMD) != discoveryDepth {
			t.Errorf("hosts are told of %d entries, %d bytes and %d commands", caps.MQES+1, 4096<<id.MDTS, id.MAXCMD)
		}
		for n, want := range map[int]wire.Status{discoveryTransfer: wire.Success, discoveryTransfer + 4: wire.InvalidField.WithDNR(), MaxTransfer: wire.InvalidField.WithDNR()} {
			r.want(want, q, wire.GetLogPageCommand{LID: wire.LogDiscovery, Length: uint64(n)}.Command(), make([]byte, n))
		}
	})
}

// TestControllerOfItsChoice: hosts of the static model, as Windows has it, say which
// controller they want. It is theirs if it is free in that subsystem.
func TestControllerOfItsChoice(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		c := r.another()
		c.Subsystems[0].AllowHosts = append(c.Subsystems[0].AllowHosts, stranger)
		c.Subsystems[1].AllowHosts = []string{hostNQN}
		r.reload(c)
		ask := func(want wire.Status, sub, host string, id uint16) (fabric.Queue, uint64) {
			t.Helper()
			q := r.dial(0)
			return q, r.want(want, q, connectCommand(0, 0), connectData(sub, host, id))
		}
		for _, id := range []uint16{0, 5, maxID - 1} {
			if _, got := ask(wire.Success, subNQN, hostNQN, id); got != uint64(id) {
				t.Errorf("asked for controller %d, got %d", id, got)
			}
		}
		ask(wire.ConnectControllerBusy, subNQN, stranger, 5)
		ask(wire.ConnectControllerBusy, subNQN, hostNQN, 5)
		ask(wire.Success, otherNQN, hostNQN, 5) // another one
		for _, id := range []uint16{maxID, 0xfffe} {
			ask(wire.ConnectInvalidParam.WithDNR(), subNQN, hostNQN, id)
		}
		// It does all that others do, and is free when its host has gone.
		q, _ := ask(wire.Success, subNQN, hostNQN, 7)
		r.want(wire.Success, q, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
		io := r.io(subNQN, hostNQN, 7, 1)
		r.want(wire.Success, io, blocks(wire.OpRead, 1, 0, 1), make([]byte, 512))
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		r.dead(io)
		deadline := time.Now().Add(patience)
		for again := r.dial(0); r.do(again, connectCommand(0, 0), connectData(subNQN, stranger, 7)).Status != wire.Success; again = r.dial(0) {
			if time.Now().After(deadline) {
				t.Fatal("controller 7 is not free again")
			}
		}
		// Who does not choose gets one that nobody has.
		seen := map[uint64]bool{}
		for range 20 {
			_, id := ask(wire.Success, subNQN, hostNQN, wire.DynamicController)
			if id < firstID || id >= maxID || seen[id] {
				t.Errorf("controller %d", id)
			}
			seen[id] = true
		}
	})
}

// TestTLSKeyIsForItsNames: a host cannot go by the key of another, nor by its own to
// another subsystem.
func TestTLSKeyIsForItsNames(t *testing.T) {
	key := tls13.Key{Secret: make([]byte, 32), Suite: tls13.AES128SHA256}
	for identity, want := range map[string]wire.Status{
		"NVMe0R01 " + hostNQN + " " + subNQN:        wire.Success,
		"NVMe1R01 " + hostNQN + " " + subNQN + " x": wire.Success,
		"NVMe0R01 " + stranger + " " + subNQN:       wire.ConnectInvalidHost.WithDNR(),
		"NVMe0R01 " + hostNQN + " " + otherNQN:      wire.ConnectInvalidHost.WithDNR(),
		"Client_identity":                           wire.ConnectInvalidHost.WithDNR(),
	} {
		key.Identity = identity
		r := newRig(t, &tcp.Transport{Offers: []tls13.Key{key}, Keys: func(id string) (tls13.Key, bool) { return key, id == identity }}, config(t))
		r.want(want, r.dial(0), connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	}
}

// TestDiscoveryTellsOfTLS: what a host needs to know before it connects.
func TestDiscoveryTellsOfTLS(t *testing.T) {
	c := Config{Portals: []Portal{{Transport: "tcp", Address: "10.40.1.11:4420", TLS: true}, {Transport: "tcp", Address: "10.40.1.12:4420"}}}
	for _, p := range c.Portals {
		e, err := c.entry(p, subNQN)
		if err != nil || (e.TSAS[0] == 2) != p.TLS || (e.Treq&3 == 1) != p.TLS || e.PortID == 0 {
			t.Errorf("%+v: security %d, requirements %d, port %d: %v", p, e.TSAS[0], e.Treq, e.PortID, err)
		}
	}
}
