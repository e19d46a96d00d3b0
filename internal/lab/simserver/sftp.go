//go:build unix

package simserver

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/pkg/sftp"

	"weft/internal/wait"
)

// SFTP serves the sftp subsystem until the client closes it.
func (s *Server) SFTP(ctx context.Context, name string, ch io.ReadWriteCloser) error {
	s.mu.RLock()
	slow := s.slow
	s.mu.RUnlock()
	if !wait.For(ctx, slow) {
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

// files answers the requests of one sftp session: those of an upload. All others
// are refused.
type files struct{ v view }

// Fileread refuses.
func (f *files) Fileread(*sftp.Request) (io.ReaderAt, error) { return nil, sftp.ErrSSHFxOpUnsupported }

// Filelist refuses.
func (f *files) Filelist(*sftp.Request) (sftp.ListerAt, error) {
	return nil, sftp.ErrSSHFxOpUnsupported
}

// Filewrite makes a new file and opens it for writing.
func (f *files) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	if p := r.Pflags(); !p.Creat || !p.Excl || p.Read || p.Append || p.Trunc {
		return nil, sftp.ErrSSHFxOpUnsupported
	}
	return f.v.Open(r.Filepath, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// Filecmd removes a file, or sets who may do what with it.
func (f *files) Filecmd(r *sftp.Request) error {
	given := r.AttrFlags()
	switch {
	case r.Method == "Setstat" && given.Permissions && !given.Size && !given.UidGid:
		return f.v.Chmod(r.Filepath, r.Attributes().FileMode())
	case r.Method == "Remove":
		info, err := f.v.Lstat(r.Filepath)
		if err == nil && info.IsDir() {
			err = syscall.EISDIR
		}
		if err != nil {
			return err
		}
		return f.v.Remove(r.Filepath)
	}
	return sftp.ErrSSHFxOpUnsupported
}
