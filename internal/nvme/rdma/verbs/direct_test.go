//go:build linux && (amd64 || arm64)

package verbs

import (
	"runtime"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
)

// A direct calls C with its three arguments, from many goroutines at once, with stacks
// that have grown and that Go looks through meanwhile, and allocates nothing.
func TestDirect(t *testing.T) {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW)
	if err != nil {
		t.Skipf("needs a C library: %v", err)
	}
	compare, err := purego.Dlsym(libc, "memcmp")
	if err != nil {
		t.Fatal(err)
	}
	a, b := stable(4096), stable(4096)
	b[4000] = 1
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			same := direct{fn: compare, args: [3]uintptr{address(a), address(b), 4000}}
			other := direct{fn: compare, args: [3]uintptr{address(a), address(b), 4001}}
			for i := range 2000 {
				if i%100 == 0 {
					runtime.GC()
				}
				if got := deep(i%200, &same); got != 0 {
					t.Errorf("memcmp of what is the same: %d", int32(got))
				}
				if got := deep(i%200, &other); int32(got) >= 0 {
					t.Errorf("memcmp of what is less: %d", int32(got))
				}
				if err := same.code(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	same := direct{fn: compare, args: [3]uintptr{address(a), address(b), 4000}}
	if n := testing.AllocsPerRun(100, func() { same.do() }); n > 0 {
		t.Errorf("%v allocations for a call", n)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
}

// deep calls it so many frames further down.
func deep(n int, c *direct) uintptr {
	var room [64]byte
	room[n%64] = byte(n)
	if n == 0 {
		return c.do()
	}
	return deep(n-1, c) + uintptr(room[n%64]) - uintptr(byte(n))
}
