// Package text writes counts and lists for people, and shortens and pads text. It knows nothing
// of devices or of colours; findings.Fold folds names that differ in numbers.
package text

import (
	"fmt"
	"strings"
)

// Count is a number with its noun: "1 switch", "3 switches".
func Count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, Plural(n, one, many)) }

// Plural is the form of a word that goes with a number.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// More counts what a list leaves out: " and 3 more", or "" where it leaves out nothing.
func More(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// List joins names with commas: at most so many, then the number of those left out.
func List(names []string, most int) string { return Join(names, ", ", most) }

// Join is List with a separator other than a comma.
func Join(names []string, separator string, most int) string {
	shown := min(len(names), most)
	return strings.Join(names[:shown], separator) + More(len(names)-shown)
}

// few is the number of names in one message.
const few = 3

// Few joins the first names of a list, for one message.
func Few(names []string, separator string) string { return Join(names, separator, few) }
