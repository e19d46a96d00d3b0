// Package flock locks files among processes.
package flock

import "os"

// Open opens a lock file, which it creates where it is missing, for its owner only.
func Open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
}
