package check

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"weft/internal/require"
	"weft/internal/store"
	"weft/internal/store/dir"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	os.Exit(m.Run())
}

// A broken store does one thing wrong.
type broken struct {
	store.Store
	update, create, lease, blob, blind, away, denied bool
}

func (b broken) Update(ctx context.Context, key string, value []byte, at store.Revision) (store.Revision, error) {
	for b.update {
		e, err := b.Store.Get(ctx, key)
		if err != nil {
			return 0, err
		}
		if rev, err := b.Store.Update(ctx, key, value, e.Revision); !errors.As(err, new(*store.StaleError)) {
			return rev, err
		}
	}
	return b.Store.Update(ctx, key, value, at)
}

func (b broken) Create(ctx context.Context, key string, value []byte) (store.Revision, error) {
	at, err := b.Store.Create(ctx, key, value)
	exists := (*store.ExistsError)(nil)
	switch {
	case b.away:
		return 0, &store.UnavailableError{Err: errors.New("away")}
	case b.denied:
		return 0, &store.DeniedError{What: "write"}
	case b.create && errors.As(err, &exists):
		return exists.Current, nil
	}
	return at, err
}

func (b broken) Lease(ctx context.Context, key, holder string, ttl time.Duration) (*store.Lease, error) {
	if b.lease {
		ttl /= 10
	}
	return b.Store.Lease(ctx, key, holder, ttl)
}

func (b broken) Blob(ctx context.Context, d store.Digest) (io.ReadCloser, error) {
	if b.blob {
		return io.NopCloser(strings.NewReader("other")), nil
	}
	return b.Store.Blob(ctx, d)
}

func (b broken) Watch(ctx context.Context, folder string, from store.Revision) iter.Seq2[store.Event, error] {
	if b.blind {
		from += 3
	}
	return b.Store.Watch(ctx, folder, from)
}

// What a store does wrong is found, and nothing else; and its keys are taken away.
func TestCheck(t *testing.T) {
	for want, b := range map[string]broken{
		"": {}, "update": {update: true}, "create": {create: true}, "lease": {lease: true}, "blob": {blob: true}, "watch": {blind: true},
	} {
		t.Run("broken "+want, func(t *testing.T) {
			t.Parallel()
			place := t.TempDir()
			open := func(ctx context.Context) (store.Store, error) {
				s, err := dir.Open(ctx, place, dir.Options{Look: 5 * time.Millisecond})
				b := b
				b.Store = s
				return b, err
			}
			list, err := Trial{Open: open, Folder: "site/dc1", TTL: 500 * time.Millisecond}.Run(t.Context())
			if err != nil || len(list) != 5 {
				t.Fatalf("%v: %v", list, err)
			}
			for _, f := range list {
				if (f.Verdict == Fail) != (f.Name == want) {
					t.Errorf("%s is %s: %s", f.Name, f.Verdict, f.Text)
				}
			}
			s, err := open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			docs, _, err := s.List(t.Context(), "")
			blobs, also := s.Blobs(t.Context())
			if err != nil || also != nil || len(docs) > 0 || len(blobs) > 0 && want != "blob" {
				t.Errorf("left are %v and %v: %v %v", docs, blobs, err, also)
			}
		})
	}
	for name, b := range map[string]broken{"away": {away: true}, "denied": {denied: true}} {
		s, err := dir.Open(t.Context(), t.TempDir(), dir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b.Store = s
		list, err := Trial{Open: func(context.Context) (store.Store, error) { return b, nil }}.Run(t.Context())
		if err == nil || len(list) > 0 {
			t.Errorf("%s: %v", name, list)
		}
	}
}
