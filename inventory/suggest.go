package inventory

import (
	"fmt"
	"iter"
	"slices"

	"github.com/agext/levenshtein"
)

// maxGuesses is how many names are compared with misspelt ones at most, so that
// thousands of mistakes in a large inventory are soon reported.
const maxGuesses = 1_000_000

// didYouMean returns ` Did you mean "server"?` when one of the candidates is
// near the word, else "".
func didYouMean(word string, candidates []string) string {
	if best := nearest(word, slices.Values(candidates)); best != "" {
		return fmt.Sprintf(" Did you mean %q?", best)
	}
	return ""
}

// didYouMean is for mistakes of which there may be many, among many names.
func (e *evaluator) didYouMean(word string, candidates iter.Seq[string]) string {
	var few []string
	if e.guesses > maxGuesses {
		return ""
	}
	for c := range candidates {
		if e.guesses++; e.guesses > maxGuesses {
			return ""
		}
		if max(len(c)-len(word), len(word)-len(c)) < farOff {
			few = append(few, c)
		}
	}
	return didYouMean(word, few)
}

// Near is the candidate that a misspelt word was probably meant to be, or "".
func Near(word string, candidates []string) string {
	return nearest(word, slices.Values(candidates))
}

const (
	farOff      = 3 // edits with which a word is another one
	farOffShort = 2
)

// nearest returns the candidate that a word was probably meant to be, or "".
func nearest(word string, candidates iter.Seq[string]) string {
	best, distance := "", farOff
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
