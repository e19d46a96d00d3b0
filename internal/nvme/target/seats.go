package target

import (
	"math"
	"sync"

	"weft/internal/nvme/wire"
)

// seats are places that hosts share, by their NQN: controllers, or queues and
// with them the descriptors of the process. No host gets more than it leaves to
// others: alone it may have half, beside k that take all they can another still
// finds as many as each of them has.
type seats struct {
	mu    sync.Mutex
	most  int // 0 is any number
	taken int
	of    map[string]int
}

// strangersShare is the part of all strangers that may be of one source, or go by
// one name.
const strangersShare = 4

// share divides places: those of hosts that do I/O, of strangers, and with so many
// descriptors (0: any number) what of those is for whom.
func (t *Target) share(descriptors int) {
	unproven, visitors := maxUnproven, maxDiscovery
	if descriptors > 0 {
		t.queueSeats.most = max(2, descriptors/2)
		unproven = max(strangersShare, min(unproven, descriptors/16))
		visitors = max(strangersShare, min(visitors, descriptors/8))
	}
	t.controllerSeats.most = maxControllers - unproven - visitors
	t.unproven.Most, t.unproven.OfSource, t.unproven.OfName = unproven, unproven/strangersShare, unproven/strangersShare
	t.visitors.Most, t.visitors.OfSource = visitors, visitors/strangersShare
}

// take reports whether there was a place.
func (s *seats) take(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room(host) < 1 {
		return false
	}
	s.sit(host)
	return true
}

// claim takes a place for who was told that there is one.
func (s *seats) claim(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sit(host)
}

func (s *seats) sit(host string) {
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.taken++
	s.of[host]++
}

// leave gives a place back.
func (s *seats) leave(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.of[host]--; s.of[host] == 0 {
		delete(s.of, host)
	}
}

// left is how many places a host can still take.
func (s *seats) left(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room(host)
}

// room is left. The caller holds mu.
func (s *seats) room(host string) int {
	if s.most == 0 {
		return math.MaxInt
	}
	return (s.most - s.taken - s.of[host] + 1) / 2
}

// seat gives a queue its place, or says which limit keeps it out: with Controller
// Busy, which also stands for "no available controller" (Base revision 2.2
// figure 105), and without DNR, as there may be a place another time. Who
// must authenticate first takes it then; only that there is one is seen to now.
func (q *queue) seat(admin, later bool) error {
	t, host := q.t, q.host
	enough := func(s *seats) bool {
		if later {
			return s.left(host) > 0
		}
		return s.take(host)
	}
	const share = "no host gets more than it leaves to others"
	if admin && !enough(&t.controllerSeats) {
		return refuse(wire.ConnectControllerBusy, "the host has too many of %d controllers: %s", t.controllerSeats.most, share)
	}
	if !enough(&t.queueSeats) {
		if admin && !later {
			t.controllerSeats.leave(host)
		}
		return refuse(wire.ConnectControllerBusy, "the host has too many of %d connections: %s (see LimitNOFILE=)", t.queueSeats.most, share)
	}
	q.seated.Store(!later)
	return nil
}

// claimSeat is for the admin queue of a host that has just authenticated.
func (q *queue) claimSeat() {
	if q.qid != 0 || q.seated.Load() {
		return
	}
	q.t.controllerSeats.claim(q.host)
	q.t.queueSeats.claim(q.host)
	q.seated.Store(true)
	if q.gone.Load() {
		q.leaveSeat()
	}
}

// leaveSeat is for a queue that has ended.
func (q *queue) leaveSeat() {
	if !q.seated.Swap(false) {
		return
	}
	q.t.queueSeats.leave(q.host)
	if q.qid == 0 {
		q.t.controllerSeats.leave(q.host)
	}
}
