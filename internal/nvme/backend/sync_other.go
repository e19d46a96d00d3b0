//go:build !linux

package backend

import "os"

func datasync(f *os.File) error { return f.Sync() }
