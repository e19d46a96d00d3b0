//go:build !linux

package backend

// largePages has no effect on this system.
func largePages([]byte) {}
