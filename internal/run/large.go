package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"weft/internal/store"
)

// maxLarge is how many bytes a value may have that is kept in a document or its blob: several
// times what a site of 10,000 devices says of one task.
const maxLarge = 256 << 20

// A held value is a document that may be large: then it names a blob.
type heldValue struct {
	Value json.RawMessage `json:"value,omitempty"`
	Blob  store.Digest    `json:"blob,omitempty"`
}

// put writes a document, whatever is there. One process at a time does so.
func put(ctx context.Context, s store.Store, key string, value []byte) error {
	for {
		was, err := s.Get(ctx, key)
		switch {
		case errors.As(err, new(*store.NotFoundError)):
			_, err = s.Create(ctx, key, value)
		case err == nil && bytes.Equal(was.Value, value):
			return nil
		case err == nil:
			_, err = s.Update(ctx, key, value, was.Revision)
		}
		if !raced(err) {
			return err
		}
	}
}

// raced: another weft wrote at the same moment.
func raced(err error) bool {
	return errors.As(err, new(*store.StaleError)) || errors.As(err, new(*store.ExistsError)) || errors.As(err, new(*store.NotFoundError))
}

// remove takes a document away, if there is one, with its blob. One that a worker may write
// takes no blob with it: it could name any.
func remove(ctx context.Context, s store.Store, key string) error {
	for {
		was, err := s.Get(ctx, key)
		if err == nil {
			err = s.Delete(ctx, key, was.Revision)
		}
		switch {
		case errors.As(err, new(*store.NotFoundError)):
			return nil
		case raced(err):
			continue
		case err != nil:
			return err
		}
		if ofSite(key) {
			return nil
		}
		return forget(ctx, s, was.Value, "")
	}
}

// forget deletes the blob that a document had named, unless another has it now.
func forget(ctx context.Context, s store.Store, was []byte, now store.Digest) error {
	var h heldValue
	if json.Unmarshal(was, &h) != nil || h.Blob == "" || h.Blob == now {
		return nil
	}
	err := s.DeleteBlob(ctx, h.Blob)
	if errors.As(err, new(*store.NotFoundError)) {
		return nil
	}
	return err
}

// putLarge writes a value that may grow with the number of devices.
func putLarge(ctx context.Context, s store.Store, key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text, err := large(ctx, s, raw)
	if err != nil {
		return err
	}
	was, err := s.Get(ctx, key)
	if err != nil && !errors.As(err, new(*store.NotFoundError)) {
		return err
	}
	if err := put(ctx, s, key, text); err != nil {
		return err
	}
	var h heldValue
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	return forget(ctx, s, was.Value, h.Blob)
}

// large is the document that holds a value, which may be in a blob.
func large(ctx context.Context, s store.Store, raw []byte) (text []byte, err error) {
	h := heldValue{Value: raw}
	if len(raw) > maxPiece {
		if h.Blob, err = s.PutBlob(ctx, bytes.NewReader(raw)); err != nil {
			return nil, err
		}
		h.Value = nil
	}
	return json.Marshal(h)
}

// getLarge reads such a value, and reports whether there is one.
func getLarge(ctx context.Context, s store.Store, key string, v any) (there bool, err error) {
	e, err := s.Get(ctx, key)
	if errors.As(err, new(*store.NotFoundError)) {
		return false, nil
	}
	if err == nil {
		err = openLarge(ctx, s, e, v)
	}
	return err == nil, err
}

// openLarge reads what a document says, or its blob. A CorruptError says that it is not
// what weft writes; a NotFoundError that its blob is gone.
func openLarge(ctx context.Context, s store.Store, e store.Entry, v any) error {
	h := heldValue{}
	err := decode(e.Value, store.MaxValue, &h)
	if err == nil && h.Blob != "" {
		if err = h.Blob.Check(); err == nil {
			if h.Value, err = readBlob(ctx, s, h.Blob, maxLarge); err != nil && !isCorrupt(err) {
				return fmt.Errorf("%s: %w", e.Key, err)
			}
		}
	}
	if err == nil {
		err = decode(h.Value, maxLarge, v)
	}
	if err != nil {
		return &store.CorruptError{What: e.Key, Why: err.Error()}
	}
	return nil
}

func isCorrupt(err error) bool { return errors.As(err, new(*store.CorruptError)) }

// decode reads JSON from a store, which may be anybody's. A list without one of its
// elements is none that weft has written.
func decode(text []byte, most int, v any) error {
	if len(text) > most {
		return fmt.Errorf("it has more than %d bytes", most)
	}
	if bytes.Contains(text, []byte("null")) {
		if err := noHoles(text); err != nil {
			return err
		}
	}
	return json.Unmarshal(text, v)
}

// noHoles refuses null as an element of a list.
func noHoles(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	var open []json.Delim
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch t := t.(type) {
		case json.Delim:
			if t == '[' || t == '{' {
				open = append(open, t)
			} else {
				open = open[:len(open)-1]
			}
		case nil:
			if len(open) > 0 && open[len(open)-1] == '[' {
				return errors.New("an element of a list is null")
			}
		}
	}
}

// readBlob reads a blob of at most so many bytes.
func readBlob(ctx context.Context, s store.Store, d store.Digest, most int) ([]byte, error) {
	b, err := s.Blob(ctx, d)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	text, err := io.ReadAll(io.LimitReader(b, int64(most)+1))
	if err == nil && len(text) > most {
		err = &store.CorruptError{What: "blob " + string(d), Why: fmt.Sprintf("it has more than %d bytes", most)}
	}
	return text, err
}
