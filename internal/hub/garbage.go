package hub

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"weft/internal/store"
	"weft/internal/store/nats"
)

// Garbage are blobs that no document names: the large answer of a worker that nobody read,
// and parts of a blob whose sender was killed. A sender writes a blob first and then the
// document, so a blob is removed once it was found without a document for a whole day.
type garbage struct {
	since map[string]map[store.Digest]time.Time // by owner: when a blob was first found without
	next  time.Time
}

const (
	garbageEvery = time.Hour
	garbageAfter = 24 * time.Hour
)

// sums are the digests that a document names, in its key or its value, with or without
// "sha256-".
var sums = regexp.MustCompile(`[0-9a-f]{64}`)

// pass removes garbage of an owner, and returns how many blobs that were.
func (g *garbage) pass(ctx context.Context, s *nats.Store, owner string, now time.Time) (n int, err error) {
	blobs, err := s.BlobParts(ctx)
	if err != nil {
		return 0, err
	}
	alone, err := unnamed(ctx, s, blobs)
	if err != nil {
		return 0, err
	}
	was, is := g.since[owner], map[store.Digest]time.Time{}
	if g.since == nil {
		g.since = map[string]map[store.Digest]time.Time{}
	}
	g.since[owner] = is
	for _, d := range alone {
		from, known := was[d]
		if !known {
			from = now
		}
		if now.Sub(from) < garbageAfter {
			is[d] = from
			continue
		}
		if err := s.RemoveParts(ctx, d); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// unnamed are blobs that no document names.
func unnamed(ctx context.Context, s *nats.Store, blobs []store.Digest) (list []store.Digest, err error) {
	if len(blobs) == 0 {
		return nil, nil
	}
	named := map[store.Digest]bool{}
	err = s.Each(ctx, func(e store.Entry) {
		for _, sum := range sums.FindAllString(e.Key, -1) {
			named[store.Digest("sha256-"+sum)] = true
		}
		for _, sum := range sums.FindAll(e.Value, -1) {
			named[store.Digest("sha256-"+string(sum))] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for _, d := range blobs {
		if !named[d] {
			list = append(list, d)
		}
	}
	return list, nil
}

// collect removes the garbage of all owners, when it is time.
func (k *keeper) collect(ctx context.Context) {
	now := time.Now()
	if now.Before(k.garbage.next) {
		return
	}
	k.garbage.next = now.Add(garbageEvery)
	owners, err := k.s.Owners(ctx)
	for _, owner := range owners {
		if owner == own || err != nil {
			continue
		}
		var s *nats.Store
		if s, err = k.r.store(ctx, owner, k.replicas); err != nil {
			break
		}
		n, failed := k.garbage.pass(ctx, s, owner, now)
		s.Close()
		if n > 0 {
			k.note(fmt.Sprintf("removed %d blobs of the store of %s that no document named for %s", n, owner, garbageAfter))
		}
		err = failed
	}
	if err != nil && ctx.Err() == nil {
		k.note("blobs without a document were not looked for: " + err.Error())
	}
}
