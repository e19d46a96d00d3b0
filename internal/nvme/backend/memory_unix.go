//go:build unix

package backend

import "golang.org/x/sys/unix"

// allocate maps anonymous memory: outside the garbage collected heap, and
// backed by pages only where something was written. The kernel refuses what it
// could never back.
func allocate(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func free(b []byte) error { return unix.Munmap(b) }
