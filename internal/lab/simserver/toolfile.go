//go:build unix

package simserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

func cat(x *call, _ options, files []string) int {
	return x.each(files, func(name string, r io.Reader) error {
		_, err := io.Copy(x.stdout, r)
		return err
	})
}

// each opens every file in turn, or the input where there is none.
func (x *call) each(files []string, f func(name string, r io.Reader) error) int {
	if len(files) == 0 {
		files = []string{"-"}
	}
	status := 0
	for _, name := range files {
		var err error
		if name == "-" {
			err = f(name, x.reader(x.in))
		} else {
			err = x.with(name, func(r io.Reader) error { return f(name, r) })
		}
		if err != nil {
			status = x.errorf("%s: %s", name, strerror(err))
		}
	}
	return status
}

// own says whether a file is the tool's own environment, which no other sees.
func (x *call) own(name string) bool { return path.Clean(x.abs(name)) == "/proc/self/environ" }

func (x *call) with(name string, f func(io.Reader) error) error {
	if x.own(name) {
		return f(strings.NewReader(x.environ()))
	}
	file, err := x.view().Open(x.abs(name), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return f(x.reader(file))
}

// reader reads until the session ends: a simulated drive is long.
func (x *call) reader(r io.Reader) io.Reader { return &cancelled{x.ctx, r} }

type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, syscall.EINTR
	}
	return c.r.Read(p)
}

func mkdir(x *call, opts options, dirs []string) int {
	mode := x.create(0o777)
	if opts.has('m') {
		var err error
		if mode, err = parseMode(opts.last('m')); err != nil {
			return x.errorf("%v", err)
		}
	}
	return x.forEach(dirs, "cannot create directory", func(d string) error {
		if opts.has('p') {
			return x.view().MkdirAll(x.abs(d), mode)
		}
		return x.view().Mkdir(x.abs(d), mode)
	})
}

// forEach does something to each of some names; doing begins the message where
// that fails.
func (x *call) forEach(names []string, doing string, do func(name string) error) int {
	status := 0
	for _, name := range names {
		if err := do(name); err != nil {
			status = x.errorf("%s '%s': %s", doing, name, strerror(err))
		}
	}
	return status
}

// parseMode reads an octal mode, the only form weft writes.
func parseMode(s string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(s, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode '%s': only octal modes are simulated in the lab", s)
	}
	return fs.FileMode(n).Perm(), nil
}

func rmdir(x *call, _ options, dirs []string) int {
	return x.forEach(dirs, "failed to remove", func(d string) error {
		info, err := x.view().Lstat(x.abs(d))
		switch {
		case err != nil:
			return err
		case !info.IsDir():
			return syscall.ENOTDIR
		}
		return x.view().Remove(x.abs(d))
	})
}

func rm(x *call, opts options, files []string) int {
	return x.forEach(files, "cannot remove", func(name string) error {
		info, err := x.view().Lstat(x.abs(name))
		switch {
		case opts.has('f') && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.IsDir() && opts.has('r'):
			return x.view().RemoveAll(x.abs(name))
		case info.IsDir():
			return syscall.EISDIR
		}
		return x.view().Remove(x.abs(name))
	})
}

func chmod(x *call, _ options, args []string) int {
	if len(args) < 2 {
		return x.errorf("missing operand")
	}
	mode, err := parseMode(args[0])
	if err != nil {
		return x.errorf("%v", err)
	}
	return x.forEach(args[1:], "cannot access", func(name string) error { return x.view().Chmod(x.abs(name), mode) })
}

// chown accepts what changes nothing: the lab runs as one real user.
func chown(x *call, _ options, args []string) int {
	if len(args) < 2 {
		return x.errorf("missing operand")
	}
	owner, group, _ := strings.Cut(args[0], ":")
	if !x.mayOwn(owner) || !x.mayOwn(group) {
		return 1
	}
	return x.forEach(args[1:], "cannot access", func(name string) error {
		_, err := x.view().Lstat(x.abs(name))
		return err
	})
}

// mayOwn reports whether files may be given to a user or group of that name.
func (x *call) mayOwn(name string) bool {
	switch {
	case name == "", name == x.user.name, name == strconv.Itoa(x.user.uid()), x.user.root && name == x.login:
		return true
	case x.user.root:
		x.errorf("owner '%s': not simulated in the lab", name)
	default:
		x.errorf("changing ownership to '%s': Operation not permitted", name)
	}
	return false
}

func ln(x *call, opts options, names []string) int {
	if len(names) != 2 {
		return x.notSimulated(1)
	}
	to := x.into(names[1], names[0], opts.has('n') || opts.has('T'))
	if opts.has('f') {
		if err := x.view().Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return x.errorf("cannot remove '%s': %s", names[1], strerror(err))
		}
	}
	var err error
	if opts.has('s') {
		err = x.view().Symlink(names[0], to)
	} else {
		err = x.view().Link(x.abs(names[0]), to)
	}
	if err != nil {
		return x.errorf("failed to create link '%s': %s", names[1], strerror(err))
	}
	return 0
}

func touch(x *call, _ options, names []string) int {
	return x.forEach(names, "cannot touch", func(name string) error {
		f, err := x.view().Open(x.abs(name), os.O_WRONLY|os.O_CREATE, x.create(0o666))
		if err == nil {
			err = f.Close()
		}
		return err
	})
}

// syncTool makes files durable, as sync FILE does; without a name there is
// nothing that the lab could add.
func syncTool(x *call, _ options, names []string) int {
	return x.forEach(names, "error syncing", func(name string) error {
		f, err := x.view().Open(x.abs(name), os.O_RDONLY, 0)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		return err
	})
}

func mktemp(x *call) int {
	opts, names, ok := x.options("dp:t", long{"directory": 'd', "tmpdir": 'p'})
	if !ok || len(names) > 1 || opts.has('t') {
		return x.notSimulated(1)
	}
	template := "tmp.XXXXXXXXXX"
	dir := "/tmp"
	if len(names) == 1 {
		template, dir = names[0], x.dir
	}
	if opts.has('p') {
		dir = x.abs(opts.last('p'))
	}
	stem := strings.TrimRight(template, "X")
	if len(template)-len(stem) < 3 {
		return x.errorf("too few X's in template '%s'", template)
	}
	for range 100 {
		random := make([]byte, len(template))
		_, _ = rand.Read(random) // never fails
		name := at(dir, stem+hex.EncodeToString(random)[:len(template)-len(stem)])
		var err error
		if opts.has('d') {
			err = x.view().Mkdir(name, 0o700)
		} else {
			var f file
			if f, err = x.view().Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				err = f.Close()
			}
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return x.errorf("failed to create file via template '%s': %s", template, strerror(err))
		}
		fmt.Fprintln(x.stdout, name)
		return 0
	}
	return x.errorf("no free name for template '%s'", template)
}

func tee(x *call, opts options, names []string) int {
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if opts.has('a') {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	writers, status := []io.Writer{x.stdout}, 0
	for _, name := range names {
		f, err := x.view().Open(x.abs(name), flag, x.create(0o666))
		if err != nil {
			status = x.errorf("%s: %s", name, strerror(err))
			continue
		}
		defer f.Close()
		writers = append(writers, labelled{f, name})
	}
	if _, err := io.Copy(io.MultiWriter(writers...), x.reader(x.in)); err != nil {
		return x.errorf("%v", err)
	}
	return status
}

// labelled is a writer whose errors say where it writes to.
type labelled struct {
	io.Writer
	name string
}

func (n labelled) Write(p []byte) (int, error) {
	size, err := n.Writer.Write(p)
	if err != nil {
		err = fmt.Errorf("%s: %s", n.name, strerror(err))
	}
	return size, err
}
