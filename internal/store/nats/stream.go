package nats

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits are how many bytes the streams of an owner may have; 0 is no limit. Those that are
// set replace the limits of streams that exist.
type Limits struct {
	Documents, Leases, Blobs int64
	DocumentsSet, BlobsSet   bool
}

func limit(n int64) int64 { return cmp.Or(n, -1) }

const (
	formatName = "weft-format"
	epochName  = "weft-epoch"
	syncName   = "weft-sync"
	syncAlways = "always"
)

// config is what all streams have in common. None of them takes a message that removes
// others (rollup, time-to-live), sends others later (schedules) or copies itself
// elsewhere: a publisher changes the subject that it may write and no other.
func (s *Store) config(name, subjects string) jetstream.StreamConfig {
	c := jetstream.StreamConfig{Name: name, Subjects: []string{subjects}, Description: "runs of weft",
		MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxConsumers: -1, Discard: jetstream.DiscardNew,
		Storage: jetstream.FileStorage, Replicas: s.o.Replicas, DenyDelete: true,
		// An epoch is the time, so that a store that was lost and is made anew has a
		// higher one.
		Metadata: map[string]string{formatName: "1", epochName: strconv.FormatInt(time.Now().UnixMilli(), 10)}}
	if s.o.Synced {
		c.Metadata[syncName] = syncAlways
	}
	return c
}

// stream finds a stream or makes it, and refuses one that would not keep what it should.
func (s *Store) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	var stream jetstream.Stream
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		stream, err = s.js.Stream(ctx, c.Name)
		if is(err, jetstream.JSErrCodeStreamNotFound) {
			stream, err = s.js.CreateStream(ctx, c)
			if is(err, jetstream.JSErrCodeStreamNameInUse) { // another process was quicker
				stream, err = s.js.Stream(ctx, c.Name)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.o.Migrate {
		if stream, err = s.migrate(ctx, stream, c); err != nil {
			return nil, err
		}
	}
	is := stream.CachedInfo().Config
	for _, b := range []struct {
		bad bool
		why string
	}{
		{is.Metadata[formatName] != c.Metadata[formatName], fmt.Sprintf("it has format %q, and this weft knows format 1", is.Metadata[formatName])},
		{is.AllowDirect, "it lets followers answer (allow_direct), who may not know what is new"},
		{is.MaxMsgsPerSubject != 1, "it keeps more or less than one revision of a key"},
		{is.MaxAge != 0 || is.MaxMsgs > 0, "it forgets (max_age, max_msgs)"},
		{is.Discard != jetstream.DiscardNew, "it drops what is old when it is full (discard)"},
		{is.Storage != jetstream.FileStorage, "it is kept in memory"},
		{is.AllowRollup, "a publisher may remove messages of other subjects (allow_rollup_hdrs): a hub of this release migrates it when it starts"},
		{is.AllowMsgTTL || is.AllowMsgSchedules, "a publisher may have messages expire or sent later (allow_msg_ttl, allow_msg_schedules)"},
		{is.RePublish != nil || is.SubjectTransform != nil || is.Mirror != nil || len(is.Sources) > 0, "it copies messages between subjects (republish, subject_transform, mirror, sources)"},
	} {
		if b.bad {
			return nil, fmt.Errorf("stream %s of %s cannot keep runs: %s", c.Name, s.conn.ConnectedUrlRedacted(), b.why)
		}
	}
	return stream, nil
}

// migrate updates a stream of format 1 that an older weft made. A stream of anybody else
// is left for the caller to refuse.
func (s *Store) migrate(ctx context.Context, stream jetstream.Stream, c jetstream.StreamConfig) (jetstream.Stream, error) {
	was := stream.CachedInfo().Config
	if was.Metadata[formatName] != c.Metadata[formatName] {
		return stream, nil
	}
	want := was
	want.AllowRollup, want.AllowMsgTTL, want.AllowMsgSchedules = false, false, false
	want.DenyDelete = true
	want.DenyPurge = want.DenyPurge || c.DenyPurge
	want.DiscardNewPerSubject = c.DiscardNewPerSubject
	want.MaxMsgSize = c.MaxMsgSize
	if set := map[string]bool{"KV_weft-" + s.o.Owner: s.o.Limits.DocumentsSet, "weft-" + s.o.Owner + "-blob": s.o.Limits.BlobsSet}[c.Name]; c.MaxBytes > 0 && (set || was.MaxBytes <= 0) { // with room for deletions where there is more already
		n := int64(stream.CachedInfo().State.Bytes)
		want.MaxBytes = max(c.MaxBytes, n+n/4)
	}
	if reflect.DeepEqual(was, want) {
		return stream, nil
	}
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		stream, err = s.js.UpdateStream(ctx, want)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrate stream %s: %w", c.Name, err)
	}
	return stream, nil
}
