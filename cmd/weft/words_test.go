package main

import (
	"slices"
	"testing"
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
