package nats

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
)

// errAgain: what a consumer delivered is not whole.
var errAgain = errors.New("messages were lost on their way")

// List has the stream deliver the last message of each key. With replicas a follower
// may do so that is behind: it is read up to a message that was sent before. Up to there
// the list is whole, whereas the leader's own count may be behind what a follower has
// told a watch already.
func (t *table) List(ctx context.Context, folder string) ([]store.Entry, store.Revision, error) {
	if err := store.CheckFolder(folder); err != nil {
		return nil, 0, err
	}
	ctx, cancel := t.s.limit(ctx)
	defer cancel()
	for n := 0; ; n++ {
		found, at, err := t.listOnce(ctx, folder)
		if err == nil {
			var out []store.Entry
			for _, key := range slices.Sorted(maps.Keys(found)) {
				if !found[key].deleted {
					out = append(out, found[key].Entry)
				}
			}
			return out, at, nil
		}
		if away := (*store.UnavailableError)(nil); errors.As(err, &away) || !lost(err) && !broken(err) {
			return nil, 0, err
		}
		if !pause(ctx, n) {
			return nil, 0, t.s.away(ctx, err, false)
		}
	}
}

func (t *table) listOnce(ctx context.Context, folder string) (map[string]message, store.Revision, error) {
	info, err := t.info(ctx)
	if err != nil {
		return nil, 0, err
	}
	at := store.Revision(info.State.LastSeq)
	c := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: []string{t.below(folder)}}
	var until store.Revision
	if t.replicas > 1 {
		if until, err = t.newest(ctx); err != nil {
			return nil, 0, err
		}
		if folder != "" {
			c.FilterSubjects = append(c.FilterSubjects, t.pre+fence)
		}
	}
	d, err := t.deliver(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	defer d.stop()
	found := map[string]message{}
	for d.left > 0 || d.seen < until {
		m, err := d.next(t.s.patience())
		if err != nil {
			return nil, 0, err
		}
		if m.Key != fence {
			found[m.Key] = m
		}
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
	}
	return found, max(at, until), t.complete(ctx, folder, at, found)
}

// Each yields the documents one by one, as a consumer delivers them: what changes meanwhile
// may be missing.
func (s *Store) Each(ctx context.Context, yield func(store.Entry)) error {
	d, err := s.table.deliver(ctx, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: []string{s.table.below("")}})
	if err != nil {
		return err
	}
	defer d.stop()
	for d.left > 0 {
		m, err := d.next(s.patience())
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if m.Key != fence && !m.deleted {
			yield(m.Entry)
		}
	}
	return nil
}

// complete adds what changed while the list was delivered: a message that is replaced
// before its turn is skipped, and the one in its place may come too late.
func (t *table) complete(ctx context.Context, folder string, at store.Revision, found map[string]message) error {
	info, err := t.info(ctx)
	if err != nil || store.Revision(info.State.LastSeq) == at {
		return err
	}
	if info, err = t.info(ctx, jetstream.WithSubjectFilter(t.below(folder))); err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		key := t.key(subject)
		if _, ok := found[key]; ok || key == fence {
			continue
		}
		m, err := t.last(ctx, key)
		if err != nil {
			return err
		}
		found[key] = m
	}
	return nil
}

// A delivery is what a consumer delivers, without gaps.
type delivery struct {
	t        *table
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	count    uint64         // of messages
	left     uint64         // that are there besides
	seen     store.Revision // of the last
}

// unused is how long a consumer stays that nobody pulls from.
const unused = time.Minute

func (t *table) deliver(ctx context.Context, c jetstream.ConsumerConfig) (*delivery, error) {
	c.AckPolicy, c.MemoryStorage, c.Replicas, c.InactiveThreshold = jetstream.AckNonePolicy, true, 1, unused
	one, cancel := t.s.once(ctx)
	defer cancel()
	consumer, err := t.stream.CreateConsumer(one, c)
	if err != nil {
		return nil, err
	}
	m, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(1000, 8<<20))
	if err != nil {
		return nil, err
	}
	return &delivery{t: t, consumer: consumer, messages: m, left: consumer.CachedInfo().NumPending}, nil
}

// stop ends it. The server forgets the consumer after a minute in any case.
func (d *delivery) stop() {
	d.messages.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = d.t.stream.DeleteConsumer(ctx, d.consumer.CachedInfo().Name)
}

// next is the next message.
func (d *delivery) next(wait time.Duration) (message, error) {
	msg, err := d.messages.Next(jetstream.NextMaxWait(wait))
	if err != nil {
		return message{}, err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return message{}, err
	}
	if d.count++; meta.Sequence.Consumer != d.count {
		return message{}, errAgain
	}
	d.left, d.seen = meta.NumPending, store.Revision(meta.Sequence.Stream)
	return d.t.message(msg.Subject(), meta.Sequence.Stream, meta.Timestamp, msg.Headers(), msg.Data()), nil
}

// broken: a consumer has ended, and another may go on.
func broken(err error) bool {
	return err == errAgain || errors.Is(err, jetstream.ErrMsgIteratorClosed) || errors.Is(err, jetstream.ErrNoHeartbeat) ||
		errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrConsumerLeadershipChanged) || is(err, jetstream.JSErrCodeConsumerNotFound)
}
