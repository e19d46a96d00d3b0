package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
)

// Watch tells what the consumer of a stream delivers, which is made anew where it is lost.
func (t *table) Watch(ctx context.Context, folder string, from store.Revision) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		w := watcher{t: t, folder: folder, from: from, at: from, seen: map[string]store.Revision{}}
		if err := w.run(ctx, func(e store.Event) bool { return yield(e, nil) }); err != nil {
			yield(store.Event{}, err)
		}
	}
}

type watcher struct {
	t      *table
	folder string
	from   store.Revision
	at     store.Revision            // the last that was yielded
	seen   map[string]store.Revision // of each key
	made   time.Time                 // the stream was
}

// run yields changes until it is told to end, which is no error.
func (w *watcher) run(ctx context.Context, yield func(store.Event) bool) error {
	if err := store.CheckFolder(w.folder); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := w.look(ctx); err != nil {
			return err
		}
		d, err := w.t.deliver(ctx, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
			OptStartSeq: uint64(w.at) + 1, FilterSubjects: []string{w.t.below(w.folder)}})
		if err == nil {
			at := w.at
			err = w.follow(ctx, d, yield)
			d.stop()
			if err == nil {
				return nil
			}
			if w.at > at {
				n = 0
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !lost(err) && !broken(err) {
			return err
		}
		pause(ctx, n)
	}
}

// look asks the leader whether this is still the store that was watched. Connections
// are no proof of that, nor of the store being there.
func (w *watcher) look(ctx context.Context) error {
	info, err := w.t.info(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case is(err, jetstream.JSErrCodeStreamNotFound):
		return &store.GapError{From: w.at, Why: "the store is not there any more"}
	case err != nil:
		return err
	}
	if w.made.IsZero() {
		w.made = info.Created
	}
	last := store.Revision(info.State.LastSeq)
	if w.at > last && w.t.replicas > 1 {
		if last, err = w.t.newest(ctx); err != nil {
			return err
		}
	}
	if w.at > last || !w.made.Equal(info.Created) {
		return &store.GapError{From: w.at, Why: fmt.Sprintf("the store's last is %d: it is another store, or an older copy", last)}
	}
	return nil
}

// follow yields what is delivered; nil is that nobody wants more.
func (w *watcher) follow(ctx context.Context, d *delivery, yield func(store.Event) bool) error {
	// Next has no way to wait for both a context and a time.
	stop := context.AfterFunc(ctx, d.messages.Stop)
	defer stop()
	for {
		m, err := d.next(2 * w.t.s.patience())
		if errors.Is(err, client.ErrTimeout) {
			if err := w.idle(ctx, d); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		w.at = m.Revision
		if m.Key == fence {
			continue
		}
		// What it replaced was before the watch, or has been seen; or it is gone.
		e := store.Event{Entry: m.Entry, Deleted: m.deleted, Missed: !m.known || m.before > w.from && w.seen[m.Key] != m.before}
		w.seen[m.Key] = m.Revision
		if !yield(e) {
			return nil
		}
	}
}

// idle looks whether there is nothing to deliver, or nobody who would.
func (w *watcher) idle(ctx context.Context, d *delivery) error {
	if err := w.look(ctx); err != nil {
		return err
	}
	if err := w.missed(ctx); err != nil {
		return err
	}
	return w.t.s.ask(ctx, func(ctx context.Context) error {
		info, err := d.consumer.Info(ctx)
		if err == nil && info.Delivered.Consumer != d.count {
			err = errAgain // sent, and not received
		}
		return err
	})
}

// missed asks the leader whether there is more than what was delivered. With replicas
// the consumer may be at a follower, and one that catches up wakes no consumer: it would
// deliver what it has caught up with after the next change only.
func (w *watcher) missed(ctx context.Context) error {
	if w.t.replicas < 2 {
		return nil
	}
	return w.t.s.ask(ctx, func(ctx context.Context) error {
		newest, err := w.t.stream.GetLastMsgForSubject(ctx, w.t.below(w.folder))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil
		case err == nil && store.Revision(newest.Sequence) > w.at:
			return errAgain
		}
		return err
	})
}
