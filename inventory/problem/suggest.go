package problem

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// DidYouMean returns ` Did you mean "server"?` when one of the candidates is
// near the word, else "".
func DidYouMean(word string, candidates []string) string {
	if best := nearest(word, slices.Values(candidates)); best != "" {
		return fmt.Sprintf(" Did you mean %q?", best)
	}
	return ""
}

// Near is the candidate that a misspelt word was probably meant to be, or "".
func Near(word string, candidates []string) string {
	return nearest(word, slices.Values(candidates))
}

const (
	FarOff      = 3 // edits with which a word is another one
	farOffShort = 2
)

// nearest returns the candidate that a word was probably meant to be, or "".
func nearest(word string, candidates iter.Seq[string]) string {
	best, distance := "", FarOff
	if len(word) <= 3 {
		distance = farOffShort
	}
	for c := range candidates {
		if d := levenshtein.Distance(word, c, nil); d < distance || d == distance && best > c {
			best, distance = c, d
		}
	}
	return best
}

// OrList writes words as in "a, b or c".
func OrList(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}
