//go:build unix

package flock

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Who lets go of a lock has none, though a process that it forks has the file open still.
func TestRelease(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	take := func() (*os.File, bool) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		free, err := Try(f, false)
		if err != nil {
			t.Fatal(err)
		}
		return f, free
	}
	first, free := take()
	if !free {
		t.Fatal("it is locked, and nobody was there")
	}
	childs, err := unix.Dup(int(first.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(childs)
	second, free := take()
	if free {
		t.Error("two have the lock")
	}
	second.Close()
	if err := Release(first); err != nil {
		t.Fatal(err)
	}
	third, free := take()
	if !free {
		t.Error("it is locked by who let go of it")
	}
	third.Close()
}
