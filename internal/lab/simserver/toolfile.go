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

func cat(x *call) int {
	_, files, ok := x.options("", nil)
	if !ok {
		return 1
	}
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

func mkdir(x *call) int {
	opts, dirs, ok := x.options("pm:", map[string]rune{"parents": 'p', "mode": 'm'})
	if !ok {
		return 1
	}
	mode := x.create(0o777)
	if opts.has('m') {
		var err error
		if mode, err = parseMode(opts.last('m')); err != nil {
			return x.errorf("%v", err)
		}
	}
	status := 0
	for _, d := range dirs {
		err := error(nil)
		if opts.has('p') {
			err = x.view().MkdirAll(x.abs(d), mode)
		} else {
			err = x.view().Mkdir(x.abs(d), mode)
		}
		if err != nil {
			status = x.errorf("cannot create directory '%s': %s", d, strerror(err))
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

func rmdir(x *call) int {
	_, dirs, ok := x.options("", nil)
	if !ok {
		return 1
	}
	status := 0
	for _, d := range dirs {
		info, err := x.view().Lstat(x.abs(d))
		if err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "rmdir", Path: d, Err: syscall.ENOTDIR}
		}
		if err == nil {
			err = x.view().Remove(x.abs(d))
		}
		if err != nil {
			status = x.errorf("failed to remove '%s': %s", d, strerror(err))
		}
	}
	return status
}

func rm(x *call) int {
	opts, files, ok := x.options("fr", map[string]rune{"force": 'f', "recursive": 'r'})
	if !ok {
		return 1
	}
	status := 0
	for _, name := range files {
		info, err := x.view().Lstat(x.abs(name))
		switch {
		case err == nil && info.IsDir() && opts.has('r'):
			err = x.view().RemoveAll(x.abs(name))
		case err == nil && info.IsDir():
			err = syscall.EISDIR
		case err == nil:
			err = x.view().Remove(x.abs(name))
		case opts.has('f') && errors.Is(err, fs.ErrNotExist):
			continue
		}
		if err != nil {
			status = x.errorf("cannot remove '%s': %s", name, strerror(err))
		}
	}
	return status
}

func chmod(x *call) int {
	_, args, ok := x.options("", nil)
	if !ok {
		return 1
	}
	if len(args) < 2 {
		return x.errorf("missing operand")
	}
	mode, err := parseMode(args[0])
	if err != nil {
		return x.errorf("%v", err)
	}
	status := 0
	for _, name := range args[1:] {
		if err := x.view().Chmod(x.abs(name), mode); err != nil {
			status = x.errorf("cannot access '%s': %s", name, strerror(err))
		}
	}
	return status
}

// chown accepts what changes nothing: the lab runs as one real user.
func chown(x *call) int {
	_, args, ok := x.options("h", nil)
	if !ok {
		return 1
	}
	if len(args) < 2 {
		return x.errorf("missing operand")
	}
	owner, group, _ := strings.Cut(args[0], ":")
	if !x.mayOwn(owner) || !x.mayOwn(group) {
		return 1
	}
	status := 0
	for _, name := range args[1:] {
		if _, err := x.view().Lstat(x.abs(name)); err != nil {
			status = x.errorf("cannot access '%s': %s", name, strerror(err))
		}
	}
	return status
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

func ln(x *call) int {
	opts, names, ok := x.options("sfnT", map[string]rune{"symbolic": 's', "force": 'f'})
	if !ok {
		return 1
	}
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

func touch(x *call) int {
	_, names, ok := x.options("c", nil)
	if !ok {
		return 1
	}
	status := 0
	for _, name := range names {
		f, err := x.view().Open(x.abs(name), os.O_WRONLY|os.O_CREATE, x.create(0o666))
		if err != nil {
			status = x.errorf("cannot touch '%s': %s", name, strerror(err))
			continue
		}
		_ = f.Close() // nothing was written
	}
	return status
}

// syncTool makes files durable, as sync FILE does; without a name there is
// nothing that the lab could add.
func syncTool(x *call) int {
	_, names, ok := x.options("df", map[string]rune{"data": 'd', "file-system": 'f'})
	if !ok {
		return 1
	}
	status := 0
	for _, name := range names {
		f, err := x.view().Open(x.abs(name), os.O_RDONLY, 0)
		if err == nil {
			err = f.Sync()
			_ = f.Close() // was only read
		}
		if err != nil {
			status = x.errorf("error syncing '%s': %s", name, strerror(err))
		}
	}
	return status
}

func mktemp(x *call) int {
	opts, names, ok := x.options("dp:t", map[string]rune{"directory": 'd', "tmpdir": 'p'})
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

func tee(x *call) int {
	opts, names, ok := x.options("a", nil)
	if !ok {
		return 1
	}
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
