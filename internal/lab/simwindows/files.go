//go:build unix

package simwindows

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pkg/sftp"
)

// fileCommand begins a line that runs a script of a file.
const fileCommand = "powershell -NoProfile -NonInteractive -ExecutionPolicy Bypass -File "

// What a file that weft uploads to run it begins and ends with.
const (
	fileBegins = "\uFEFF[IO.File]::Delete($PSCommandPath)\n"
	fileEnds   = "exit 0\n"
)

// execFile runs a script that was uploaded.
func (h *Host) execFile(ctx context.Context, user, name string, stdout, stderr io.Writer) (int, error) {
	path := windowsPath(name)
	if !strings.Contains(path, `\`) { // sessions begin in the profile
		path = profile(user) + `\` + path
	}
	h.mu.Lock()
	data, err := h.disk.read(path)
	data, signed, elevated := slices.Clone(data), h.signed, !h.plain
	h.mu.Unlock()
	switch {
	case err != nil:
		fmt.Fprintf(stdout, "The argument '%s' to the -File parameter does not exist.\r\n", name)
		return 196, nil
	case signed:
		fmt.Fprintf(stderr, "File %s cannot be loaded. The file %s is not digitally signed. You cannot run this script on the current system.\r\n", path, path)
		return 1, nil
	}
	body, begins := strings.CutPrefix(string(data), fileBegins)
	body, ends := strings.CutSuffix(body, fileEnds)
	if !begins || !ends {
		fmt.Fprint(stderr, "This SIMULATED host takes no other file than weft's.\r\n")
		return 1, nil
	}
	fmt.Fprint(stderr, progress)
	return h.ran(ctx, user, elevated, "[IO.File]::Delete($PSCommandPath)\n"+body, path, stdout, stderr)
}

// windowsPath is a path as Windows has it: /C:/Users/weft is C:\Users\weft.
func windowsPath(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", `\`)
}

// profile is the folder of a user.
func profile(user string) string { return `C:\Users\` + user }

// SFTP serves the sftp subsystem until the client closes it. Sessions begin in the folder
// of their user.
func (h *Host) SFTP(ctx context.Context, user string, ch io.ReadWriteCloser) error {
	h.mu.Lock()
	none := h.noSFTP
	home := profile(user)
	h.disk.mkdir(home, "O:BAG:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
	h.mu.Unlock()
	if none {
		return errors.New("sftp-server.exe does not answer")
	}
	f := &uploads{h}
	srv := sftp.NewRequestServer(ch, sftp.Handlers{FileGet: f, FilePut: f, FileCmd: f, FileList: f}, sftp.WithStartDirectory("/"+strings.ReplaceAll(home, `\`, "/")))
	stop := context.AfterFunc(ctx, func() { _ = ch.Close() })
	defer stop()
	err := srv.Serve()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if cerr := srv.Close(); cerr != nil && !errors.Is(cerr, io.EOF) {
		err = errors.Join(err, cerr)
	}
	return err
}

// uploads answers the requests of one sftp session: those of an upload. All others are
// refused.
type uploads struct{ h *Host }

// Fileread refuses.
func (u *uploads) Fileread(*sftp.Request) (io.ReaderAt, error) {
	return nil, sftp.ErrSSHFxOpUnsupported
}

// Filelist refuses.
func (u *uploads) Filelist(*sftp.Request) (sftp.ListerAt, error) {
	return nil, sftp.ErrSSHFxOpUnsupported
}

// Filewrite makes a new file and opens it for writing.
func (u *uploads) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	if p := r.Pflags(); !p.Creat || !p.Excl || p.Read || p.Append || p.Trunc {
		return nil, sftp.ErrSSHFxOpUnsupported
	}
	u.h.mu.Lock()
	defer u.h.mu.Unlock()
	name := windowsPath(r.Filepath)
	if u.h.disk.items[key(name)] != nil {
		return nil, os.ErrExist
	}
	if u.h.disk.write(name, nil) != nil {
		return nil, os.ErrNotExist
	}
	return &written{u.h, name}, nil
}

// Filecmd removes a file.
func (u *uploads) Filecmd(r *sftp.Request) error {
	if r.Method != "Remove" {
		return sftp.ErrSSHFxOpUnsupported
	}
	u.h.mu.Lock()
	defer u.h.mu.Unlock()
	name := windowsPath(r.Filepath)
	if i := u.h.disk.items[key(name)]; i == nil || i.dir {
		return os.ErrNotExist
	}
	delete(u.h.disk.items, key(name))
	return nil
}

// written is a file that is being uploaded.
type written struct {
	h    *Host
	name string
}

// WriteAt implements io.WriterAt.
func (w *written) WriteAt(b []byte, at int64) (int, error) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	i := w.h.disk.items[key(w.name)]
	if i == nil {
		return 0, os.ErrNotExist
	}
	if need := int(at) + len(b); need > len(i.data) {
		i.data = append(i.data, make([]byte, need-len(i.data))...)
	}
	return copy(i.data[at:], b), nil
}

// fileCmdlets are about files.
func fileCmdlets() []namedCmdlet {
	to := func(move bool) func(*Host, params) ([]any, error) {
		return func(h *Host, p params) ([]any, error) {
			from, to := p.text("literalpath"), p.text("destination")
			data, err := h.disk.read(from)
			if err != nil {
				return nil, raise("System.Management.Automation.ItemNotFoundException", "Cannot find path '%s' because it does not exist.", from)
			}
			if move && h.disk.items[key(to)] != nil && !p.has("force") {
				return nil, raise("System.IO.IOException", "Cannot create a file when that file already exists.")
			}
			if err := h.disk.write(to, slices.Clone(data)); err != nil {
				return nil, err
			}
			if move {
				delete(h.disk.items, key(from))
			}
			return nil, nil
		}
	}
	return []namedCmdlet{
		{"Get-FileHash", cmdlet{coreDocs + "Microsoft.PowerShell.Utility/Get-FileHash", []string{"LiteralPath! Algorithm"}, func(h *Host, p params) ([]any, error) {
			data, err := h.disk.read(p.text("literalpath"))
			if err != nil || p.text("algorithm") != "SHA256" {
				return nil, raise("System.Management.Automation.ItemNotFoundException", "Cannot find path '%s' because it does not exist.", p.text("literalpath"))
			}
			return []any{made("Microsoft.Powershell.Utility.FileHash", "Algorithm", "SHA256", "Hash", strings.ToUpper(fmt.Sprintf("%x", sha256.Sum256(data))))}, nil
		}}},
		{"Copy-Item", cmdlet{coreDocs + "Microsoft.PowerShell.Management/Copy-Item", []string{"LiteralPath! Destination Force Confirm"}, to(false)}},
		{"Move-Item", cmdlet{coreDocs + "Microsoft.PowerShell.Management/Move-Item", []string{"LiteralPath! Destination Force Confirm"}, to(true)}},
	}
}
