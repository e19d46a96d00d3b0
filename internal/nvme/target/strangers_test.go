package target

import (
	"context"
	"net"
	"testing"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// from is a way to a target from an address of one's own.
func from(ip string) *tcp.Transport {
	return &tcp.Transport{DialAddr: func(ctx context.Context, addr string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		return d.DialContext(ctx, "tcp", addr)
	}}
}

// dialFrom opens a connection from another address.
func (r *rig) dialFrom(ip string, qid uint16) fabric.Queue {
	r.Helper()
	q, err := from(ip).Dial(r.Context(), fabric.DialParams{Addr: r.portal.Addr(), QID: qid, Depth: 31, InCapsule: InCapsule, Timeout: patience})
	if err != nil {
		r.Skipf("needs a second address: %v", err)
	}
	r.Cleanup(func() { _ = q.Close() })
	return q
}

// TestStrangersWhoDoNotLogIn: who knows the name of a host keeps no host out with
// it, neither one that is about to log in nor one that comes later.
func TestStrangersWhoDoNotLogIn(t *testing.T) {
	r := newRig(t, &tcp.Transport{}, config(t))
	k := keys(t)
	r.guarded(k)
	early := r.dial(0)
	r.want(wire.Success, early, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	for range 2 * maxUnproven {
		q := r.dialFrom("127.0.0.2", 0)
		r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	}
	if n := r.target.unproven.Len(); n > maxUnproven/strangersShare+1 {
		t.Errorf("%d of them wait for nothing, want at most %d", n, maxUnproven/strangersShare+1)
	}
	late := r.dial(0)
	r.want(wire.Success, late, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	for _, q := range []fabric.Queue{early, late} {
		if err := r.prove(q, dhchap.Peer{Host: k.Host}); err != nil {
			t.Error(err)
		}
		r.want(wire.Success, q, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
	}
}

// TestStrangersWhoNegotiate: exchanges that take long, though of many connections
// from one address, do not come before those from another.
func TestStrangersWhoNegotiate(t *testing.T) {
	const strangers, most = 40, 25
	r := newRig(t, &tcp.Transport{}, config(t))
	k := keys(t)
	r.guarded(k)
	host := r.dial(0)
	r.want(wire.Success, host, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	n := wire.AuthNegotiate{Protocols: 1, AuthID: 1, Hashes: []uint8{uint8(dhchap.SHA256)}, Groups: []uint8{uint8(dhchap.FFDHE8192)}}
	n.Type, n.ID, n.Transaction = wire.AuthCommon, wire.AuthNegotiateID, 1
	message, err := n.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	auth := wire.AuthCommand{SPSP: wire.AuthSpecific, Protocol: wire.AuthProtocol, Length: uint32(len(message))}
	var all []fabric.Queue
	for range strangers {
		q := r.dialFrom("127.0.0.2", 0)
		r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
		r.want(wire.Success, q, auth.Command(), message)
		all = append(all, q)
	}
	auth.Receive, auth.Length = true, 2048
	for _, q := range all {
		fetch := auth.Command()
		if err := q.Submit(0, &fetch, fabric.Buffer{Bytes: make([]byte, auth.Length)}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Poll(make([]wire.Completion, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.prove(host, dhchap.Peer{Host: k.Host, Groups: []dhchap.Group{dhchap.FFDHE2048}}); err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, q := range all {
		for range 10 { // it comes in pieces
			got, err := q.Poll(make([]wire.Completion, 1))
			if err != nil {
				t.Fatal(err)
			}
			if done += got; got > 0 {
				break
			}
		}
	}
	if done > most {
		t.Errorf("%d of %d challenges of strangers came before the host had logged in, want at most %d", done, strangers, most)
	}
}

// TestStrangersOnQueues: who does not log in keeps the host's own queues free.
func TestStrangersOnQueues(t *testing.T) {
	r := newRig(t, &tcp.Transport{}, config(t))
	k := keys(t)
	r.guarded(k)
	admin := r.dial(0)
	id := uint16(r.want(wire.Success, admin, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff)))
	if err := r.prove(admin, dhchap.Peer{Host: k.Host}); err != nil {
		t.Fatal(err)
	}
	r.want(wire.Success, admin, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
	stranger := r.dialFrom("127.0.0.2", 1)
	r.want(wire.Success, stranger, connectCommand(1, 0), connectData(subNQN, hostNQN, id))
	io := r.dial(1)
	r.want(wire.Success, io, connectCommand(1, 0), connectData(subNQN, hostNQN, id))
	r.want(wire.CommandSequence.WithDNR(), r.dialFrom("127.0.0.2", 1), connectCommand(1, 0), connectData(subNQN, hostNQN, id))
	if err := r.prove(io, dhchap.Peer{Host: k.Host}); err != nil {
		t.Fatal(err)
	}
	r.want(wire.CommandSequence.WithDNR(), r.dial(1), connectCommand(1, 0), connectData(subNQN, hostNQN, id))
	r.want(wire.Success, io, blocks(wire.OpRead, 1, 0, 1), make([]byte, 512))
	r.dead(stranger)
}
