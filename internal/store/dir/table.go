package dir

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"weft/internal/store"
)

// A table is a set of documents with revisions of its own.
type table struct {
	root string
	o    *Options
}

func newTable(root string, o *Options) *table { return &table{root: root, o: o} }

func (t *table) data() string      { return filepath.Join(t.root, "data") }
func (t *table) logs() string      { return filepath.Join(t.root, "log") }
func (t *table) fresh() string     { return filepath.Join(t.root, "new") }
func (t *table) folders() []string { return []string{t.data(), t.logs(), t.fresh()} }

// Get reads a document.
func (t *table) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.CheckKey(key); err != nil {
		return store.Entry{}, err
	}
	unlock, err := t.reading(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	defer unlock()
	d, err := t.read(key)
	if err != nil {
		return store.Entry{}, err
	}
	return d.Entry, nil
}

// Create writes a document that is not there.
func (t *table) Create(ctx context.Context, key string, value []byte) (store.Revision, error) {
	return t.change(ctx, document{Entry: store.Entry{Key: key, Value: value}}, func(now *store.Entry) error {
		if now != nil {
			return &store.ExistsError{Key: key, Current: now.Revision}
		}
		return nil
	})
}

// Update writes a document that nobody changed since.
func (t *table) Update(ctx context.Context, key string, value []byte, at store.Revision) (store.Revision, error) {
	return t.change(ctx, document{Entry: store.Entry{Key: key, Value: value}}, unchanged(key, at))
}

// Delete takes a document away that nobody changed since.
func (t *table) Delete(ctx context.Context, key string, at store.Revision) error {
	_, err := t.change(ctx, document{Entry: store.Entry{Key: key}, deleted: true}, unchanged(key, at))
	return err
}

func unchanged(key string, at store.Revision) func(*store.Entry) error {
	return func(now *store.Entry) error {
		switch {
		case at == 0:
			return &store.InvalidError{Key: key, Why: "there is no revision 0"}
		case now == nil:
			return &store.NotFoundError{Key: key}
		case now.Revision != at:
			return &store.StaleError{Key: key, At: at, Current: now.Revision}
		}
		return nil
	}
}

// change makes a change, if what is there now allows it.
func (t *table) change(ctx context.Context, d document, allows func(now *store.Entry) error) (store.Revision, error) {
	if err := errors.Join(store.CheckKey(d.Key), store.CheckValue(d.Key, d.Value)); err != nil {
		return 0, err
	}
	unlock, err := t.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	e, err := t.settle()
	if err != nil {
		return 0, err
	}
	var now *store.Entry
	was, err := t.read(d.Key)
	if err == nil {
		now = &was.Entry
	} else if !errors.As(err, new(*store.NotFoundError)) {
		return 0, err
	}
	if err := allows(now); err != nil {
		return 0, err
	}
	d.Revision, d.Written = e.last+1, t.o.Clock()
	if err := t.write(e, d); err != nil {
		return 0, err
	}
	return d.Revision, nil
}

// write makes a change: until its line is in the log nothing has happened, and from
// then on it has, whoever puts it in its place.
func (t *table) write(e tail, d document) error {
	t.o.step("begin")
	file := filepath.Join(t.fresh(), number(d.Revision))
	err := t.o.writeFile(file, d.encode())
	if err == nil {
		t.o.step("value")
		err = t.o.syncDir(t.fresh())
	}
	if err != nil {
		return &store.UnavailableError{Err: errors.Join(err, os.Remove(file))}
	}
	t.o.step("decide")
	if err := t.append(e, line{rev: d.Revision, op: d.op(), at: d.Written, key: d.Key}); err != nil {
		return err
	}
	t.o.step("decided")
	if err := t.put(file, d); err != nil {
		return &store.UnavailableError{Err: err, Unknown: true}
	}
	t.o.step("placed")
	return nil
}

// settled finishes what others left, and is a revision: all changes up to it are in
// their places.
func (t *table) settled(ctx context.Context) (store.Revision, error) {
	// What is decided and not yet in its place stands among the new, in this order.
	if e, err := t.tail(); err == nil {
		left, err := numbers(t.fresh())
		if err == nil && (len(left) == 0 || left[0] > e.last) {
			return e.last, nil
		}
	}
	return t.finished(ctx)
}

// finished finishes what others left, and mends the log.
func (t *table) finished(ctx context.Context) (store.Revision, error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	e, err := t.settle()
	return e.last, err
}

// settle finishes what another process left who was killed, or whose machine lost its power:
// values whose change was decided are put in their places, others are removed. It is
// called with the lock.
func (t *table) settle() (tail, error) {
	e, err := t.tail()
	if err != nil {
		return e, err
	}
	if e.torn {
		if e, err = t.mend(e); err != nil {
			return e, err
		}
	}
	if err := t.turn(e); err != nil {
		return e, &store.UnavailableError{Err: err}
	}
	left, err := numbers(t.fresh())
	if err != nil {
		return e, err
	}
	for _, r := range left {
		if err := t.finish(filepath.Join(t.fresh(), number(r)), r <= e.last); err != nil {
			return e, err
		}
	}
	if e.size >= t.o.segment {
		return t.tail()
	}
	return e, nil
}

// mend puts a line in place of one that was not written whole. Its number is not
// given again.
func (t *table) mend(e tail) (tail, error) {
	if err := os.Truncate(e.file, e.size); err != nil {
		return e, &store.UnavailableError{Err: err}
	}
	if err := t.append(e, line{rev: e.last + 1, op: opLost, at: t.o.Clock(), key: "-"}); err != nil {
		return e, err
	}
	return t.tail()
}

// finish does what is left to do of a change.
func (t *table) finish(file string, decided bool) error {
	text, err := os.ReadFile(file)
	if err == nil && decided {
		var d document
		if d, err = decode(text); err != nil {
			return &store.CorruptError{What: file, Why: err.Error()}
		}
		if now, bad := t.read(d.Key); bad != nil || now.Revision < d.Revision {
			err = t.put(file, d)
		} else {
			err = os.Remove(file)
		}
	} else if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		return &store.UnavailableError{Err: err}
	}
	return nil
}

// put puts a value in its place.
func (t *table) put(file string, d document) error {
	to := t.file(d.Key)
	err := os.Rename(file, to)
	if missing(err) {
		if d.deleted { // so is its folder
			return os.Remove(file)
		}
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			err = os.Rename(file, to)
		}
	}
	if err != nil || !d.deleted {
		return err
	}
	t.o.step("deleted")
	if err := os.Remove(to); err != nil {
		return err
	}
	for folder := filepath.Dir(to); folder != t.data() && os.Remove(folder) == nil; {
		folder = filepath.Dir(folder)
	}
	return nil
}
