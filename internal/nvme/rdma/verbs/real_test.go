//go:build linux && (amd64 || arm64)

package verbs

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weft/internal/hint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// device returns the libraries and an address of a port that is active. Where
// there is none the test is skipped: guests of the lab have one.
func device(t *testing.T) (Provider, netip.Addr) {
	t.Helper()
	v, err := Load()
	if err != nil {
		if hint.Of(err) == "" {
			t.Errorf("%v: without a hint", err)
		}
		t.Skipf("%v (%s)", err, hint.Of(err))
	}
	all, err := v.Devices()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		t.Logf("%+v", d)
		for _, p := range d.Ports {
			if ip := address4(d, p); p.State == PortActive && ip.IsValid() {
				return v, ip
			}
		}
	}
	t.Skipf("no port is active and has an address: %+v", all)
	return nil, netip.Addr{}
}

// address4 is an IPv4 address of a port: among its GIDs with RoCE, of its
// interface with iWARP, whose GIDs are none.
func address4(d Device, p Port) netip.Addr {
	for _, g := range p.GIDs {
		if g.Type == GIDRoCEv2 && g.IP().Is4() {
			return g.IP()
		}
	}
	entries, err := os.ReadDir("/sys/class/infiniband/" + d.Name + "/device/net")
	name := os.Getenv("WEFT_RDMA_INTERFACE")
	if err == nil && len(entries) > 0 {
		name = entries[0].Name()
	}
	nic, err := net.InterfaceByName(name)
	if err != nil {
		return netip.Addr{}
	}
	addrs, err := nic.Addrs()
	if err != nil {
		return netip.Addr{}
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			return p.Addr()
		}
	}
	return netip.Addr{}
}

// end is one end of a connection, with memory.
type end struct {
	t    *testing.T
	link Link
	hub  Hub
	pair Pair
	mem  []byte
	mr   *Memory
}

func newEnd(t *testing.T, k Link) *end {
	t.Helper()
	e := &end{t: t, link: k, mem: make([]byte, 1<<16)}
	var err error
	if e.hub, err = k.Domain().Hub(32); err != nil {
		t.Fatal(err)
	}
	if e.pair, err = k.Open(e.hub, Queue{Sends: 16, Receives: 16, Inline: MaxInline}); err != nil {
		t.Fatal(err)
	}
	if e.mr, err = k.Domain().Register(e.mem, LocalWrite|RemoteRead|RemoteWrite); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(k.Close(), e.hub.Close(), e.mr.Close()); err != nil {
			t.Error(err)
		}
	})
	e.receive(1, 0, 4096)
	return e
}

func (e *end) piece(at, n int) Piece {
	return Piece{Addr: e.mr.Addr + uint64(at), Len: uint32(n), Key: e.mr.Local}
}

func (e *end) receive(id uint64, at, n int) {
	e.t.Helper()
	if err := e.pair.Receive([]Work{{ID: id, Local: e.piece(at, n)}}); err != nil {
		e.t.Fatal(err)
	}
}

// next waits for a completion.
func (e *end) next() Done {
	e.t.Helper()
	deadline := time.Now().Add(patience)
	var done [1]Done
	for {
		for range 2 {
			n, err := e.hub.Poll(done[:])
			if err != nil {
				e.t.Fatal(err)
			}
			if n == 1 {
				return done[0]
			}
			if err := e.hub.Arm(); err != nil {
				e.t.Fatal(err)
			}
		}
		if err := e.hub.Wait(deadline); err != nil && !errors.Is(err, ErrNews) {
			e.t.Fatal(err)
		}
	}
}

// ended waits until the connection has ended.
func (e *end) ended() error {
	e.t.Helper()
	for deadline := time.Now().Add(patience); e.pair.Ended() == nil; {
		if err := e.hub.Wait(deadline); err != nil && !errors.Is(err, ErrNews) {
			e.t.Fatal(err)
		}
	}
	return e.pair.Ended()
}

// connected are both ends of a connection to this machine itself.
func connected(t *testing.T) (host, target *end) {
	t.Helper()
	v, ip := device(t)
	l, err := v.Listen(netip.AddrPortFrom(ip, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	accepted := make(chan *end, 1)
	go func() {
		defer close(accepted)
		k, h, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		if !bytes.HasPrefix(h.Private, []byte("hello")) || h.Issues == 0 {
			t.Errorf("the host says %+v", h)
		}
		e := newEnd(t, k)
		if err := k.Answer(Hello{Private: []byte("welcome"), Issues: 1}, true); err != nil {
			t.Error(err)
		}
		accepted <- e
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	k, err := v.Resolve(ctx, Route{To: l.Addr(), From: ip, ToS: 104})
	if err != nil {
		t.Fatal(err)
	}
	host = newEnd(t, k)
	answer, err := k.Connect(ctx, Hello{Private: []byte("hello"), Reads: 4})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(answer.Private, []byte("welcome")) {
		t.Errorf("the target says %+v", answer)
	}
	if target = <-accepted; target == nil {
		t.FailNow()
	}
	local, remote := k.Ends()
	if local.Addr() != ip || remote != l.Addr() {
		t.Errorf("ends %v and %v, want %v and %v", local, remote, ip, l.Addr())
	}
	return host, target
}

func TestTransfers(t *testing.T) {
	host, target := connected(t)
	copy(host.mem[8192:], "of the host")
	if err := host.pair.Send([]Work{{ID: 5, Op: OpSend, Flags: Signaled, Local: host.piece(8192, 11)}}); err != nil {
		t.Fatal(err)
	}
	if d := target.next(); d.Err() != nil || d.ID != 1 || d.Bytes != 11 || string(target.mem[:11]) != "of the host" {
		t.Errorf("received %+v: %q", d, target.mem[:11])
	}
	if d := host.next(); d.Err() != nil || d.ID != 5 {
		t.Errorf("sent %+v", d)
	}
	// A write and a send as one chain, and a read.
	copy(target.mem[100:], "written")
	copy(target.mem[200:], "then sent")
	err := target.pair.Send([]Work{
		{ID: 6, Op: OpWrite, Local: target.piece(100, 7), Remote: host.mr.Addr + 16384, Key: host.mr.Remote},
		{ID: 7, Op: OpSend, Flags: Signaled | Inline, Local: target.piece(200, 9)},
		{ID: 8, Op: OpRead, Flags: Signaled, Local: target.piece(300, 11), Remote: host.mr.Addr + 8192, Key: host.mr.Remote},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := host.next(); d.Err() != nil || string(host.mem[:9]) != "then sent" || string(host.mem[16384:16391]) != "written" {
		t.Errorf("received %+v: %q and %q", d, host.mem[:9], host.mem[16384:16391])
	}
	for _, want := range []uint64{7, 8} {
		if d := target.next(); d.Err() != nil || d.ID != want {
			t.Errorf("%+v, want %d", d, want)
		}
	}
	if string(target.mem[300:311]) != "of the host" {
		t.Errorf("read %q", target.mem[300:311])
	}
}

// TestBadKey: memory of the peer is touched by those who know its key only.
func TestBadKey(t *testing.T) {
	host, target := connected(t)
	err := target.pair.Send([]Work{{ID: 9, Op: OpWrite, Flags: Signaled, Local: target.piece(0, 8), Remote: host.mr.Addr, Key: host.mr.Remote + 0x100}})
	if err != nil {
		t.Fatal(err)
	}
	if !target.link.Domain().Limits().IWARP {
		if d := target.next(); d.Status == OK {
			t.Errorf("%+v", d)
		}
		return
	}
	// A write is done when it has left; the peer ends the connection.
	if err := target.ended(); !errors.Is(err, ErrDisconnected) {
		t.Errorf("wait: %v", err)
	}
}

// TestCloseWakes: the end of one end ends the waiting of the other.
func TestCloseWakes(t *testing.T) {
	host, target := connected(t)
	if err := host.link.Close(); err != nil {
		t.Fatal(err)
	}
	if err := target.ended(); !errors.Is(err, ErrDisconnected) {
		t.Errorf("wait: %v", err)
	}
}

// TestWakeHardware: who waits learns that there is news, once, whether it slept then or not.
func TestWakeHardware(t *testing.T) {
	_, target := connected(t)
	settle := func() { // what making the connection has left
		for target.hub.Wait(time.Unix(1, 0)) == nil || target.hub.Wait(time.Now().Add(10*time.Millisecond)) == nil {
		}
	}
	settle()
	for range 100 {
		woken := make(chan error, 1)
		go func() { woken <- target.hub.Wait(time.Now().Add(patience)) }()
		target.hub.Wake()
		if err := <-woken; !errors.Is(err, ErrNews) {
			t.Fatalf("wait: %v", err)
		}
	}
	settle()
	for name, deadline := range map[string]time.Time{"look": time.Unix(1, 0), "short": time.Now().Add(20 * time.Millisecond)} {
		if err := target.hub.Wait(deadline); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: without news: %v", name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	v, ip := device(t)
	l, err := v.Listen(netip.AddrPortFrom(ip, 0))
	if err != nil {
		t.Fatal(err)
	}
	dial := func(to netip.AddrPort) error {
		k, err := v.Resolve(t.Context(), Route{To: to})
		if err != nil {
			t.Fatal(err)
		}
		newEnd(t, k)
		_, err = k.Connect(t.Context(), Hello{Private: []byte("hello"), Reads: 1})
		return err
	}
	over := make(chan error, 1)
	go func() {
		k, _, err := l.Accept()
		if err == nil {
			err = errors.Join(k.Answer(Hello{Private: []byte{0, 0, 9, 0}}, false), k.Close())
		}
		over <- err
	}()
	var refused *RefusedError
	if err := dial(l.Addr()); !errors.As(err, &refused) || !refused.ByPeer() || !bytes.HasPrefix(refused.Private, []byte{0, 0, 9, 0}) {
		t.Errorf("refused by the peer: %v %+v", err, refused)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept after close: %v", err)
	}
	if err := dial(l.Addr()); !errors.As(err, &refused) || refused.ByPeer() {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := v.Listen(netip.MustParseAddrPort("203.0.113.9:4420")); err == nil || hint.Of(err) == "" {
		t.Errorf("an address of nobody: %v (%s)", err, hint.Of(err))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no longer wanted"))
	if _, err := v.Resolve(ctx, Route{To: l.Addr()}); err == nil {
		t.Error("resolved although the context had ended")
	}
}

// TestNoAllocation: what every command does costs no memory.
func TestNoAllocation(t *testing.T) {
	host, target := connected(t)
	done, seen := make([]Done, 8), 0
	works := []Work{{Op: OpWrite, Flags: Signaled, Local: target.piece(0, 8), Remote: host.mr.Addr + 512, Key: host.mr.Remote}}
	n := testing.AllocsPerRun(100, func() {
		if err := target.pair.Send(works); err != nil {
			t.Error(err)
		}
		for seen = 0; seen == 0; {
			n, err := target.hub.Poll(done)
			if err != nil || n > 0 && done[0].Err() != nil {
				t.Fatal(err, done[0].Err())
			}
			seen += n
		}
	})
	if n != 0 {
		t.Errorf("a write allocates %v times", n)
	}
}

func TestCodeOf(t *testing.T) {
	maps := []byte(`5581c0000000-5581c0001000 r--p 00000000 08:01 131 /usr/bin/x
5581c0001000-5581c0002000 r-xp 00001000 08:01 131 /usr/bin/x
7f0000000000-7f0000100000 rwxp 00000000 00:00 0
7f1000000000-7f1000001000 r-xp 00000000 08:01 99 /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so
`)
	all := codeOf(maps)
	for at, want := range map[uintptr]bool{0x5581c0000010: false, 0x5581c0001010: true, 0x7f0000000010: false, 0x7f1000000fff: true, 0x7f1000001000: false, 0: false} {
		if got := within(all, at); got != want {
			t.Errorf("0x%x is code: %v, want %v", at, got, want)
		}
	}
}
