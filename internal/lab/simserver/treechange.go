//go:build unix

package simserver

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"weft/internal/slice"
)

// ReadDir lists a directory, by name.
func (v view) ReadDir(name string) ([]fs.FileInfo, error) {
	v = v.still()
	p, err := v.resolve(name, true)
	if err != nil {
		return nil, err
	}
	info, err := v.lstat(p)
	switch {
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	case !info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	case !v.may(p, info, false, true):
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
	}
	list, err := v.list(p)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (t *tree) list(p string) ([]fs.FileInfo, error) {
	var list []fs.FileInfo
	r := t.render()
	list = slice.Map(r[p].kids, func(name string) fs.FileInfo { return nodeInfo{name, r[path.Join(p, name)]} })
	if isRendered(p) {
		return list, nil
	}
	d, err := t.root.Open(below(p))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	infos, err := d.Readdir(-1)
	if err != nil {
		return nil, err
	}
	return append(list, infos...), nil
}

// change resolves a path whose directory is about to change.
func (v view) change(op, name string, follow bool) (string, error) {
	p, err := v.resolve(name, follow)
	if err != nil {
		return "", err
	}
	if isRendered(p) || !v.user.owns(p) {
		return "", &fs.PathError{Op: op, Path: name, Err: syscall.EACCES}
	}
	return p, nil
}

// typed puts the path as it was typed into an error of os.Root.
func typed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: cause(err)}
}

// Mkdir makes one directory with exactly this mode.
func (v view) Mkdir(name string, mode fs.FileMode) error {
	if p, err := v.resolve(name, false); err == nil && isRendered(p) && v.user.root {
		return typed("mkdir", name, v.mkdir(p))
	}
	p, err := v.change("mkdir", name, false)
	if err != nil {
		return err
	}
	if p == "/" {
		return typed("mkdir", name, syscall.EEXIST)
	}
	if err := v.root.Mkdir(below(p), mode.Perm()); err != nil {
		return typed("mkdir", name, err)
	}
	return typed("mkdir", name, v.root.Chmod(below(p), mode.Perm()))
}

// MkdirAll makes a directory and those above it that are missing.
func (v view) MkdirAll(name string, mode fs.FileMode) error {
	info, err := v.Stat(name)
	if err == nil {
		if !info.IsDir() {
			return typed("mkdir", name, syscall.EEXIST)
		}
		return nil
	}
	if dir := path.Dir(strings.TrimRight(name, "/")); dir != name && errors.Is(err, fs.ErrNotExist) {
		if err := v.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := v.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Remove removes a file, a link or an empty directory.
func (v view) Remove(name string) error {
	if p, err := v.resolve(name, false); err == nil && isRendered(p) && v.user.root {
		return typed("remove", name, v.rmdir(p))
	}
	p, err := v.change("remove", name, false)
	if err != nil {
		return err
	}
	if p == "/" {
		return typed("remove", name, syscall.EBUSY)
	}
	return typed("remove", name, v.root.Remove(below(p)))
}

// RemoveAll removes a file or a directory with all that is in it.
func (v view) RemoveAll(name string) error {
	p, err := v.change("remove", name, false)
	if err != nil {
		return err
	}
	if p == "/" {
		return typed("remove", name, syscall.EBUSY)
	}
	return typed("remove", name, v.root.RemoveAll(below(p)))
}

// Rename moves a file or directory, in place of what is there.
func (v view) Rename(from, to string) error {
	src, err := v.change("rename", from, false)
	if err != nil {
		return err
	}
	dst, err := v.change("rename", to, false)
	if err != nil {
		return err
	}
	return typed("rename", from, v.root.Rename(below(src), below(dst)))
}

// Symlink makes a symbolic link. Where it leads is resolved inside the tree.
func (v view) Symlink(target, name string) error {
	if p, err := v.resolve(name, false); err == nil && isRendered(p) && v.user.root {
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p), target)
		}
		return typed("symlink", name, v.symlink(target, p))
	}
	p, err := v.change("symlink", name, false)
	if err != nil {
		return err
	}
	return typed("symlink", name, v.root.Symlink(target, below(p)))
}

// Link makes a hard link.
func (v view) Link(old, name string) error {
	src, err := v.change("link", old, true)
	if err != nil {
		return err
	}
	p, err := v.change("link", name, false)
	if err != nil {
		return err
	}
	return typed("link", name, v.root.Link(below(src), below(p)))
}

// Chmod sets the permissions of a file.
func (v view) Chmod(name string, mode fs.FileMode) error {
	p, err := v.resolve(name, true)
	if err != nil {
		return err
	}
	if isRendered(p) || !v.user.owns(p) {
		return typed("chmod", name, syscall.EPERM)
	}
	return typed("chmod", name, v.root.Chmod(below(p), mode.Perm()))
}

// WriteFile makes a file or replaces its content in place, with exactly this
// mode.
func (v view) WriteFile(name string, data []byte, mode fs.FileMode) error {
	f, err := v.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return typed("write", name, err)
	}
	return v.Chmod(name, mode)
}

// strerror is an error as C programs print it.
func strerror(err error) string {
	s := cause(err).Error()
	return strings.ToUpper(s[:1]) + s[1:]
}
