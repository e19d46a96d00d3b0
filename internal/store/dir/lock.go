package dir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"weft/internal/flock"
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
			return func() { f.Close() }, nil
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = errors.New(f.Name() + " is locked by another process, which fuser names: " + ctx.Err().Error())
			case <-time.After(wait):
				continue
			}
		}
		f.Close()
		return nil, &store.UnavailableError{Err: err}
	}
}
