package nats

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
)

// chunk is how much of a blob is a message.
const chunk = 128 << 10

// An end is the last message of a blob: it is there when all others are.
type end struct {
	Size   int64 `json:"size"`
	Chunks int   `json:"chunks"`
}

func (s *Store) blobPre() string { return "WEFT." + s.o.Owner + ".blob." }

func (s *Store) blobSubject(d store.Digest, part string) string {
	return s.blobPre() + strings.TrimPrefix(string(d), "sha256-") + "." + part
}

func part(n int) string { return fmt.Sprintf("%08d", n) }

// PutBlob reads all, for the sum is the name, and then sends it.
func (s *Store) PutBlob(ctx context.Context, from io.Reader) (store.Digest, error) {
	f, err := os.CreateTemp("", "weft-blob-")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_ = os.Remove(f.Name()) // at once, where an open file may lose its name: a kill leaves nothing
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, h), from)
	if err != nil {
		return "", err
	}
	d := store.NewDigest(h)
	if whole, err := s.mend(ctx, d); whole || err != nil {
		return d, err
	}
	err = s.putParts(ctx, d, f, size)
	if errors.As(err, new(*store.CorruptError)) { // parts of a blob that has no end
		if err = s.purge(ctx, d); err == nil {
			err = s.putParts(ctx, d, f, size)
		}
	}
	return d, err
}

// putParts sends the parts of a blob, and its end.
func (s *Store) putParts(ctx context.Context, d store.Digest, f io.ReadSeeker, size int64) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	e := end{Size: size}
	for buf := make([]byte, chunk); size > 0; e.Chunks++ {
		n := min(int64(len(buf)), size)
		if _, err := io.ReadFull(f, buf[:n]); err != nil {
			return err
		}
		if err := s.sendPart(ctx, d, part(e.Chunks), buf[:n]); err != nil {
			return err
		}
		size -= n
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return s.sendPart(ctx, d, "end", text)
}

// mend reports whether a blob is there as a whole. What is there of another is removed:
// a part is written once.
func (s *Store) mend(ctx context.Context, d store.Digest) (whole bool, err error) {
	there, err := s.Blob(ctx, d)
	if err == nil {
		_, err = io.Copy(io.Discard, there)
		there.Close()
	}
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, new(*store.CorruptError)):
		return false, s.purge(ctx, d)
	case errors.As(err, new(*store.NotFoundError)):
		return false, nil
	}
	return false, err
}

// sendPart sends a part. One that is there is left: a former attempt, or another
// process, sent the same.
func (s *Store) sendPart(ctx context.Context, d store.Digest, part string, data []byte) error {
	subject := s.blobSubject(d, part)
	return s.ask(ctx, func(ctx context.Context) error {
		s.o.step("send part")
		msg := client.NewMsg(subject)
		msg.Data = data
		_, err := s.js.PublishMsg(ctx, msg)
		if written(err) {
			var there []byte
			if there, err = s.getPart(ctx, d, part); err == nil && !bytes.Equal(there, data) {
				err = &store.CorruptError{What: "blob " + string(d), Why: "its part " + part + " is not what its sum names: delete the blob, and put it again"}
			}
		}
		if err == nil {
			s.o.step("acknowledged part")
		}
		return err
	})
}

// written: a part is there already.
func written(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject exceeded")
}

// getPart asks the leader for a part.
func (s *Store) getPart(ctx context.Context, d store.Digest, part string) (data []byte, err error) {
	err = s.ask(ctx, func(ctx context.Context) error {
		raw, err := s.blobs.GetLastMsgForSubject(ctx, s.blobSubject(d, part))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return &store.NotFoundError{Key: string(d)}
		} else if err != nil {
			return err
		}
		data = raw.Data
		return nil
	})
	return data, err
}

// end finds the end of a blob.
func (s *Store) end(ctx context.Context, d store.Digest) (end, error) {
	if err := d.Check(); err != nil {
		return end{}, err
	}
	text, err := s.getPart(ctx, d, "end")
	if err != nil {
		return end{}, err
	}
	var e end
	if err := json.Unmarshal(text, &e); err != nil {
		return end{}, &store.CorruptError{What: "blob " + string(d), Why: err.Error()}
	}
	return e, nil
}

// Blob reads a blob, a part at a time.
func (s *Store) Blob(ctx context.Context, d store.Digest) (io.ReadCloser, error) {
	e, err := s.end(ctx, d)
	if err != nil {
		return nil, err
	}
	return store.Verify(&parts{s: s, ctx: ctx, d: d, end: e}, d), nil
}

type parts struct {
	s    *Store
	ctx  context.Context
	d    store.Digest
	end  end
	next int
	data []byte
}

func (p *parts) Read(to []byte) (n int, err error) {
	if len(to) == 0 {
		return 0, nil
	}
	for len(p.data) == 0 {
		if p.next >= p.end.Chunks {
			return 0, io.EOF
		}
		if p.data, err = p.s.getPart(p.ctx, p.d, part(p.next)); err != nil {
			if errors.As(err, new(*store.NotFoundError)) {
				err = &store.CorruptError{What: "blob " + string(p.d), Why: fmt.Sprintf("part %d of %d is not there", p.next, p.end.Chunks)}
			}
			return 0, err
		}
		p.next++
	}
	n = copy(to, p.data)
	p.data = p.data[n:]
	return n, nil
}

func (p *parts) Close() error { return nil }

// Blobs asks the leader which ends there are.
func (s *Store) Blobs(ctx context.Context) (list []store.Digest, err error) {
	err = s.ask(ctx, func(ctx context.Context) error {
		list = nil
		info, err := s.blobs.Info(ctx, jetstream.WithSubjectFilter(s.blobPre()+"*.end"))
		if err != nil {
			return err
		}
		for subject := range info.State.Subjects {
			sum := strings.TrimSuffix(strings.TrimPrefix(subject, s.blobPre()), ".end")
			list = append(list, store.Digest("sha256-"+sum))
		}
		slices.Sort(list)
		return nil
	})
	return list, err
}

// BlobParts lists the blobs of which there is any part, also those without an end.
func (s *Store) BlobParts(ctx context.Context) (list []store.Digest, err error) {
	err = s.ask(ctx, func(ctx context.Context) error {
		list = nil
		info, err := s.blobs.Info(ctx, jetstream.WithSubjectFilter(s.blobPre()+">"))
		if err != nil {
			return err
		}
		for subject := range info.State.Subjects {
			sum, _, _ := strings.Cut(strings.TrimPrefix(subject, s.blobPre()), ".")
			list = append(list, store.Digest("sha256-"+sum))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		return nil
	})
	return list, err
}

// RemoveParts removes all parts that there are of a blob.
func (s *Store) RemoveParts(ctx context.Context, d store.Digest) error { return s.purge(ctx, d) }

// DeleteBlob takes all parts away at once.
func (s *Store) DeleteBlob(ctx context.Context, d store.Digest) error {
	if _, err := s.end(ctx, d); err != nil && !errors.As(err, new(*store.CorruptError)) {
		return err
	}
	return s.purge(ctx, d)
}

func (s *Store) purge(ctx context.Context, d store.Digest) error {
	return s.ask(ctx, func(ctx context.Context) error {
		return s.blobs.Purge(ctx, jetstream.WithPurgeSubject(s.blobSubject(d, ">")))
	})
}
