package dir

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weft/internal/store"
)

const day = 24 * time.Hour

// blobs is the folder of what is on its way to be a blob; they stand in the one above.
func (s *Store) blobs() string { return filepath.Join(s.root, "blobs", "new") }

func (s *Store) blob(d store.Digest) string { return filepath.Join(s.root, "blobs", string(d)) }

// PutBlob writes a blob beside the others, and gives it its name when it is whole.
func (s *Store) PutBlob(ctx context.Context, from io.Reader) (store.Digest, error) {
	f, err := os.CreateTemp(s.blobs(), "")
	if err != nil {
		return "", &store.UnavailableError{Err: err}
	}
	defer os.Remove(f.Name()) // where it did not get its name
	defer f.Close()
	h := sha256.New()
	in := &source{ctx: ctx, Reader: from}
	if _, err := io.Copy(io.MultiWriter(f, h), in); in.err != nil {
		return "", in.err
	} else if err != nil {
		return "", &store.UnavailableError{Err: err}
	}
	s.o.step("blob written")
	d := store.NewDigest(h)
	err = errors.Join(s.o.syncFile(f), f.Close())
	if err == nil {
		s.o.step("blob synced")
		err = s.name(ctx, f.Name(), d)
	}
	if err != nil {
		return "", &store.UnavailableError{Err: err}
	}
	s.o.step("blob named")
	return d, nil
}

// name gives a blob its name. One of that name that is whole stays: it may be read.
func (s *Store) name(ctx context.Context, file string, d store.Digest) error {
	if there, err := s.Blob(ctx, d); err == nil {
		_, err = io.Copy(io.Discard, there)
		there.Close()
		if err == nil {
			return nil
		}
	}
	if err := os.Rename(file, s.blob(d)); err != nil {
		return err
	}
	return s.o.syncDir(filepath.Dir(s.blob(d)))
}

// Blob reads a blob.
func (s *Store) Blob(_ context.Context, d store.Digest) (io.ReadCloser, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	f, err := os.Open(s.blob(d))
	if missing(err) {
		return nil, &store.NotFoundError{Key: string(d)}
	} else if err != nil {
		return nil, &store.UnavailableError{Err: err}
	}
	return store.Verify(f, d), nil
}

// Blobs lists the files of the folder that are blobs.
func (s *Store) Blobs(context.Context) ([]store.Digest, error) {
	names, err := readNames(filepath.Dir(s.blobs()))
	if err != nil {
		return nil, &store.UnavailableError{Err: err}
	}
	var list []store.Digest
	for _, name := range names {
		if d := store.Digest(name); d.Check() == nil {
			list = append(list, d)
		}
	}
	slices.Sort(list)
	return list, nil
}

// DeleteBlob removes a blob.
func (s *Store) DeleteBlob(_ context.Context, d store.Digest) error {
	if err := d.Check(); err != nil {
		return err
	}
	err := os.Remove(s.blob(d))
	if missing(err) {
		return &store.NotFoundError{Key: string(d)}
	} else if err == nil {
		err = s.o.syncDir(filepath.Dir(s.blob(d)))
	}
	if err != nil {
		return &store.UnavailableError{Err: err}
	}
	return nil
}

// sweep removes what a killed process was about to put, once it is too old to be on
// its way.
func (s *Store) sweep() error {
	names, err := os.ReadDir(s.blobs())
	if err != nil {
		return &store.UnavailableError{Err: err}
	}
	for _, e := range names {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > day {
			_ = os.Remove(filepath.Join(s.blobs(), e.Name())) // the next one tries again
		}
	}
	return nil
}

// A source is a reader that ends with its context, and keeps its error apart from
// those of the disk.
type source struct {
	io.Reader
	ctx context.Context
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
