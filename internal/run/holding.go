package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/wait"
	"weft/modules/claim"
)

// A Holding keeps everybody else from carrying anything out with the same records: in
// the same directory by a lock, on other machines by a lease in the store that they
// share, which this renews.
type Holding struct {
	records *Records
	lock    *Lock
	lease   *store.Lease // nil: the store is the directory's own
	who     string       // has the lease, for people
	stop    context.CancelFunc
	renews  sync.WaitGroup

	mu   sync.Mutex
	last error // of the last renewal
}

// Hold keeps a second apply out before it reads anything. Those that share neither
// directory nor store are kept out by the leases on the devices.
func (r *Records) Hold(ctx context.Context, simulated bool) (*Holding, error) {
	return r.hold(ctx, leaseOf(simulated))
}

// hold takes the directory, and the lease of that key.
func (r *Records) hold(ctx context.Context, key string) (*Holding, error) {
	lock, err := Hold(r.place)
	if err != nil {
		return nil, err
	}
	h := &Holding{records: r, lock: lock}
	r.mu.Lock()
	r.holding = h
	r.mu.Unlock()
	err = h.take(ctx, key)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// take takes the lease, and sends what was left here while the store was away.
func (h *Holding) take(ctx context.Context, key string) error {
	r := h.records
	s, err := r.look(ctx)
	if s == nil {
		return err
	}
	if r.shared != nil {
		h.who = fmt.Sprintf("%s, process %d", Holder().Who, os.Getpid())
		h.lease, err = s.Lease(ctx, key, h.who, r.shared.Lease)
		var held *store.HeldError
		if errors.As(err, &held) {
			return because(Taken, hint.Wrap(fmt.Errorf("another weft is at work with the runs of %s: %s; nothing was done, and nothing is reverted for it. Its lease ends in %s unless it is renewed",
				r.shared.Name, held.Holder, held.Left.Round(time.Second)), "weft rollout status shows how far it is; weft rollout pause has it stop before it touches anything more"))
		}
		if err != nil {
			return r.trouble(err)
		}
		renewing, stop := context.WithCancel(context.Background())
		h.stop = stop
		h.renews.Go(func() { h.renew(renewing, r.shared.Lease) })
	}
	return r.sendSpools(ctx, s)
}

// renew renews the lease until it is lost, or the work has ended.
func (h *Holding) renew(ctx context.Context, ttl time.Duration) {
	for lost := false; !lost; {
		if !wait.For(ctx, ttl/6) {
			return
		}
		one, cancel := context.WithTimeout(ctx, ttl/3)
		err := h.lease.Renew(one)
		cancel()
		lost = errors.As(err, new(*store.LostError))
		h.mu.Lock()
		h.last = err
		h.mu.Unlock()
	}
}

// Close lets go.
func (h *Holding) Close() error {
	h.records.mu.Lock()
	h.records.holding = nil
	h.records.mu.Unlock()
	var err error
	if h.lease != nil {
		h.stop()
		h.renews.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), sendPatience)
		defer cancel()
		err = h.lease.Release(ctx) // where it cannot, it ends by itself
		if errors.As(err, new(*store.LostError)) || errors.As(err, new(*store.UnavailableError)) {
			err = nil
		}
	}
	return errors.Join(err, h.lock.Close())
}

// Token is what devices are shown that know who writes last; false: there is no lease.
func (h *Holding) Token() (store.Token, bool) {
	if h.lease == nil {
		return store.Token{}, false
	}
	return h.lease.Token(), true
}

// token is that of what this process carries out; none where it shares no store.
func (r *Records) token() claim.Token {
	r.mu.Lock()
	h := r.holding
	r.mu.Unlock()
	if h == nil {
		return claim.Token{}
	}
	t, _ := h.Token()
	return claim.Token{Epoch: t.Epoch, Revision: uint64(t.Revision)}
}

// fresh refuses to begin anything more without a lease that was renewed in time.
func (h *Holding) fresh() error {
	if h == nil || h.lease == nil || h.lease.Fresh() {
		return nil
	}
	h.mu.Lock()
	last := h.last
	h.mu.Unlock()
	where := h.records.shared.Name
	if errors.As(last, new(*store.LostError)) {
		return because(Taken, hint.Wrap(fmt.Errorf("%w in %s: another process may be active. This one starts no further step, and reverts nothing", last, where), "see weft rollout status"))
	}
	if last == nil {
		last = errors.New("this process was stopped for too long")
	}
	return because(Waits, hint.Wrap(fmt.Errorf("waiting for the store %s: the lease could not be renewed for two thirds of its time, so nothing more is begun: %w", where, last),
		"the steps in progress are finished; continue when the store answers: weft rollout resume, or the same command"))
}

// fresh is that of this process's work, where it carries anything out.
func (r *Records) fresh() error {
	r.mu.Lock()
	h := r.holding
	r.mu.Unlock()
	return h.fresh()
}

// AtWork is who carries something out just now with these records; "": nobody.
// It keeps nobody out.
func (r *Records) AtWork(ctx context.Context, simulated bool) string {
	if text := AtWork(r.place); text != "" || r.shared == nil {
		return text
	}
	s, err := r.look(ctx)
	if s == nil || err != nil {
		return ""
	}
	list, err := s.Leases(ctx, "fabric")
	if err != nil && !isCorrupt(err) {
		return ""
	}
	for _, l := range list {
		if l.Key == leaseOf(simulated) && l.Left > 0 {
			return fmt.Sprintf("weft is at work: %s, whose lease ends in %s unless it is renewed", l.Holder, l.Left.Round(time.Second))
		}
	}
	return ""
}
