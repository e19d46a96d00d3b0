package dir

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"weft/internal/flock"
	"weft/internal/hint"
	"weft/internal/store"
)

// lock keeps other processes, and other calls of this one, from changing a table until
// it is unlocked. The lock of a process that ends, however it ends, is gone.
func (t *table) lock(ctx context.Context) (unlock func(), err error) { return t.hold(ctx, false) }

// reading keeps changes out while something is read, where that is needed.
func (t *table) reading(ctx context.Context) (done func(), err error) {
	if !readersLock {
		return func() {}, nil
	}
	return t.hold(ctx, true)
}

func (t *table) hold(ctx context.Context, shared bool) (unlock func(), err error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.o.Timeout)
		defer cancel()
	}
	f, err := os.OpenFile(filepath.Join(t.root, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &store.UnavailableError{Err: err}
	}
	for wait := time.Millisecond / 2; ; wait = min(2*wait, 10*time.Millisecond) {
		free, err := flock.Try(f, shared)
		if err == nil && free {
			if !shared {
				sign(f, t.o.Clock())
			}
			return func() { _ = flock.Release(f) }, nil // there is nothing else to do about it
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = lockedBy(f, ctx.Err())
			case <-time.After(wait):
				continue
			}
		}
		f.Close()
		return nil, &store.UnavailableError{Err: err}
	}
}

// sign says in a lock who has it. Where that cannot be written who waits is told less.
func sign(f *os.File, now time.Time) {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintf(f, "process %d on %s, since %s", os.Getpid(), host, now.UTC().Format("2006-01-02 15:04:05 MST"))
	}
}

// lockedBy says who has a lock that was waited for in vain. Who is at work has it for a
// moment only: this one was stopped, or its disk hangs.
func lockedBy(f *os.File, why error) error {
	by := "another process, which fuser names"
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 300))
	if err == nil && len(text) > 0 {
		by = string(text)
	}
	return hint.Wrap(fmt.Errorf("%s is held by %s: %w", f.Name(), by, why),
		"a change takes a moment: a suspended process continues after kill -CONT, and a killed one loses the lock; the next process finishes its change")
}
