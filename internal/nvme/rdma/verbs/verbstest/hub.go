package verbstest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"weft/internal/nvme/rdma/verbs"
)

// hub is where pairs complete. Everything is under the fabric's lock.
type hub struct {
	f      *Fabric
	room   int // for completions of pairs that may come
	pairs  []*pair
	gone   []*pair // whose completions may still be there
	dones  []done
	armed  bool
	news   bool
	closed bool
	woken  chan struct{} // has one element when Wait is to look
}

// Hub makes one.
func (f *Fabric) Hub(room int) (verbs.Hub, error) {
	if l := f.Limits(); room > l.Dones {
		return nil, fmt.Errorf("%d completions are more than %s can keep", room, l.Device)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hubs++
	return &hub{f: f, room: room, woken: make(chan struct{}, 1)}, nil
}

// add adds a completion.
func (h *hub) add(d done) {
	h.dones = append(h.dones, d)
	if h.armed {
		h.armed = false
		h.wake(false)
	}
}

func (h *hub) wake(news bool) {
	h.news = h.news || news
	select {
	case h.woken <- struct{}{}:
	default:
	}
}

// leave is for a pair whose link is closed.
func (h *hub) leave(p *pair) {
	h.pairs = slices.DeleteFunc(h.pairs, func(q *pair) bool { return q == p })
	h.gone = append(h.gone, p)
}

func (h *hub) Poll(out []verbs.Done) (int, error) {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	n := min(len(out), len(h.dones))
	for i, d := range h.dones[:n] {
		out[i] = d.Done
		d.of.freed = max(d.of.freed, d.upTo)
	}
	h.dones = h.dones[:copy(h.dones, h.dones[n:])]
	if n < len(out) {
		for _, p := range h.gone {
			h.room += p.room.Sends + p.room.Receives
		}
		h.gone = nil
	}
	return n, nil
}

func (h *hub) Arm() error {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	h.armed = true
	return nil
}

func (h *hub) Wait(deadline time.Time) error {
	var timer <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-h.woken:
		return h.look()
	default:
	}
	select {
	case <-timer:
		h.f.mu.Lock()
		defer h.f.mu.Unlock()
		h.armed = false
		return os.ErrDeadlineExceeded
	case <-h.woken:
		return h.look()
	}
}

// look sees what has happened.
func (h *hub) look() error {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	for _, p := range h.pairs {
		p.told = p.why
	}
	h.armed = false
	if h.news {
		h.news = false
		return verbs.ErrNews
	}
	return nil
}

func (h *hub) Wake() {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	h.wake(true)
}

func (h *hub) Close() error {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	switch {
	case h.closed:
		return nil
	case len(h.pairs) > 0:
		return errors.New("a hub is closed that has pairs")
	}
	h.closed = true
	h.f.hubs--
	return nil
}
