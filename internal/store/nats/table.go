package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
)

// Headers of a message that is a change.
const (
	opHeader     = "KV-Operation"  // as key-value buckets have it
	markHeader   = "Weft-Mark"     // of this change alone
	beforeHeader = "Weft-Replaces" // the revision of the key that it replaced; 0 is none
)

// fence is a key that no caller can have: what is sent there is agreed on by replicas.
const fence = "FENCE"

// A table is a stream of documents.
type table struct {
	s        *Store
	stream   jetstream.Stream
	pre      string // of subjects
	replicas int
}

func (t *table) subject(key string) string { return t.pre + strings.ReplaceAll(key, "/", ".") }

func (t *table) key(subject string) string {
	return strings.ReplaceAll(strings.TrimPrefix(subject, t.pre), ".", "/")
}

func (t *table) below(folder string) string {
	if folder == "" {
		return t.pre + ">"
	}
	return t.subject(folder) + ".>"
}

// A message is a document as it stands in the stream, or that it was deleted.
type message struct {
	store.Entry
	deleted bool
	mark    string
	before  store.Revision
	known   bool // before is
}

func (t *table) message(subject string, seq uint64, at time.Time, h client.Header, data []byte) message {
	m := message{Entry: store.Entry{Key: t.key(subject), Value: data, Revision: store.Revision(seq), Written: at}}
	m.deleted = h.Get(opHeader) != "" || h.Get(jetstream.MarkerReasonHeader) != ""
	m.mark = h.Get(markHeader)
	before, err := strconv.ParseUint(h.Get(beforeHeader), 10, 64)
	m.before, m.known = store.Revision(before), err == nil
	return m
}

// info asks the leader about the stream.
func (t *table) info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (info *jetstream.StreamInfo, err error) {
	err = t.s.ask(ctx, func(ctx context.Context) error {
		info, err = t.stream.Info(ctx, opts...)
		return err
	})
	return info, err
}

// last asks the leader for the last message of a key; its revision is 0 if there is none.
func (t *table) last(ctx context.Context, key string) (m message, err error) {
	err = t.s.ask(ctx, func(ctx context.Context) error {
		raw, err := t.stream.GetLastMsgForSubject(ctx, t.subject(key))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			m = message{Entry: store.Entry{Key: key}, deleted: true}
			return nil
		} else if err != nil {
			return err
		}
		m = t.message(raw.Subject, raw.Sequence, raw.Time, raw.Header, raw.Data)
		return nil
	})
	return m, err
}

// Get reads a document.
func (t *table) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.CheckKey(key); err != nil {
		return store.Entry{}, err
	}
	ctx, cancel := t.s.limit(ctx)
	defer cancel()
	m, err := t.current(ctx, key)
	switch {
	case err != nil:
		return store.Entry{}, err
	case m.deleted:
		return store.Entry{}, &store.NotFoundError{Key: key}
	}
	return m.Entry, nil
}

// current is the last message of a key, on which the replicas agree.
func (t *table) current(ctx context.Context, key string) (message, error) {
	for {
		m, err := t.last(ctx, key)
		if err == nil && t.replicas > 1 {
			err = t.agreed(ctx, m)
		}
		if !overtaken(err) {
			return m, err
		}
	}
}

// agreed has the replicas agree that nothing of a key is newer.
func (t *table) agreed(ctx context.Context, m message) error {
	return t.s.ask(ctx, func(ctx context.Context) error {
		_, err := t.s.js.PublishMsg(ctx, client.NewMsg(t.pre+fence),
			jetstream.WithExpectLastSequenceForSubject(uint64(m.Revision), t.subject(m.Key)))
		return err
	})
}

// newest is a revision that the replicas agree on, above all that any of them has told.
// The leader's own count may be behind what a follower has delivered.
func (t *table) newest(ctx context.Context) (at store.Revision, err error) {
	err = t.s.ask(ctx, func(ctx context.Context) error {
		ack, err := t.s.js.PublishMsg(ctx, client.NewMsg(t.pre+fence))
		if err == nil {
			at = store.Revision(ack.Sequence)
		}
		return err
	})
	return at, err
}

// Create writes a document that is not there.
func (t *table) Create(ctx context.Context, key string, value []byte) (store.Revision, error) {
	at := store.Revision(0)
	for {
		rev, now, err := t.change(ctx, message{Entry: store.Entry{Key: key, Value: value}, before: at})
		switch {
		case now == nil || err != nil:
			return rev, err
		case !now.deleted:
			return 0, &store.ExistsError{Key: key, Current: now.Revision}
		}
		at = now.Revision // at which it was deleted
	}
}

// Update writes a document that nobody changed since.
func (t *table) Update(ctx context.Context, key string, value []byte, at store.Revision) (store.Revision, error) {
	return t.since(ctx, message{Entry: store.Entry{Key: key, Value: value}, before: at})
}

// Delete takes a document away that nobody changed since.
func (t *table) Delete(ctx context.Context, key string, at store.Revision) error {
	_, err := t.since(ctx, message{Entry: store.Entry{Key: key}, before: at, deleted: true})
	return err
}

func (t *table) since(ctx context.Context, m message) (store.Revision, error) {
	if m.before == 0 {
		return 0, &store.InvalidError{Key: m.Key, Why: "there is no revision 0"}
	}
	rev, now, err := t.change(ctx, m)
	switch {
	case now == nil || err != nil:
		return rev, err
	case now.deleted:
		return 0, &store.NotFoundError{Key: m.Key}
	}
	return 0, &store.StaleError{Key: m.Key, At: m.before, Current: now.Revision}
}

// change makes a change if the last revision of its key is the one that it replaces;
// else it returns what is there.
func (t *table) change(ctx context.Context, m message) (rev store.Revision, now *message, err error) {
	if err := errors.Join(store.CheckKey(m.Key), store.CheckValue(m.Key, m.Value)); err != nil {
		return 0, nil, err
	}
	ctx, cancel := t.s.limit(ctx)
	defer cancel()
	m.mark = rand.Text()
	return t.settle(ctx, m, func() (store.Revision, error) { return t.send(ctx, m) })
}

// settle sends a change until it is known what came of it.
func (t *table) settle(ctx context.Context, m message, send func() (store.Revision, error)) (rev store.Revision, now *message, err error) {
	unknown := false // an answer did not come
	for n := 0; ; n++ {
		rev, err := send()
		switch {
		case err == nil:
			return rev, nil, nil
		case overtaken(err):
			return t.overtaken(ctx, m, unknown)
		case errors.As(err, new(*store.DeniedError)):
			return 0, nil, err
		case t.s.elsewhere(ctx, err, n):
			continue
		case !lost(err):
			return 0, nil, fmt.Errorf("the store refuses %s: %w", m.Key, err)
		}
		unknown = unknown || !unsent(err)
		if errors.Is(err, client.ErrConnectionClosed) || !pause(ctx, n) {
			return 0, nil, t.s.away(ctx, err, unknown)
		}
	}
}

// overtaken finds out what there is in place of what a change was to replace: itself,
// where an answer did not come. A leader that is cut off knows an older one.
func (t *table) overtaken(ctx context.Context, m message, unknown bool) (store.Revision, *message, error) {
	last, err := t.current(ctx, m.Key)
	switch {
	case err != nil && unknown:
		return 0, nil, t.s.away(ctx, err, true)
	case err != nil:
		return 0, nil, err
	case last.mark == m.mark:
		return last.Revision, nil, nil
	case unknown && (!last.known || last.before != m.before):
		return 0, nil, t.s.away(ctx, fmt.Errorf("%s is revision %d now, made by another", m.Key, last.Revision), true)
	}
	return 0, &last, nil
}

// send sends a change once.
func (t *table) send(ctx context.Context, m message) (store.Revision, error) {
	msg := client.NewMsg(t.subject(m.Key))
	msg.Data = m.Value
	msg.Header.Set(markHeader, m.mark)
	msg.Header.Set(beforeHeader, strconv.FormatUint(uint64(m.before), 10))
	if m.deleted {
		msg.Header.Set(opHeader, "DEL")
	}
	one, stop := t.s.once(ctx)
	ctx, cancel := t.s.denials.endOf(one, stop, msg.Subject)
	defer cancel()
	t.s.o.step("send")
	ack, err := t.s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(uint64(m.before)))
	if denied := context.Cause(ctx); err != nil && errors.As(denied, new(*store.DeniedError)) {
		return 0, denied
	}
	if err != nil {
		return 0, err
	}
	t.s.o.step("acknowledged")
	return store.Revision(ack.Sequence), nil
}
