//go:build !linux

package backend

import "fmt"

// OpenDevice keeps the blocks on a block device, on Linux.
func OpenDevice(path string, _ int64, _ int) (Backend, error) {
	return nil, fmt.Errorf("device backend %s: block devices are served on Linux only", path)
}

// CheckDevice reports what OpenDevice would refuse.
func CheckDevice(path string, size int64, block int) error {
	_, err := OpenDevice(path, size, block)
	return err
}
