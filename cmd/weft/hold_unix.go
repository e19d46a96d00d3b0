//go:build unix

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// holdFile locks a file until it is closed or weft ends, however it ends.
func holdFile(f *os.File) (held bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
