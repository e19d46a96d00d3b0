//go:build unix

package run

import (
	"io/fs"
	"os"
	"syscall"
)

// mine reports whether a file belongs to who runs weft.
func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
