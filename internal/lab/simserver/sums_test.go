//go:build linux

package simserver

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What a file held is remembered, and never told of one that was written since, be
// it as long as before, with the times it had, or another one in its place.
func TestSumsOfWhatIsThere(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "f")
	s := new(sums)
	look := func(want string) {
		t.Helper()
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := s.of(&cancelled{t.Context(), f})
		if sum := sha256.Sum256([]byte(want)); err != nil || !slices.Equal(got, sum[:]) {
			t.Errorf("%q: %x (%v)", want, got, err)
		}
	}
	long := time.Now().Add(-time.Hour)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, long, long); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() (n int) {
		s.known.Range(func(any, any) bool { n++; return true })
		return n
	}
	begun := time.Now()
	write("one")
	look("one")
	if kept() != 0 && time.Since(begun) < settled { // else the machine was so slow that it may
		t.Error("the sum is kept of a file that may be written again within the same tick of the clock")
	}
	write("two")
	look("two")
	time.Sleep(settled + settled/10)
	look("two")
	if kept() == 0 {
		t.Error("no sum is kept of a file that has settled")
	}
	look("two")
	write("six")
	look("six")
	if err := os.Rename(name, name+".old"); err != nil {
		t.Fatal(err)
	}
	write("new")
	look("new")
}
