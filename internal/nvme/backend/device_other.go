//go:build !linux

package backend

import "fmt"

// OpenDevice keeps the blocks on a block device, on Linux.
func OpenDevice(path string, _ int64, _ int) (Backend, error) {
	return nil, fmt.Errorf("device backend %s: block devices are served on Linux only", path)
}
