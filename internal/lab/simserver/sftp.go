//go:build unix

package simserver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/pkg/sftp"
)

// SFTP serves the sftp subsystem until the client closes it.
func (s *Server) SFTP(ctx context.Context, name string, ch io.ReadWriteCloser) error {
	s.mu.RLock()
	slow := s.slow
	s.mu.RUnlock()
	if !pause(ctx, slow) {
		return ctx.Err()
	}
	u := user{name, name == "root"}
	if err := s.rootView().MkdirAll(u.home(), 0o755); err != nil {
		return err
	}
	h := &files{view{s.tree, u}}
	srv := sftp.NewRequestServer(ch, sftp.Handlers{FileGet: h, FilePut: h, FileCmd: h, FileList: h},
		sftp.WithStartDirectory(u.home()))
	stop := context.AfterFunc(ctx, func() { _ = ch.Close() })
	defer stop()
	err := srv.Serve()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, ignoreEOF(srv.Close()))
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// files answers the requests of one sftp session.
type files struct{ v view }

// Fileread opens a file for reading.
func (f *files) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	return f.v.Open(r.Filepath, os.O_RDONLY, 0)
}

// Filewrite opens a file for writing.
func (f *files) Filewrite(r *sftp.Request) (io.WriterAt, error) { return f.OpenFile(r) }

// OpenFile opens a file for reading and writing.
func (f *files) OpenFile(r *sftp.Request) (sftp.WriterAtReaderAt, error) {
	p := r.Pflags()
	flag := os.O_WRONLY
	if p.Read {
		flag = os.O_RDWR
	}
	for _, o := range []struct {
		given bool
		flag  int
	}{{p.Creat, os.O_CREATE}, {p.Trunc, os.O_TRUNC}, {p.Excl, os.O_EXCL}} {
		if o.given {
			flag |= o.flag
		}
	}
	if p.Append {
		return nil, sftp.ErrSSHFxOpUnsupported
	}
	return f.v.Open(r.Filepath, flag, 0o644)
}

// PosixRename renames over what is there.
func (f *files) PosixRename(r *sftp.Request) error { return f.v.Rename(r.Filepath, r.Target) }

// Filecmd answers requests that change names and attributes.
func (f *files) Filecmd(r *sftp.Request) error {
	switch r.Method {
	case "Setstat":
		return f.setstat(r)
	case "Rename": // does not replace, unlike PosixRename
		if _, err := f.v.Lstat(r.Target); err == nil {
			return sftp.ErrSSHFxFailure
		}
		return f.v.Rename(r.Filepath, r.Target)
	case "Mkdir":
		return f.v.Mkdir(r.Filepath, 0o755)
	case "Rmdir":
		info, err := f.v.Lstat(r.Filepath)
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return err
		}
		return f.v.Remove(r.Filepath)
	case "Remove":
		info, err := f.v.Lstat(r.Filepath)
		if err == nil && info.IsDir() {
			err = syscall.EISDIR
		}
		if err != nil {
			return err
		}
		return f.v.Remove(r.Filepath)
	case "Symlink":
		return f.v.Symlink(r.Filepath, r.Target)
	case "Link":
		return f.v.Link(r.Filepath, r.Target)
	}
	return sftp.ErrSSHFxOpUnsupported
}

func (f *files) setstat(r *sftp.Request) error {
	given, attrs := r.AttrFlags(), r.Attributes()
	if given.UidGid && (int(attrs.UID) != f.v.user.uid() || int(attrs.GID) != f.v.user.uid()) {
		return fs.ErrPermission
	}
	if given.Permissions {
		if err := f.v.Chmod(r.Filepath, attrs.FileMode()); err != nil {
			return err
		}
	}
	if given.Size {
		w, err := f.v.Open(r.Filepath, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer w.Close()
		real, ok := w.(*os.File)
		if !ok {
			return fs.ErrPermission
		}
		return real.Truncate(int64(attrs.Size))
	}
	return nil // times are accepted and have no effect
}

// Filelist answers requests that look.
func (f *files) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch r.Method {
	case "List":
		infos, err := f.v.ReadDir(r.Filepath)
		return listing(infos), err
	case "Stat":
		info, err := f.v.Stat(r.Filepath)
		return listing{info}, err
	}
	return nil, sftp.ErrSSHFxOpUnsupported
}

// Lstat describes a link rather than what it leads to.
func (f *files) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	info, err := f.v.Lstat(r.Filepath)
	return listing{info}, err
}

// Readlink is where a link leads.
func (f *files) Readlink(name string) (string, error) { return f.v.Readlink(name) }

// RealPath makes a path absolute and resolves links as far as they exist.
func (f *files) RealPath(name string) (string, error) {
	full := path.Clean(at(f.v.user.home(), name))
	if p, err := f.v.resolve(full, true); err == nil {
		return p, nil
	}
	return full, nil
}

// A listing is a list of files for sftp.
type listing []fs.FileInfo

// ListAt copies the list from offset on.
func (l listing) ListAt(into []fs.FileInfo, offset int64) (int, error) {
	if offset >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(into, l[offset:])
	if int(offset)+n == len(l) {
		return n, io.EOF
	}
	return n, nil
}
