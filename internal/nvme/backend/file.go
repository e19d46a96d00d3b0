package backend

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// file keeps blocks in a regular file, or on a block device.
type file struct {
	info  Info         // but for its size once the backend is open
	size  atomic.Int64 // grows
	whole bool         // all of f, whatever it becomes
	locks stripes
	f     *os.File
	align int // of memory and offsets that f takes, 0 for any
	spare sync.Pool

	fd       int         // of f, negative when closed; under all locks
	uncached atomic.Bool // TryRead is of no use

	mu     sync.Mutex
	failed error // of the first Flush that failed
}

// OpenFile keeps the blocks in a regular file, which belongs to this backend
// alone until Close. A missing file is created, with its folders, and sparse;
// a shorter one grows; a longer one is refused, because it is never shrunk. Size 0
// is all of a file that is there.
func OpenFile(path string, size int64, block int) (Backend, error) {
	b := &file{info: Info{Size: size, BlockSize: block, MayBlock: true, Cached: true}, whole: size == 0}
	if b.whole {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("file backend: %w", err)
		}
		b.info.Size = wholeBlocks(info.Size(), block)
	}
	if err := b.info.validate(); err != nil {
		return nil, fmt.Errorf("file backend %s: %w", path, err)
	}
	if err := CheckFile(path, 0); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("file backend: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("file backend: %w", err)
	}
	b.f, b.fd = f, int(f.Fd())
	if err := b.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("file backend %s: %w", path, err), f.Close())
	}
	b.size.Store(b.info.Size)
	return b, nil
}

// wholeBlocks is how many of so many bytes make blocks.
func wholeBlocks(bytes int64, block int) int64 { return bytes - bytes%max(int64(block), 1) }

// CheckFile reports what stands at path that OpenFile would refuse to serve as so
// many bytes, 0: as any; nothing there is fine. It changes nothing.
func CheckFile(path string, size int64) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("file backend: %w", err)
	}
	if err := regular(path, info); err != nil || size == 0 {
		return err
	}
	if err := longer(info.Size(), size); err != nil {
		return fmt.Errorf("file backend %s: %w", path, err)
	}
	return nil
}

// longer refuses a file that would have to shrink.
func longer(have, size int64) error {
	if have > size {
		return fmt.Errorf("holds %d bytes, more than the %d declared, and is never shrunk", have, size)
	}
	return nil
}

func regular(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.Mode()&fs.ModeDevice != 0:
		return fmt.Errorf("file backend %s is a device: serve it as one", path)
	}
	return fmt.Errorf("file backend %s is no regular file but %s", path, info.Mode().Type())
}

// prepare claims the open file and gives it its size, durably.
func (b *file) prepare() error {
	if err := claim(b.f); err != nil {
		return err
	}
	info, err := b.f.Stat()
	if err != nil {
		return err
	}
	if err := regular(b.f.Name(), info); err != nil {
		return err
	}
	if b.whole {
		return nil
	}
	if err := longer(info.Size(), b.info.Size); err != nil || info.Size() == b.info.Size {
		return err
	}
	if err := b.f.Truncate(b.info.Size); err != nil {
		return err
	}
	if err := b.f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(b.f.Name()))
}

// syncDir makes the name of a new file durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (b *file) ReadBlocks(p []byte, lba uint64) error {
	off, err := b.Info().offset(len(p), lba)
	if err != nil {
		return err
	}
	return b.locks.each(p, off, false, b.readPart)
}

// readPart fills at most a stripe, whose lock is held.
func (b *file) readPart(part []byte, off int64) error {
	n, err := b.readAt(part, off)
	if n == len(part) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // another process cut the file
	}
	return closed(err)
}

func (b *file) WriteBlocks(p []byte, lba uint64) error {
	off, err := b.Info().offset(len(p), lba)
	if err != nil {
		return err
	}
	return b.locks.each(p, off, true, b.writePart)
}

// writePart stores at most a stripe, whose lock is held.
func (b *file) writePart(part []byte, off int64) error {
	_, err := b.writeAt(part, off)
	return closed(err)
}

func (b *file) CompareAndWrite(want, p []byte, lba uint64) (same bool, err error) {
	off, err := b.Info().block(want, p, lba)
	if err != nil {
		return false, err
	}
	return b.locks.swap(want, p, off, b.readPart, b.writePart)
}

func (b *file) ZeroBlocks(lba, n uint64, free bool) error {
	off, length, err := b.Info().span(lba, n)
	if err != nil {
		return err
	}
	return b.locks.span(off, length, zeroedAtOnce(free), func(off, n int64) error {
		if done, err := zeroFile(b.f, off, n, free); done || err != nil {
			return closed(err)
		}
		return closed(b.writeZeroes(off, n))
	})
}

// writeZeroes is for files that cannot be zeroed in another way.
func (b *file) writeZeroes(off, n int64) error {
	zeroes := make([]byte, min(n, stripeBytes))
	for n > 0 {
		part := zeroes[:min(n, int64(len(zeroes)))]
		if _, err := b.writeAt(part, off); err != nil {
			return err
		}
		off, n = off+int64(len(part)), n-int64(len(part))
	}
	return nil
}

func (b *file) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return b.failed
	}
	err := closed(datasync(b.f))
	if err != nil && !errors.Is(err, ErrClosed) {
		b.failed = fmt.Errorf("an earlier flush: %w", err)
	}
	return err
}

func (b *file) Info() Info {
	now := b.info
	now.Size = b.size.Load()
	return now
}

var _ Grower = (*file)(nil)

// extent is how many bytes there are. Nothing else uses the position in the file.
func (b *file) extent() (int64, error) { return b.f.Seek(0, io.SeekEnd) }

// Grow looks at the file or device again.
func (b *file) Grow() error {
	have, err := b.extent()
	is := b.size.Load()
	switch {
	case err != nil:
		return fmt.Errorf("%s: how large it is: %w", b.f.Name(), closed(err))
	case have == 0:
		return nil
	case have < is:
		return fmt.Errorf("%s has shrunk: it holds %d bytes, fewer than the %d that are served", b.f.Name(), have, is)
	case b.whole:
		b.size.Store(wholeBlocks(have, b.info.BlockSize))
	}
	return nil
}

func (b *file) Close() error {
	return b.locks.all(func() error {
		b.fd = -1
		if err := b.f.Close(); !errors.Is(err, fs.ErrClosed) {
			return err
		}
		return nil
	})
}

func closed(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return ErrClosed
	}
	return err
}
