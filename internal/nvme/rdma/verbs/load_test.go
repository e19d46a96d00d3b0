//go:build linux && (amd64 || arm64)

package verbs

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestOpen: why a library does not load is said, whatever else goes on.
func TestOpen(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				if err := open("libnothing.so.1", "nothing", &struct{}{}); err == nil || !strings.Contains(err.Error(), "cannot open shared object file") {
					t.Errorf("a library that is not there: %v", err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}
