package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"weft/internal/wait"
)

// A Token is greater than those of all holders before, of any key of the store: who
// has once seen a token refuses what comes with a lesser one (fencing).
type Token struct {
	Epoch    uint64   // of the store: it rises when a store is made anew or put back from a copy
	Revision Revision // at which the lease was taken
}

// Compare orders tokens, as cmp.Compare does.
func (t Token) Compare(u Token) int {
	return cmp.Or(cmp.Compare(t.Epoch, u.Epoch), cmp.Compare(t.Revision, u.Revision))
}

func (t Token) String() string { return fmt.Sprintf("%d.%d", t.Epoch, t.Revision) }

// A Book is what a store keeps its leases in, apart from its documents.
type Book interface {
	Get(ctx context.Context, key string) (Entry, error)
	Create(ctx context.Context, key string, value []byte) (Revision, error)
	Update(ctx context.Context, key string, value []byte, at Revision) (Revision, error)
	Delete(ctx context.Context, key string, at Revision) error
	List(ctx context.Context, folder string) ([]Entry, Revision, error)
	Now(ctx context.Context) (time.Time, error) // by the clock of Entry.Written
	Epoch(ctx context.Context) (uint64, error)
}

// A Lease is a key that its holder alone has. It is a document with the time at which
// the store wrote it, so that no clock but the store's says when it has ended. Whether
// it is still one's own is decided by Renew alone: a connection is no proof.
type Lease struct {
	book   Book
	clock  func() time.Time
	key    string
	ttl    time.Duration
	record []byte
	id     string
	token  Token

	mu   sync.Mutex
	at   Revision  // of the record
	sent time.Time // when the last acknowledged renewal was sent
	lost error
}

// record is what is kept of a lease.
type record struct {
	Holder string        `json:"holder"`
	ID     string        `json:"id"` // of this lease: a holder's name may come twice
	TTL    time.Duration `json:"ttl"`
}

// Take is how stores give leases. The clock is that of the holder, nil is time.Now.
func Take(ctx context.Context, book Book, clock func() time.Time, key, holder string, ttl time.Duration) (*Lease, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, &InvalidError{Key: key, Why: fmt.Sprintf("a lease of %s is none", ttl)}
	}
	if clock == nil {
		clock = time.Now
	}
	l := &Lease{book: book, clock: clock, key: key, ttl: ttl, id: rand.Text()}
	var err error
	if l.record, err = json.Marshal(record{Holder: holder, ID: l.id, TTL: ttl}); err != nil {
		return nil, err
	}
	if err := CheckValue(key, l.record); err != nil {
		return nil, err
	}
	epoch, err := book.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	l.sent = clock()
	// Who is overtaken by another looks again, and finds that one.
	for {
		l.at, err = l.take(ctx)
		if err == nil {
			l.token = Token{Epoch: epoch, Revision: l.at}
			return l, nil
		}
		if !raced(err) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, &UnavailableError{Err: ctx.Err()}
		}
	}
}

// take writes the record, if nobody has the lease.
func (l *Lease) take(ctx context.Context) (Revision, error) {
	e, err := l.book.Get(ctx, l.key)
	if errors.As(err, new(*NotFoundError)) {
		return l.book.Create(ctx, l.key, l.record)
	} else if err != nil {
		return 0, err
	}
	// It is asked after the record was read: what is renewed meanwhile is stale.
	now, err := l.book.Now(ctx)
	if err != nil {
		return 0, err
	}
	var r record
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return 0, &CorruptError{What: "the lease of " + l.key, Why: err.Error()}
	}
	age, seen := now.Sub(e.Written), l.clock().Round(0).Sub(e.Written.Round(0))
	switch {
	case age >= 0 && age <= r.TTL:
		return 0, &HeldError{Key: l.key, Holder: r.Holder, Left: r.TTL - age}
	case age < 0 || seen <= r.TTL: // the clock of the store was set, or this one
		if err := l.observe(ctx, e.Revision, r); err != nil {
			return 0, err
		}
	}
	return l.book.Update(ctx, l.key, l.record, e.Revision)
}

// observe waits until a record has not been renewed for its time, by the monotonic clock
// of this process: no clock that is set makes it shorter. A record that is renewed is a
// StaleError.
func (l *Lease) observe(ctx context.Context, at Revision, r record) error {
	for begin := time.Now(); time.Since(begin) <= r.TTL; {
		if !wait.For(ctx, min(r.TTL/8+time.Millisecond, time.Second)) {
			return &HeldError{Key: l.key, Holder: r.Holder, Left: r.TTL - time.Since(begin)}
		}
		e, err := l.book.Get(ctx, l.key)
		if err != nil {
			return err
		}
		if e.Revision != at {
			return &StaleError{Key: l.key, At: at, Current: e.Revision}
		}
	}
	return nil
}

// raced: another process was quicker.
func raced(err error) bool {
	return errors.As(err, new(*StaleError)) || errors.As(err, new(*ExistsError)) || errors.As(err, new(*NotFoundError))
}

// Token is what devices are shown. It stays the same while the lease is renewed.
func (l *Lease) Token() Token { return l.token }

// Fresh reports whether less than two thirds of the lease's time have gone since its
// last renewal that the store acknowledged. Who holds a lease asks it before each
// step, and begins none when it is not. Time in which the machine slept counts.
func (l *Lease) Fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	// The first is the monotonic clock, which stands still while a laptop sleeps.
	gone := max(now.Sub(l.sent), now.Round(0).Sub(l.sent.Round(0)))
	return l.lost == nil && gone < l.ttl*2/3
}

// Renew lets the lease last for its whole time again: LostError where it cannot. One
// that had ended is renewed if nobody took it meanwhile.
func (l *Lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.clock()
	return l.do(ctx, func() error {
		at, err := l.book.Update(ctx, l.key, l.record, l.at)
		if err == nil {
			l.at, l.sent = at, sent
		}
		return err
	})
}

// Release ends the lease now. What is lost already is a LostError, and left alone.
func (l *Lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.do(ctx, func() error { return l.book.Delete(ctx, l.key, l.at) })
	if err == nil {
		l.lost = &LostError{Key: l.key}
	}
	return err
}

// do changes the record, if it is this lease's. A renewal whose outcome nobody learned
// may have moved it.
func (l *Lease) do(ctx context.Context, change func() error) error {
	for l.lost == nil {
		err := change()
		if !raced(err) {
			return err
		}
		e, err := l.book.Get(ctx, l.key)
		if errors.As(err, new(*NotFoundError)) {
			l.lost = &LostError{Key: l.key}
			break
		} else if err != nil {
			return err
		}
		var r record
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return &CorruptError{What: "the lease of " + l.key, Why: err.Error()}
		}
		if r.ID != l.id {
			l.lost = &LostError{Key: l.key, By: r.Holder}
		}
		l.at = e.Revision
	}
	return l.lost
}
