//go:build unix

package simserver

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// into is where something called name lands when it is moved to dst.
func (x *call) into(dst, name string, never bool) string {
	info, err := x.view().Stat(x.abs(dst))
	if err == nil && info.IsDir() && !never {
		return path.Join(x.abs(dst), path.Base(name))
	}
	return x.abs(dst)
}

func mv(x *call) int {
	opts, names, ok := x.options("fTn", long{"no-target-directory": 'T', "force": 'f'})
	if !ok || opts.has('n') {
		return x.notSimulated(1)
	}
	if len(names) < 2 {
		return x.errorf("missing file operand")
	}
	dst, status := names[len(names)-1], 0
	for _, src := range names[:len(names)-1] {
		if err := x.view().Rename(x.abs(src), x.into(dst, src, opts.has('T'))); err != nil {
			status = x.errorf("cannot move '%s' to '%s': %s", src, dst, strerror(err))
		}
	}
	return status
}

func cp(x *call, opts options, names []string) int {
	if len(names) < 2 {
		return x.errorf("missing file operand")
	}
	dst, status := names[len(names)-1], 0
	for _, src := range names[:len(names)-1] {
		to := x.into(dst, src, opts.has('T'))
		info, err := x.view().Stat(x.abs(src))
		if err == nil {
			mode := x.create(info.Mode().Perm())
			if old, err := x.view().Stat(to); err == nil {
				mode = old.Mode().Perm()
			}
			if opts.has('p') {
				mode = info.Mode().Perm()
			}
			err = x.copy(src, to, mode)
		}
		if err != nil {
			status = x.errorf("cannot copy '%s' to '%s': %s", src, dst, strerror(err))
		}
	}
	return status
}

// copy copies a file in place.
func (x *call) copy(src, to string, mode fs.FileMode) error {
	return x.with(src, func(r io.Reader) error {
		f, err := x.view().Open(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		return x.view().Chmod(to, mode)
	})
}

func install(x *call) int {
	opts, names, ok := x.options("dm:o:g:DT", long{"mode": 'm', "directory": 'd', "owner": 'o', "group": 'g'})
	if !ok || !x.mayOwn(opts.last('o')) || !x.mayOwn(opts.last('g')) {
		return 1
	}
	mode := fs.FileMode(0o755)
	if opts.has('m') {
		var err error
		if mode, err = parseMode(opts.last('m')); err != nil {
			return x.errorf("%v", err)
		}
	}
	if opts.has('d') {
		return x.forEach(names, "cannot create directory", func(d string) error {
			if err := x.view().MkdirAll(x.abs(d), mode); err != nil {
				return err
			}
			return x.view().Chmod(x.abs(d), mode)
		})
	}
	if len(names) != 2 {
		return x.notSimulated(1)
	}
	to := x.into(names[1], names[0], opts.has('T'))
	var err error
	if opts.has('D') {
		err = x.view().MkdirAll(path.Dir(to), 0o755)
	}
	if err == nil {
		// install unlinks first: a running executable is no obstacle.
		if rerr := x.view().Remove(to); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = rerr
		}
	}
	if err == nil {
		err = x.copy(names[0], to, mode)
	}
	if err != nil {
		return x.errorf("cannot create regular file '%s': %s", names[1], strerror(err))
	}
	return 0
}
