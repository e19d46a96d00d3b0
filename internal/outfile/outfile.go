// Package outfile writes the files that a user names: those of --out and its like. A
// destination is never destroyed: a regular file is replaced whole or not at all, a device
// or FIFO is written to, and everything else is refused.
package outfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weft/internal/hint"
)

// mostLinks bounds a chain of symbolic links, as Linux does.
const mostLinks = 40

// Options say how a regular file is written. They do not matter to a device or FIFO.
type Options struct {
	Secret bool        // only the user may read the file, whatever its mode was before
	New    bool        // a file that exists is refused
	Mode   fs.FileMode // of a new file, less the umask; 0: only the user may read it
}

// Write writes a file. An existing regular file is replaced atomically and keeps its mode,
// unless it is secret. A symbolic link stays: the file that it leads to is written. A FIFO
// is waited for until it has a reader, or the context ends.
func Write(ctx context.Context, name string, text []byte, o Options) error {
	d, err := find(name)
	switch {
	case err != nil:
		return err
	case d.stream():
		return d.send(ctx, text)
	}
	return d.replace(text, o)
}

// Check reports whether Write would replace or create the file, as opposed to writing to a
// device or FIFO. It returns the error of what Write would refuse.
func Check(name string) (file bool, err error) {
	d, err := find(name)
	return err == nil && !d.stream(), err
}

// Remove removes a regular file that Write has created. A device or FIFO stays.
func Remove(name string) error {
	d, err := find(name)
	if err != nil || d.stream() || d.info == nil {
		return err
	}
	return os.Remove(d.path)
}

// A destination is what a name leads to.
type destination struct {
	path string
	info fs.FileInfo // nil: there is no such file yet
}

func (d destination) stream() bool {
	return d.info != nil && d.info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0
}

// find follows the symbolic links of a name and refuses what cannot be written.
func find(name string) (d destination, err error) {
	d.path = name
	for range mostLinks {
		dir, base := filepath.Split(d.path)
		if base == "" {
			return d, fmt.Errorf("%s is a directory, not a file", name)
		}
		if dir == "" {
			dir = "."
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return d, err
		}
		d.path = filepath.Join(dir, base)
		if d.info, err = os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
			d.info = nil
			return d, nil
		} else if err != nil {
			return d, err
		}
		if d.info.Mode()&fs.ModeSymlink == 0 {
			return d, writable(name, d.info.Mode())
		}
		if err := trusted(d.path, d.info, dir); err != nil {
			return d, err
		}
		if strings.HasPrefix(dir, "/proc/") { // an open file, such as that of bash's >(…)
			if d.info, err = os.Stat(d.path); err == nil && !d.stream() {
				err = fmt.Errorf("%s is a file that is open already: name the file itself", name)
			}
			return d, err
		}
		to, err := os.Readlink(d.path)
		if err != nil {
			return d, err
		}
		if !filepath.IsAbs(to) {
			to = dir + string(filepath.Separator) + to // not cleaned: dir/.. of a link is elsewhere
		}
		d.path = to
	}
	return d, fmt.Errorf("%s: more than %d symbolic links", name, mostLinks)
}

// writable refuses what is neither a regular file nor a stream.
func writable(name string, mode fs.FileMode) error {
	switch {
	case mode.IsRegular() || mode&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0:
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a directory, not a file", name)
	case mode&fs.ModeDevice != 0:
		return hint.Wrap(fmt.Errorf("%s is a block device: writing would destroy what it stores", name), "name a file")
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket, not a file", name)
	}
	return fmt.Errorf("%s is not a regular file (%s)", name, mode)
}

// replace writes a regular file whole or not at all.
func (d destination) replace(text []byte, o Options) (err error) {
	if d.info != nil && o.New {
		return &fs.PathError{Op: "create", Path: d.path, Err: fs.ErrExist}
	}
	f, err := os.CreateTemp(filepath.Dir(d.path), ".weft-*") // mode 0600
	if err != nil {
		return err
	}
	claimed := false
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			if claimed {
				_ = os.Remove(d.path)
			}
		}
	}()
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return err
	}
	if d.info == nil {
		if d.info, err = claim(d.path, o); err != nil {
			return err
		}
		claimed = true
	}
	if !o.Secret {
		if err = os.Chmod(f.Name(), d.info.Mode()&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), d.path)
}

// claim creates an empty file where none is, so that no other file is replaced. The kernel
// applies the umask to its mode.
func claim(path string, o Options) (fs.FileInfo, error) {
	mode := o.Mode
	if mode == 0 || o.Secret {
		mode = 0o600
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return info, nil
}
