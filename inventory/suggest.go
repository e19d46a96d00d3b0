package inventory

import (
	"fmt"
	"slices"

	"github.com/agext/levenshtein"
)

// didYouMean returns ` Did you mean "server"?` when one of the candidates is
// near the word, else "".
func didYouMean(word string, candidates []string) string {
	if best := nearest(word, candidates); best != "" {
		return fmt.Sprintf(" Did you mean %q?", best)
	}
	return ""
}

// nearest returns the candidate that a word was probably meant to be, or "".
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 3
	if len(word) <= 3 {
		bestDistance = 2
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := levenshtein.Distance(word, c, nil); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}
