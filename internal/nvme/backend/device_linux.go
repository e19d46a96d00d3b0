package backend

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenDevice keeps the blocks on a block device, which belongs to this backend
// alone until Close: one that is mounted or otherwise in use is refused. Reads
// and writes go to the device itself, past the page cache. Size 0 is all of it.
func OpenDevice(path string, size int64, block int) (Backend, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT|unix.O_EXCL, 0)
	switch {
	case errors.Is(err, unix.EBUSY):
		return nil, fmt.Errorf("device backend %s: it is mounted, or part of something else (see: lsblk)", path)
	case err != nil:
		return nil, fmt.Errorf("device backend: %w", err)
	}
	b := &file{info: Info{Size: size, BlockSize: block, MayBlock: true}, whole: size == 0, f: f}
	if err := b.measure(); err != nil {
		return nil, errors.Join(fmt.Errorf("device backend %s: %w", path, err), f.Close())
	}
	return b, nil
}

// CheckDevice reports what OpenDevice would refuse of a device, except that
// something else uses it. It changes nothing, and disturbs nobody who does.
func CheckDevice(path string, size int64, block int) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("device backend: %w", err)
	}
	b := &file{info: Info{Size: size, BlockSize: block}, f: f}
	if err = b.measure(); err != nil {
		err = fmt.Errorf("device backend %s: %w", path, err)
	}
	return errors.Join(err, f.Close())
}

// measure asks the device for its shape and compares.
func (b *file) measure() error {
	info, err := b.f.Stat()
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0 {
		return fmt.Errorf("it is no block device but %s", info.Mode().Type())
	}
	err = control(b.f, func(fd int) (err error) {
		b.align, err = unix.IoctlGetInt(fd, unix.BLKSSZGET)
		return os.NewSyscallError("BLKSSZGET", err)
	})
	if err != nil {
		return err
	}
	have, err := b.extent()
	switch {
	case err != nil:
		return err
	case b.info.BlockSize%max(b.align, 1) != 0:
		return fmt.Errorf("its own blocks are of %d bytes, it cannot be served in blocks of %d", b.align, b.info.BlockSize)
	case b.info.Size > have:
		return fmt.Errorf("it holds %d bytes, fewer than the %d declared", have, b.info.Size)
	case b.info.Size == 0:
		b.info.Size = wholeBlocks(have, b.info.BlockSize)
	}
	b.size.Store(b.info.Size)
	return b.info.validate()
}
