// Package nats is a store in NATS JetStream, for teams: runners, laptops and workers
// share it.
//
// An owner has three streams: KV_weft-OWNER and KV_weft-OWNER-lease, which are
// key-value buckets as other clients of NATS know them (/ in a key is . there), and
// weft-OWNER-blob. A revision is the sequence of a message in its stream, so it rises
// for all keys of it.
//
// What this package does about what NATS leaves open:
//
//   - Reads go to the leader of a stream, never to a follower (no direct get; a stream
//     that allows it is refused). With replicas a read also asks the leader to have its
//     followers agree that nothing newer is there, as one that is cut off may not know
//     that it leads no more.
//   - Whether a change was made is not known when its answer does not come. It is sent
//     again on the same condition and with the same mark, until an answer comes: what
//     is there with its mark was made. Nothing is buffered while there is no
//     connection. What stays open in the end is said (UnavailableError.Unknown).
//   - Leases have no time-to-live of NATS, which a renewal would drop, and which a
//     bucket with history prolongs: a lease has ended when the server that leads the
//     stream says that its last renewal is too long ago.
//   - A bucket keeps one revision of a key, and a deletion for good. Each says which
//     one it replaced, so that a watch knows what it did not see.
//   - A blob is chunks named by its sum, and a last message that says how many: it is
//     there as a whole or not at all, and to put it twice does no harm.
//
// The server is to be run with sync_interval: always; else it may lose with its power
// what it has acknowledged in the last two minutes.
//
// Retention: documents and blobs stay until they are deleted; of a deleted document a
// message of some hundred bytes stays, of a blob nothing. What was sent of a blob by
// another process who was killed stays until the blob is put again or deleted.
package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
)

// Options of a store in NATS.
type Options struct {
	URL      string
	Owner    string           // whose runs: one part of a key
	Replicas int              // of streams that are made; 0 is 1
	Timeout  time.Duration    // how long an answer is waited for without a deadline; 0 is 10 s
	Connect  []client.Option  // credentials, TLS
	Synced   bool             // who makes streams knows that the server syncs each change
	Migrate  bool             // bring streams that an older weft made to what this one makes: the administrator's
	Limits   Limits           // of streams that are made or migrated
	Clock    func() time.Time // of who holds leases; nil is time.Now

	step  func(string)              // called before and after each message that changes something
	clock func(time.Time) time.Time // what the server's clock is taken to say
}

// A Store is a connection to NATS.
type Store struct {
	o       Options
	conn    *client.Conn
	js      jetstream.JetStream
	*table  // of what is kept by key
	leases  *table
	blobs   jetstream.Stream
	denials denials
	failed  atomic.Pointer[error] // why the last attempt to connect again failed
}

var _ store.Store = (*Store)(nil)

// Open connects, and makes the streams of an owner who has none.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := store.CheckKey(o.Owner); err != nil || strings.Contains(o.Owner, "/") {
		return nil, &store.InvalidError{Key: o.Owner, Why: "an owner is one part of a-z, 0-9, - and _"}
	}
	if strings.HasSuffix(o.Owner, leaseSuffix) {
		return nil, &store.InvalidError{Key: o.Owner, Why: "an owner's name does not end in " + leaseSuffix + ", as streams of leases do"}
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Replicas = cmp.Or(o.Replicas, 1)
	if o.step == nil {
		o.step = func(string) {}
	}
	if o.clock == nil {
		o.clock = func(t time.Time) time.Time { return t }
	}
	s := &Store{o: o}
	var err error
	s.conn, err = connect(ctx, o.URL, append(append([]client.Option{client.Name("weft"), client.Timeout(o.Timeout)}, o.Connect...),
		client.MaxReconnects(-1), client.ReconnectWait(100*time.Millisecond),
		client.ReconnectBufSize(-1), // what is sent when there is no connection fails at once
		client.ErrorHandler(s.denials.hear),
		client.ReconnectErrHandler(func(_ *client.Conn, err error) { s.failed.Store(&err) }),
		client.ReconnectHandler(func(*client.Conn) { s.failed.Store(nil) }),
	)...)
	if err != nil {
		return nil, &store.UnavailableError{Err: fmt.Errorf("%s: %w", s.servers(), err)}
	}
	if s.js, err = jetstream.New(s.conn); err == nil {
		err = s.found(ctx)
	}
	if err != nil {
		s.conn.Close()
		return nil, err
	}
	return s, nil
}

// connect connects. A hub that takes up new credentials at that moment refuses also who
// has good ones: whoever is refused asks again.
func connect(ctx context.Context, url string, opts ...client.Option) (conn *client.Conn, err error) {
	for n := range 4 {
		if conn, err = dial(ctx, url, opts...); !errors.Is(err, client.ErrAuthorization) || !pause(ctx, n) {
			break
		}
	}
	return conn, err
}

// dial connects once. The client's own way knows no context, and tries each address for
// as long as the last.
func dial(ctx context.Context, url string, opts ...client.Option) (*client.Conn, error) {
	type answer struct {
		conn *client.Conn
		err  error
	}
	came := make(chan answer, 1)
	go func() {
		conn, err := client.Connect(url, opts...)
		came <- answer{conn, err}
	}()
	select {
	case a := <-came:
		return a.conn, a.err
	case <-ctx.Done():
		go func() {
			if a := <-came; a.conn != nil {
				a.conn.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

const leaseSuffix = "-lease"

// found finds the streams, or makes them.
func (s *Store) found(ctx context.Context) error {
	bucket := "weft-" + s.o.Owner
	for _, t := range []struct {
		to   **table
		name string
	}{{&s.table, bucket}, {&s.leases, bucket + leaseSuffix}} {
		c := s.config("KV_"+t.name, "$KV."+t.name+".>")
		c.DenyPurge = true
		c.MaxMsgSize = 1 << 20
		c.MaxBytes = limit(map[bool]int64{false: s.o.Limits.Documents, true: s.o.Limits.Leases}[strings.HasSuffix(t.name, leaseSuffix)])
		stream, err := s.stream(ctx, c)
		if err != nil {
			return err
		}
		*t.to = &table{s: s, stream: stream, pre: "$KV." + t.name + ".", replicas: stream.CachedInfo().Config.Replicas}
	}
	c := s.config(bucket+"-blob", s.blobPre()+">")
	c.DiscardNewPerSubject = true // a part is written once: to write it again, delete the blob
	c.MaxMsgSize = chunk + 1<<10
	c.MaxBytes = limit(s.o.Limits.Blobs)
	var err error
	s.blobs, err = s.stream(ctx, c)
	return err
}

// Restored makes tokens rise above those that the store gave before it was copied.
func (s *Store) Restored(ctx context.Context) error {
	return s.ask(ctx, func(ctx context.Context) error {
		info, err := s.leases.stream.Info(ctx)
		if err != nil {
			return err
		}
		was, err := strconv.ParseUint(info.Config.Metadata[epochName], 10, 64)
		if err != nil {
			return &store.CorruptError{What: "the epoch of the store", Why: err.Error()}
		}
		info.Config.Metadata[epochName] = strconv.FormatUint(max(was+1, uint64(time.Now().UnixMilli())), 10)
		_, err = s.js.UpdateStream(ctx, info.Config)
		return err
	})
}

func (s *Store) Lease(ctx context.Context, key, holder string, ttl time.Duration) (*store.Lease, error) {
	return store.Take(ctx, book{s.leases}, s.o.Clock, key, holder, ttl)
}

func (s *Store) Leases(ctx context.Context, folder string) ([]store.Holding, error) {
	return store.Holdings(ctx, book{s.leases}, folder)
}

func (s *Store) Break(ctx context.Context, h store.Holding) error {
	return store.BreakHolding(ctx, book{s.leases}, h)
}

func (s *Store) Epoch(ctx context.Context) (uint64, error) { return book{s.leases}.Epoch(ctx) }

// Close ends the connection.
func (s *Store) Close() error {
	s.conn.Close()
	return nil
}

// A book is the table of leases, with what tells their times: the server.
type book struct{ *table }

func (b book) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := b.table.Get(ctx, key)
	e.Written = b.s.o.clock(e.Written)
	return e, err
}

func (b book) List(ctx context.Context, folder string) ([]store.Entry, store.Revision, error) {
	entries, at, err := b.table.List(ctx, folder)
	for i := range entries {
		entries[i].Written = b.s.o.clock(entries[i].Written)
	}
	return entries, at, err
}

func (b book) Now(ctx context.Context) (time.Time, error) {
	info, err := b.info(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return b.s.o.clock(info.TimeStamp), nil
}

func (b book) Epoch(ctx context.Context) (uint64, error) {
	info, err := b.info(ctx)
	if err != nil {
		return 0, err
	}
	epoch, err := strconv.ParseUint(info.Config.Metadata[epochName], 10, 64)
	if err != nil {
		return 0, &store.CorruptError{What: "the epoch of the store", Why: err.Error()}
	}
	return epoch, nil
}
