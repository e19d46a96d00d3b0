package dir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// missing: there is no such file, or a part of its path is none.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func (o *Options) syncFile(f *os.File) error {
	if o.lazy {
		return nil
	}
	return f.Sync()
}

// syncDir makes what is in a folder last.
func (o *Options) syncDir(folder string) error {
	if o.lazy || !foldersSync {
		return nil
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeFile writes a file that lasts once its folder is synced.
func (o *Options) writeFile(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = o.syncFile(f)
	}
	return errors.Join(err, f.Close())
}
