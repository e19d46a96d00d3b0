package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weft/internal/store"
	"weft/internal/wait"
)

// within reports whether a key is below a folder.
func within(folder, key string) bool { return folder == "" || strings.HasPrefix(key, folder+"/") }

// Watch follows the log, and reads each value that it names.
func (t *table) Watch(ctx context.Context, folder string, from store.Revision) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		err := t.follow(ctx, folder, from, func(e store.Event) bool { return yield(e, nil) })
		if err != nil {
			yield(store.Event{}, err)
		}
	}
}

// follow yields changes until it is told to end, which is no error.
func (t *table) follow(ctx context.Context, folder string, from store.Revision, yield func(store.Event) bool) error {
	if err := store.CheckFolder(folder); err != nil {
		return err
	}
	last, err := t.settled(ctx)
	if err != nil {
		return err
	}
	if from > last {
		return &store.GapError{From: from, Why: fmt.Sprintf("the store's last is %d: it is another store, or an older copy", last)}
	}
	r := reader{t: t, seen: from}
	missed := map[string]bool{}
	for {
		lines, err := r.next(ctx)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if !within(folder, l.key) && l.op != opLost {
				continue
			}
			e, err := t.event(ctx, l)
			switch {
			case err != nil:
				return err
			case e == nil:
				missed[l.key] = true
				continue
			}
			e.Missed = missed[l.key]
			delete(missed, l.key)
			if !yield(*e) {
				return nil
			}
		}
		if len(lines) > 0 {
			continue
		}
		if !wait.For(ctx, t.o.Look) {
			return context.Cause(ctx)
		}
	}
}

// event is the change of a line; nil where its value is gone.
func (t *table) event(ctx context.Context, l line) (*store.Event, error) {
	if l.op == opLost {
		return nil, &store.GapError{From: l.rev - 1, Why: "the machine lost its power while the next change was written"}
	}
	for settled := false; ; settled = true {
		e, err := t.Get(ctx, l.key)
		if err != nil && !errors.As(err, new(*store.NotFoundError)) {
			return nil, err
		}
		there := err == nil
		switch {
		case l.op == opPut && there && e.Revision == l.rev:
			return &store.Event{Entry: e}, nil
		case l.op == opDelete && (!there || e.Revision > l.rev):
			return &store.Event{Entry: store.Entry{Key: l.key, Revision: l.rev, Written: l.at}, Deleted: true}, nil
		case there && e.Revision > l.rev, settled && !there:
			return nil, nil
		case settled:
			return nil, &store.CorruptError{What: l.key, Why: fmt.Sprintf("it is revision %d, and %d was made", e.Revision, l.rev)}
		}
		// It is not in its place yet.
		if _, err := t.finished(ctx); err != nil {
			return nil, err
		}
	}
}

// A reader follows the log.
type reader struct {
	t    *table
	seen store.Revision // the last that is of no interest any more
	file store.Revision // that is being read, by its first revision; 0 is none yet
	line store.Revision // the last line that was read in it
	at   int64          // behind that line
}

// next reads the lines that have come since; none where there are none.
func (r *reader) next(ctx context.Context) ([]line, error) {
	if r.file == 0 {
		all, err := numbers(r.t.logs())
		if err != nil || len(all) == 0 {
			return nil, err
		}
		i, found := slices.BinarySearch(all, r.seen+1)
		if !found {
			i--
		}
		if i < 0 {
			return nil, &store.GapError{From: r.seen, Why: fmt.Sprintf("the log begins at %d", all[0])}
		}
		r.file, r.line = all[i], all[i]-1
	}
	lines, err := r.read(ctx)
	if err != nil || len(lines) > 0 {
		return lines, err
	}
	all, err := numbers(r.t.logs())
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearch(all, r.file)
	if found {
		i++
	}
	if i == len(all) {
		return nil, nil
	}
	// Nothing is added any more to the file that was read.
	if lines, err = r.read(ctx); err != nil || len(lines) > 0 {
		return lines, err
	}
	if all[i] != r.line+1 {
		return nil, &store.GapError{From: r.line, Why: fmt.Sprintf("the log goes on at %d", all[i])}
	}
	r.file, r.at = all[i], 0
	return r.read(ctx)
}

// read reads whole lines of the file: some, not all.
func (r *reader) read(ctx context.Context) ([]line, error) {
	for mended := false; ; mended = true {
		lines, bad, err := r.some()
		if err != nil || !bad || len(lines) > 0 {
			return lines, err
		}
		if mended {
			return nil, &store.CorruptError{What: r.name(), Why: fmt.Sprintf("the line at byte %d is not what was written", r.at)}
		}
		if _, err := r.t.finished(ctx); err != nil {
			return nil, err
		}
	}
}

func (r *reader) name() string { return filepath.Join(r.t.logs(), number(r.file)) }

// some reads lines up to one that is bad.
func (r *reader) some() (lines []line, bad bool, err error) {
	f, err := os.Open(r.name())
	if missing(err) {
		return nil, false, &store.GapError{From: r.line, Why: "the log does not go back to there any more"}
	} else if err != nil {
		return nil, false, &store.UnavailableError{Err: err}
	}
	defer f.Close()
	for len(lines) == 0 {
		part := make([]byte, 64<<10)
		n, err := f.ReadAt(part, r.at)
		if err != nil && err != io.EOF {
			return nil, false, &store.UnavailableError{Err: err}
		}
		text, begin := string(part[:n]), r.at
		for text != "" {
			one, rest, whole := strings.Cut(text, "\n")
			if !whole {
				break
			}
			l, ok := decodeLine(one)
			if !ok || l.rev != r.line+1 {
				return lines, true, nil
			}
			r.line, r.at, text = l.rev, r.at+int64(len(one))+1, rest
			if l.rev > r.seen {
				r.seen = l.rev
				lines = append(lines, l)
			}
		}
		if err == io.EOF {
			break
		}
		if r.at == begin { // no line is as long
			return nil, true, nil
		}
	}
	return lines, false, nil
}
