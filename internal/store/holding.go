package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// A Holding is a lease as others see it.
type Holding struct {
	Key    string        `json:"key"`
	Holder string        `json:"holder"`
	Left   time.Duration `json:"left"` // until it ends, unless it is renewed

	id string
}

// Holdings is how stores list leases. What cannot be read is named in the error.
func Holdings(ctx context.Context, book Book, folder string) ([]Holding, error) {
	entries, _, failed := book.List(ctx, folder)
	if errors.As(failed, new(*UnavailableError)) || errors.As(failed, new(*InvalidError)) {
		return nil, failed
	}
	now, err := book.Now(ctx)
	if err != nil {
		return nil, err
	}
	var list []Holding
	for _, e := range entries {
		var r record
		if err := r.read(e); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if left := r.TTL - now.Sub(e.Written); left > 0 {
			list = append(list, Holding{Key: e.Key, Holder: r.Holder, Left: min(left, r.TTL), id: r.ID})
		}
	}
	return list, failed
}

// read reads the record of a lease. Clients of a store may write anything in its place.
func (r *record) read(e Entry) error {
	why := ""
	if err := json.Unmarshal(e.Value, r); err != nil {
		why = err.Error()
	} else if r.ID == "" || r.TTL <= 0 {
		why = "it has no holder and no time"
	}
	if why == "" {
		return nil
	}
	return &CorruptError{What: "the document " + e.Key, Why: "it is no lease: " + why}
}

// BreakHolding is how stores end a lease of another. A holding that has nothing but a key
// removes what is there and is no lease.
func BreakHolding(ctx context.Context, book Book, h Holding) error {
	for {
		e, err := book.Get(ctx, h.Key)
		if errors.As(err, new(*NotFoundError)) {
			return &LostError{Key: h.Key}
		} else if err != nil {
			return err
		}
		var r record
		if err := r.read(e); err != nil && h.id != "" {
			return err
		} else if err == nil && r.ID != h.id {
			return &LostError{Key: h.Key, By: r.Holder}
		}
		if err := book.Delete(ctx, h.Key, e.Revision); !raced(err) {
			return err
		}
		if ctx.Err() != nil { // it is renewed again and again
			return &UnavailableError{Err: ctx.Err()}
		}
	}
}
