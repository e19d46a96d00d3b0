package outfile

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"weft/internal/hint"
)

// send writes to a device such as NUL.
func (d destination) send(_ context.Context, text []byte) error {
	f, err := os.OpenFile(d.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// trusted refuses every symbolic link: weft does not read who may have placed it.
func trusted(link string, _ fs.FileInfo, _ string) error {
	return hint.Wrap(fmt.Errorf("%s is a symbolic link, which is not followed on Windows", link), "name the file that it leads to")
}
