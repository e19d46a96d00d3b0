//go:build linux || darwin

package hub

import "golang.org/x/sys/unix"

// disk asks the file system of a directory how many bytes it has, and has free for its user.
func disk(dir string) (free, total int64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), true
}
