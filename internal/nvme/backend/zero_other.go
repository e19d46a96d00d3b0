//go:build !linux

package backend

import "os"

func zeroPages(b []byte) error {
	clear(b)
	return nil
}

func zeroFile(*os.File, int64, int64, bool) (bool, error) { return false, nil }
