package storetest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"weft/internal/store"
)

// pattern yields n bytes that do not repeat for long.
func pattern(n int) io.Reader {
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return bytes.NewReader(b)
}

// same holds a blob against its pattern.
func same(t *testing.T, s store.Store, d store.Digest, n int) {
	t.Helper()
	r, err := s.Blob(within(t), d)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want, _ := io.ReadAll(pattern(n))
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("blob of %d: %d bytes, %v", n, len(got), err)
	}
}

func blobs(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	listed := func(want ...store.Digest) {
		t.Helper()
		slices.Sort(want)
		if have := must[[]store.Digest](t)(c.Open(t).Blobs(ctx)); !slices.Equal(have, want) {
			t.Errorf("listed are %s, and there should be %s", have, want)
		}
	}
	listed()
	var put []store.Digest
	for _, n := range []int{0, 1, 128 << 10, 256 << 10, 1<<20 + 1, 5 << 20} {
		d := must[store.Digest](t)(s.PutBlob(ctx, pattern(n)))
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		same(t, c.Open(t), d, n)
		// Not seekable, and the same again.
		if again := must[store.Digest](t)(s.PutBlob(ctx, io.MultiReader(pattern(n)))); again != d {
			t.Errorf("put again it is %s, and was %s", again, d)
		}
		same(t, s, d, n)
		put = append(put, d)
	}
	listed(put...)
	none := store.Digest("sha256-" + strings.Repeat("0", 64))
	is[*store.NotFoundError](t, second(s.Blob(ctx, none)))
	is[*store.NotFoundError](t, s.DeleteBlob(ctx, none))
	for _, bad := range []store.Digest{"", "sha256-", "x", "sha256-../../keys", none + "0", store.Digest("sha256-" + strings.Repeat("G", 64))} {
		is[*store.InvalidError](t, second(s.Blob(ctx, bad)))
		is[*store.InvalidError](t, s.DeleteBlob(ctx, bad))
	}
	d := must[store.Digest](t)(s.PutBlob(ctx, pattern(700_000)))
	if err := s.DeleteBlob(ctx, d); err != nil {
		t.Fatal(err)
	}
	is[*store.NotFoundError](t, second(c.Open(t).Blob(ctx, d)))
	listed(put...)
	same(t, s, must[store.Digest](t)(s.PutBlob(ctx, pattern(700_000))), 700_000)

	cut := errors.New("the source broke")
	if _, err := s.PutBlob(ctx, io.MultiReader(pattern(400_000), broken{cut})); !errors.Is(err, cut) {
		t.Errorf("a source that breaks: %v", err)
	}
	var group sync.WaitGroup
	for range 8 {
		s := c.Open(t)
		group.Go(func() {
			d, err := s.PutBlob(ctx, pattern(900_000))
			if err != nil {
				t.Error(err)
				return
			}
			same(t, s, d, 900_000)
		})
	}
	group.Wait()
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func blobSpoiled(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	d := must[store.Digest](t)(s.PutBlob(ctx, pattern(600_000)))
	c.Spoil(t, d)
	r := must[io.ReadCloser](t)(s.Blob(ctx, d))
	_, err := io.Copy(io.Discard, r)
	is[*store.CorruptError](t, err)
	r.Close()
	if again := must[store.Digest](t)(s.PutBlob(ctx, pattern(600_000))); again != d {
		t.Errorf("put again it is %s, and was %s", again, d)
	}
	same(t, s, d, 600_000)
}
