package target

import (
	"testing"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

func TestSeats(t *testing.T) {
	s := seats{most: 120}
	all := func(host string) (n int) {
		for s.take(host) {
			n++
		}
		return n
	}
	if a, b, c := all("a"), all("b"), all("c"); a != 60 || b != 30 || c != 15 {
		t.Errorf("hosts take %d, %d and %d of %d", a, b, c, s.most)
	}
	if !s.take("d") {
		t.Error("nothing is left for a host that has nothing")
	}
	for range 60 {
		s.leave("a")
	}
	if n := s.left("b"); n != 22 { // beside 30, 15 and 1
		t.Errorf("%d are left for another, want 22", n)
	}
	if n := s.left("b"); all("b") != n {
		t.Error("what is left cannot be taken")
	}
}

// TestHostsLeaveConnections: a host that takes all connections that it can is told
// that there are no more for it, and another gets some.
func TestHostsLeaveConnections(t *testing.T) {
	const descriptors = 64
	c := config(t)
	c.Descriptors = descriptors
	c.Subsystems[0].AllowHosts = append(c.Subsystems[0].AllowHosts, neighbour)
	r := newRig(t, &tcp.Transport{}, c)
	features := func(admin fabric.Queue) int {
		set := wire.FeatureCommand{Set: true, FID: wire.FeatureQueues, Value: wire.QueueCounts{Submission: 128, Completion: 128}.Value()}
		return int(wire.QueueCountsOf(uint32(r.want(wire.Success, admin, set.Command(), nil))).Submission)
	}
	admin, id := r.admin(subNQN, hostNQN, 0)
	granted := features(admin)
	if granted < 1 || granted >= descriptors/2/2 {
		t.Errorf("a host is granted %d queues of %d descriptors", granted, descriptors)
	}
	for qid := range granted {
		r.io(subNQN, hostNQN, id, uint16(qid+1))
	}
	r.want(wire.ConnectControllerBusy, r.dial(2), connectCommand(uint16(granted+1), 0), connectData(subNQN, hostNQN, id))
	r.want(wire.ConnectControllerBusy, r.dial(0), connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	other, otherID := r.admin(subNQN, neighbour, 0)
	if n := features(other); n < 2 {
		t.Errorf("another host is granted %d queues", n)
	}
	r.want(wire.Success, r.io(subNQN, neighbour, otherID, 1), blocks(wire.OpRead, 1, 0, 1), make([]byte, 512))

	if err := admin.Close(); err != nil {
		t.Error(err)
	}
	until(t, "the places are free again", func() bool {
		return seated(&r.target.queueSeats, hostNQN) == 0 && seated(&r.target.controllerSeats, hostNQN) == 0
	})
	r.admin(subNQN, hostNQN, 0)
}

// seated is how many places a host has.
func seated(s *seats, host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[host]
}

// Who has yet to authenticate takes no place of the host whose name it knows.
func TestStrangersTakeNoSeats(t *testing.T) {
	c := config(t)
	c.Descriptors = 64
	r := newRig(t, &tcp.Transport{}, c)
	k := keys(t)
	r.guarded(k)
	for range 64 {
		r.want(wire.Success, r.dial(0), connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	}
	if n := r.target.queueSeats.left(hostNQN); n != 16 {
		t.Errorf("%d places are left for the host, want 16", n)
	}
	q := r.dial(0)
	r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	for range 2 { // once more takes no second place
		if err := r.prove(q, dhchap.Peer{Host: k.Host}); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.target.queueSeats.left(hostNQN); n != 15 {
		t.Errorf("%d places are left for the host that has authenticated, want 15", n)
	}
	_ = q.Close()
	until(t, "its place is free again", func() bool { return r.target.queueSeats.left(hostNQN) == 16 })
}
