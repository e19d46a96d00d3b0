package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"weft/internal/discover"
)

// TestWordsOnLines: no name is lost of a list that stands on lines, as a shell gives a
// file.
func TestWordsOnLines(t *testing.T) {
	var w words
	for _, text := range []string{"st1\nst2\r\n", "st3, st4,", "", "\n,"} {
		if err := w.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"st1", "st2", "st3", "st4"}; !slices.Equal(w, want) {
		t.Errorf("%q, want %q", w, want)
	}
}

// Lists of hosts end somewhere, from flags as from files.
func TestLongLists(t *testing.T) {
	var w words
	if err := w.Set(strings.Repeat("st1,", mostWords)); err != nil || len(w) != mostWords {
		t.Errorf("%d values, %v", len(w), err)
	}
	if err := w.Set("st2"); err == nil || !strings.Contains(err.Error(), "more than 10000 values") {
		t.Error(err)
	}
	f := discoverFlags{hosts: []string{"st1"}}
	for n := range mostWords {
		f.named = append(f.named, discover.Named{Host: fmt.Sprintf("st%d", n+2)})
	}
	if _, err := f.machines(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 10000 servers") {
		t.Error(err)
	}
	if runtime.GOOS != "windows" {
		if _, err := listed(t.Context(), "csv:/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero has more than 16777216 bytes") {
			t.Error(err)
		}
	}
}
