//go:build !linux || !(amd64 || arm64)

package verbs

import (
	"errors"
	"fmt"
	"runtime"
)

// Load reports that RDMA is for Linux on amd64 and arm64.
func Load() (Provider, error) {
	return nil, fmt.Errorf("RDMA on %s/%s: %w", runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
}
