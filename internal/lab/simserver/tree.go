//go:build unix

package simserver

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A tree is the file system of one server: a real directory, with rendered
// trees such as /sys above it. Every path is resolved component by component
// with "/" as the top, as in a chroot, and what is opened in the end is opened
// through [os.Root]: neither "..", nor a symbolic link, nor a race leads out.
type tree struct {
	root   *os.Root
	render func() rendered // what stands above the directory, as of now

	mkdir, rmdir func(p string) error         // of a rendered directory: where configfs takes them
	symlink      func(target, p string) error // likewise; target is a whole path
}

// rendered is a tree by absolute path. It is only read, but for its attributes.
type rendered map[string]node

// A node is one file, directory or symbolic link of a rendered tree.
type node struct {
	mode    fs.FileMode
	content string   // of a file; the target of a symbolic link
	kids    []string // of a directory: the names of what is in it

	live func() string            // in place of content: what is another at every look
	set  func(value string) error // takes what root writes; nil: nothing may be written
}

// A user is who asks. Root may do everything; others may read what the mode
// grants to others, and write where they are at home.
type user struct {
	name string
	root bool
}

func (u user) uid() int { return uidOf(u.name) }

func uidOf(name string) int {
	if name == "root" {
		return 0
	}
	return 1000
}

func (u user) home() string {
	if u.root {
		return "/root"
	}
	return "/home/" + u.name
}

// owns reports whether u may do everything with p and what is below it.
func (u user) owns(p string) bool {
	return u.root || ownerOf(p) == u.name || isBelow(p, "/tmp") || isBelow(p, "/var/tmp")
}

// ownerOf is the name of the owner of a path. The lab runs as one real user,
// so ownership goes by place.
func ownerOf(p string) string {
	if rest, ok := strings.CutPrefix(p, "/home/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	return "root"
}

func isBelow(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// A view is a tree as one user sees it. Its errors are *fs.PathError with the
// path as it was typed and an errno as cause.
type view struct {
	*tree
	user user
}

// still is the view with /sys and /proc as they are when they are first looked
// at: to render them once for every part of a path would cost a lot.
func (v view) still() view {
	t := *v.tree
	t.render = sync.OnceValue(v.render)
	return view{&t, v.user}
}

const maxLinks = 40 // as Linux: then ELOOP

// resolve makes an absolute path without symbolic links in it. The last
// component is followed only on request and need not exist.
func (v view) resolve(name string, follow bool) (string, error) {
	if name == "" {
		return "", &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	}
	v = v.still()
	rest := strings.Split(name, "/")
	mustBeDir := strings.HasSuffix(name, "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		last := isEmpty(rest)
		next := path.Join(at, part)
		info, err := v.lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && last:
			return next, nil
		case err != nil:
			return "", &fs.PathError{Op: "open", Path: name, Err: cause(err)}
		case info.Mode().Type() == fs.ModeSymlink && (!last || follow || mustBeDir):
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
			}
			target, err := v.linkTarget(next)
			if err != nil {
				return "", &fs.PathError{Op: "open", Path: name, Err: cause(err)}
			}
			if path.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		case !last && !info.IsDir():
			return "", &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
		case !last && !v.user.owns(next) && info.Mode().Perm()&0o1 == 0:
			return "", &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
		}
		at = next
	}
	return at, nil
}

// isEmpty reports whether components lead no further.
func isEmpty(parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return p != "" && p != "." })
}

// cause is the errno inside an error of the os package.
func cause(err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	var key keyError
	switch {
	case errors.As(err, &key):
		return key
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, fs.ErrExist):
		return syscall.EEXIST
	}
	return syscall.EACCES // os.Root refuses escapes with an error of its own
}

// below makes an absolute resolved path one that os.Root takes.
func below(p string) string {
	if p == "/" {
		return "."
	}
	return p[1:]
}

// isRendered reports whether a resolved path belongs to a rendered tree as a
// whole, so that nothing of the real directory is there.
func isRendered(p string) bool {
	return isBelow(p, "/sys") || isBelow(p, "/proc") || p == "/dev/null" || p == "/dev/zero" || strings.HasPrefix(p, "/dev/nvme") ||
		strings.HasPrefix(p, "/dev/md") || strings.HasPrefix(p, "/dev/disk/by-id/nvme-uuid.")
}

// lstat describes a resolved path.
func (t *tree) lstat(p string) (fs.FileInfo, error) {
	if !isRendered(p) {
		// Nothing of a resolved path is a link, and nothing is opened here: one
		// question to the kernel does, where the root would ask for every part.
		info, err := os.Lstat(t.root.Name() + p)
		if err == nil && isBelow(p, "/dev") && info.Mode().IsRegular() {
			info = blockInfo{info}
		}
		return info, err
	}
	n, ok := t.render()[p]
	if !ok {
		return nil, &fs.PathError{Op: "lstat", Path: p, Err: syscall.ENOENT}
	}
	return nodeInfo{path.Base(p), n}, nil
}

func (t *tree) linkTarget(p string) (string, error) {
	if isRendered(p) {
		return t.render()[p].content, nil
	}
	return t.root.Readlink(below(p))
}

// Stat describes a file, of a link what it leads to.
func (v view) Stat(name string) (fs.FileInfo, error) { return v.stat(name, true) }

// Lstat describes a file or a link.
func (v view) Lstat(name string) (fs.FileInfo, error) { return v.stat(name, false) }

func (v view) stat(name string, follow bool) (fs.FileInfo, error) {
	v = v.still()
	p, err := v.resolve(name, follow)
	if err != nil {
		return nil, err
	}
	info, err := v.lstat(p)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: cause(err)}
	}
	return info, nil
}

// Readlink is where a symbolic link leads.
func (v view) Readlink(name string) (string, error) {
	p, err := v.resolve(name, false)
	if err != nil {
		return "", err
	}
	info, err := v.lstat(p)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: cause(err)}
	}
	if info.Mode().Type() != fs.ModeSymlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
	}
	return v.linkTarget(p)
}

// A file is an open file.
type file interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	Sync() error
	Stat() (fs.FileInfo, error)
}

// Open opens a file as os.OpenFile does.
func (v view) Open(name string, flag int, perm fs.FileMode) (file, error) {
	fail := func(err error) (file, error) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	v = v.still()
	follow := flag&os.O_EXCL == 0 || flag&os.O_CREATE == 0
	p, err := v.resolve(name, follow)
	if err != nil {
		return nil, err
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0
	info, err := v.lstat(p)
	switch {
	case err != nil && (flag&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist)):
		return fail(err)
	case err != nil && isRendered(p):
		return fail(syscall.EACCES)
	case err != nil && !v.user.owns(p):
		return fail(syscall.EACCES)
	case err == nil && writes && info.IsDir():
		return fail(syscall.EISDIR)
	case err == nil && !v.may(p, info, writes, flag&os.O_WRONLY == 0):
		return fail(syscall.EACCES)
	}
	if isRendered(p) {
		if p == "/dev/null" || p == "/dev/zero" {
			return device{zero: p == "/dev/zero"}, nil
		}
		n := v.render()[p]
		if writes {
			return &attribute{set: n.set, info: nodeInfo{path.Base(p), n}}, nil
		}
		if n.live != nil {
			n.content = n.live()
		}
		return &text{Reader: strings.NewReader(n.content), info: nodeInfo{path.Base(p), n}}, nil
	}
	f, err := v.root.OpenFile(below(p), flag, perm)
	if err != nil {
		return fail(err)
	}
	return f, nil
}

// may reports whether the user may read or write an existing file.
func (v view) may(p string, info fs.FileInfo, write, read bool) bool {
	if p == "/dev/null" || p == "/dev/zero" {
		return true
	}
	if isRendered(p) {
		if write && v.render()[p].set == nil {
			return false
		}
		return v.user.root || !write && info.Mode().Perm()&0o4 != 0
	}
	if v.user.owns(p) {
		return true
	}
	perm := info.Mode().Perm()
	return (!write || perm&0o2 != 0) && (!read || perm&0o4 != 0)
}

// ReadFile reads a whole file.
func (v view) ReadFile(name string) ([]byte, error) {
	f, err := v.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: cause(err)}
	}
	return data, nil
}

// nodeInfo describes a node.
type nodeInfo struct {
	name string
	node node
}

func (i nodeInfo) Name() string       { return i.name }
func (i nodeInfo) Size() int64        { return int64(len(i.node.content)) }
func (i nodeInfo) Mode() fs.FileMode  { return i.node.mode }
func (i nodeInfo) ModTime() time.Time { return time.Unix(0, 0) }
func (i nodeInfo) IsDir() bool        { return i.node.mode.IsDir() }
func (i nodeInfo) Sys() any           { return nil }

// text is an open rendered file.
type text struct {
	*strings.Reader
	info nodeInfo
}

func (t *text) Write([]byte) (int, error)          { return 0, syscall.EBADF }
func (t *text) WriteAt([]byte, int64) (int, error) { return 0, syscall.EBADF }
func (t *text) Close() error                       { return nil }
func (t *text) Sync() error                        { return nil }
func (t *text) Stat() (fs.FileInfo, error)         { return t.info, nil }

// device is /dev/null or /dev/zero.
type device struct{ zero bool }

func (d device) Read(p []byte) (int, error) {
	if !d.zero {
		return 0, io.EOF
	}
	clear(p)
	return len(p), nil
}

func (d device) ReadAt(p []byte, _ int64) (int, error)      { return d.Read(p) }
func (d device) Write(p []byte) (int, error)                { return len(p), nil }
func (d device) WriteAt(p []byte, _ int64) (n int, _ error) { return len(p), nil }
func (d device) Close() error                               { return nil }
func (d device) Sync() error                                { return nil }
func (d device) Stat() (fs.FileInfo, error) {
	return nodeInfo{"device", node{mode: deviceMode}}, nil
}

const (
	dirMode    = fs.ModeDir | 0o555
	linkMode   = fs.ModeSymlink | 0o777
	deviceMode = fs.ModeDevice | fs.ModeCharDevice | 0o666
)
