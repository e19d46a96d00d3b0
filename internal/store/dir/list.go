package dir

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/internal/store"
)

// List reads the files of a folder, and what the log says of them since it began: a
// folder that is read while files are put in it may lack some.
func (t *table) List(ctx context.Context, folder string) ([]store.Entry, store.Revision, error) {
	if err := store.CheckFolder(folder); err != nil {
		return nil, 0, err
	}
	last, err := t.settled(ctx)
	if err != nil {
		return nil, 0, err
	}
	done, err := t.reading(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	l := listing{t: t, found: map[string]store.Entry{}, bad: map[string]error{}}
	if err := l.walk(ctx, t.folder(folder), folder); err != nil {
		return nil, 0, err
	}
	e, err := t.tail()
	if err != nil {
		return nil, 0, err
	}
	for r := (reader{t: t, seen: last}); r.seen < e.last; {
		lines, err := r.next(ctx)
		if err != nil {
			return nil, 0, err
		}
		for _, c := range lines {
			if within(folder, c.key) && c.op != opLost {
				l.look(c.key)
			}
		}
	}
	entries := slice.Map(slices.Sorted(maps.Keys(l.found)), func(key string) store.Entry { return l.found[key] })
	var bad []error
	for _, key := range slices.Sorted(maps.Keys(l.bad)) {
		bad = append(bad, l.bad[key])
	}
	return entries, last, errors.Join(bad...)
}

type listing struct {
	t     *table
	found map[string]store.Entry
	bad   map[string]error
}

// look reads a document.
func (l *listing) look(key string) {
	delete(l.found, key)
	delete(l.bad, key)
	d, err := l.t.read(key)
	switch {
	case err == nil:
		l.found[key] = d.Entry
	case !errors.As(err, new(*store.NotFoundError)):
		l.bad[key] = err
	}
}

// walk reads the documents below a folder.
func (l *listing) walk(ctx context.Context, place, folder string) error {
	if err := ctx.Err(); err != nil {
		return &store.UnavailableError{Err: err}
	}
	names, err := readNames(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return &store.UnavailableError{Err: err}
	}
	for _, name := range names {
		below := strings.TrimPrefix(folder+"/"+name[1:], "/")
		switch {
		case store.CheckKey(below) != nil: // it is not of a store
		case name[0] == '=':
			l.look(below)
		case name[0] == '+':
			if err := l.walk(ctx, filepath.Join(place, name), below); err != nil {
				return err
			}
		}
	}
	return nil
}
