package backend

import "golang.org/x/sys/unix"

// largePages asks for large pages: blocks at random are found faster. It is
// only a wish.
func largePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
