//go:build unix

package outfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"weft/internal/hint"
)

// retry is how often a FIFO without a reader is opened again.
const retry = 50 * time.Millisecond

// send writes to a device or FIFO, which is opened but never created or truncated.
func (d destination) send(ctx context.Context, text []byte) error {
	f, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Type() != d.info.Mode().Type() {
		return errors.Join(err, fmt.Errorf("%s was replaced while weft opened it", d.path))
	}
	// A reader may stop reading: the end of the context ends the write.
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })()
	if _, err := f.Write(text); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s: not all was written: %w", d.path, err)
	}
	return f.Close()
}

// open opens a stream for writing. A FIFO that nobody reads refuses to be opened without
// blocking, so that waiting for its reader can be interrupted.
func (d destination) open(ctx context.Context) (*os.File, error) {
	for {
		f, err := os.OpenFile(d.path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		if d.info.Mode()&fs.ModeNamedPipe == 0 || !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: no process reads this FIFO: %w", d.path, context.Cause(ctx))
		case <-time.After(retry):
		}
	}
}

// trusted refuses a symbolic link that another user may have placed: dir is its folder.
func trusted(link string, info fs.FileInfo, dir string) error {
	folder, err := os.Stat(dir)
	if err != nil {
		return err
	}
	refuse := func(why string) error {
		return hint.Wrap(fmt.Errorf("%s is a symbolic link that is not followed: %s", link, why), "name the file that it leads to")
	}
	switch {
	case !mine(info):
		return refuse("its owner is neither this user nor root")
	case !mine(folder):
		return refuse(fmt.Sprintf("the owner of its folder %s is neither this user nor root", dir))
	case folder.Mode()&0o022 != 0:
		return refuse(fmt.Sprintf("other users may write to its folder %s", dir))
	}
	return nil
}

// mine reports whether a file belongs to this user or root.
func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid())
}
