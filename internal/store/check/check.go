// Package check finds out by trial whether a store keeps what runs rely on: it races
// itself on keys of its own, which it takes away again.
package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"weft/internal/store"
	"weft/internal/wait"
)

// A Verdict is what came out. What was not found out is not a pass.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unknown Verdict = "not known"
)

// A Finding is what was found out about one thing.
type Finding struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
}

// A Trial is of one store.
type Trial struct {
	Open   func(context.Context) (store.Store, error) // as another process would
	Folder string                                     // below which it may write; "" is all
	TTL    time.Duration                              // of leases that are to end; 0 is 2 s
}

const racers = 8

// longest is the time of a lease that is not tried longer still.
const longest = time.Minute

// Run tries everything out. The error says what kept it from that.
func (t Trial) Run(ctx context.Context) ([]Finding, error) {
	t.TTL = cmp.Or(t.TTL, 2*time.Second)
	var all []store.Store
	defer func() {
		for _, s := range all {
			s.Close()
		}
	}()
	for range racers {
		s, err := t.Open(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	scratch := strings.TrimPrefix(t.Folder+"/check/"+strings.ToLower(rand.Text()), "/")
	var list []Finding
	for _, try := range []struct {
		name, text string
		do         func(context.Context, []store.Store, string) error
	}{
		{"create", fmt.Sprintf("of %d who made the same document one did", racers), create},
		{"update", fmt.Sprintf("of %d who changed the same revision one did", racers), update},
		{"watch", "each change was reported, in order", watch},
		{"blob", "a blob came back as it was, and without its end not at all", blob},
		{"lease", fmt.Sprintf("of %d clients that requested a lease one got it; it expired on time, and its former holder was informed", racers), t.lease},
	} {
		f := Finding{Name: try.name, Verdict: Pass, Text: try.text}
		if err := try.do(ctx, all, scratch+"/"+try.name); err != nil {
			if errors.As(err, new(*store.UnavailableError)) || errors.As(err, new(*store.DeniedError)) || ctx.Err() != nil {
				return list, err
			}
			f.Verdict, f.Text = Fail, err.Error()
		}
		list = append(list, f)
	}
	return list, nil
}

// race has all do the same at once, and returns how many did.
func race(all []store.Store, do func(i int, s store.Store) error, lost func(error) bool) (won int, err error) {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	start := make(chan bool)
	for i, s := range all {
		group.Go(func() {
			<-start
			errs[i] = do(i, s)
		})
	}
	close(start)
	group.Wait()
	for _, e := range errs {
		switch {
		case e == nil:
			won++
		case !lost(e):
			err = e
		}
	}
	return won, err
}

// one demands that one has won.
func one(won int, err error) error {
	if err == nil && won != 1 {
		err = fmt.Errorf("of %d concurrent writers %d were confirmed", racers, won)
	}
	return err
}

// sweep takes a document away, whatever it is by now.
func sweep(s store.Store, key string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if e, err := s.Get(ctx, key); err == nil {
		_ = s.Delete(ctx, key, e.Revision) // what stays is a scratch document
	}
}

func create(ctx context.Context, all []store.Store, key string) error {
	defer sweep(all[0], key)
	won, err := race(all, func(i int, s store.Store) error {
		_, err := s.Create(ctx, key, []byte{byte(i)})
		return err
	}, func(err error) bool { return errors.As(err, new(*store.ExistsError)) })
	return one(won, err)
}

func update(ctx context.Context, all []store.Store, key string) error {
	at, err := all[0].Create(ctx, key, []byte("0"))
	if err != nil {
		return err
	}
	defer sweep(all[0], key)
	now := make([]store.Revision, len(all))
	won, err := race(all, func(i int, s store.Store) (err error) {
		now[i], err = s.Update(ctx, key, fmt.Append(nil, i), at)
		return err
	}, func(err error) bool { return errors.As(err, new(*store.StaleError)) })
	if err := one(won, err); err != nil {
		return err
	}
	for i, s := range all { // each is told the same at once
		e, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		if w := max(now[0], now[i]); e.Revision < w || e.Revision == at {
			return fmt.Errorf("the value acknowledged as revision %d was read as %d", w, e.Revision)
		}
	}
	return nil
}

func watch(ctx context.Context, all []store.Store, key string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, from, err := all[0].List(ctx, key)
	if err != nil {
		return err
	}
	const changes = 20
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for i := range changes {
			if _, err := all[1].Create(ctx, fmt.Sprintf("%s/%d", key, i), nil); err != nil {
				failed <- err
				cancel()
				return
			}
		}
	}()
	defer func() {
		for i := range changes {
			sweep(all[0], fmt.Sprintf("%s/%d", key, i))
		}
	}()
	seen := 0
	for e, err := range all[2].Watch(ctx, key, from) {
		if err != nil {
			if wrote, ok := <-failed; ok {
				return wrote
			}
			return fmt.Errorf("%[2]d of %[1]d changes were reported: %[3]w", changes, seen, err)
		}
		if want := fmt.Sprintf("%s/%d", key, seen); e.Key != want {
			return fmt.Errorf("the change of %[2]s was reported in place of %[1]s", want, e.Key)
		}
		if seen++; seen == changes {
			return nil
		}
	}
	return fmt.Errorf("%[2]d of %[1]d changes were reported", changes, seen)
}

// blob holds a blob of three parts against what was put. It stays where its user may
// not delete any.
func blob(ctx context.Context, all []store.Store, key string) error {
	text := strings.Repeat(key, 300_000/len(key))
	d, err := all[0].PutBlob(ctx, strings.NewReader(text))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = all[0].DeleteBlob(ctx, d)
	}()
	r, err := all[1].Blob(ctx, d)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err == nil && string(got) != text {
		err = fmt.Errorf("a blob of %d bytes came back as %d others", len(text), len(got))
	}
	return err
}

// lease: one gets it, and the next one when it has ended. Where all who take it need
// longer than it lasts it is tried again with one that lasts longer.
func (t Trial) lease(ctx context.Context, all []store.Store, key string) error {
	leases := make([]*store.Lease, len(all))
	sent := time.Now()
	won, err := race(all, func(i int, s store.Store) (err error) {
		leases[i], err = s.Lease(ctx, key, fmt.Sprintf("weft store check %d", i), t.TTL)
		return err
	}, func(err error) bool { return errors.As(err, new(*store.HeldError)) })
	if took := time.Since(sent); err == nil && won > 1 && took >= t.TTL && t.TTL < longest {
		for _, l := range leases {
			if l != nil {
				_ = l.Release(ctx) // it may have ended
			}
		}
		t.TTL = min(2*took, longest)
		return t.lease(ctx, all, key)
	}
	if err := one(won, err); err != nil {
		return err
	}
	var first *store.Lease
	for _, l := range leases {
		if l != nil {
			first = l
		}
	}
	end := time.Now().Add(t.TTL + time.Minute)
	for {
		second, err := all[0].Lease(ctx, key, "weft store check", time.Minute)
		if errors.As(err, new(*store.HeldError)) && time.Now().Before(end) {
			if !wait.For(ctx, t.TTL/20) {
				return ctx.Err()
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("the lease did not end: %w", err)
		}
		took := time.Since(sent)
		return errors.Join(t.succeeds(ctx, first, second, took), second.Release(ctx))
	}
}

// succeeds: a second holder has come after the first one's time, and is the higher one.
func (t Trial) succeeds(ctx context.Context, first, second *store.Lease, took time.Duration) error {
	switch err := first.Renew(ctx); {
	case took < t.TTL:
		return fmt.Errorf("a lease of %s was given to another after %s", t.TTL, took)
	case first.Fresh():
		return errors.New("whose lease has ended takes it for fresh")
	case err == nil:
		return errors.New("two clients hold the same lease")
	case !errors.As(err, new(*store.LostError)):
		return err
	}
	if second.Token().Compare(first.Token()) <= 0 {
		return fmt.Errorf("the second holder's token %s is not above the first one's %s", second.Token(), first.Token())
	}
	return nil
}
