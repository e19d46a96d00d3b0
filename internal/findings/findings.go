// Package findings folds findings with one cause into one entry: how many there are, what
// they are and where. It is pure: it reads no device and prints nothing.
package findings

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/slice"
)

// A Place is where a finding is: a device and, where the finding is about one, its part.
type Place struct{ Device, Part string }

func (p Place) String() string { return strings.TrimSpace(p.Device + " " + p.Part) }

// A Finding is something that is wrong, or that is not known, at one place.
type Finding struct {
	Cause string // findings with the same one belong together: the ID of a check, a metric
	Text  string
	Place Place
}

// An Entry is all findings with one cause.
type Entry[T any] struct {
	Cause    string
	Variants []Variant[T] // the most frequent first
}

// A Variant is the findings of an entry that say the same of their places.
type Variant[T any] struct {
	Text   string // without the names of places where several findings differ in nothing else
	All    []T    // in the order of the list
	places []Place
}

// Len counts the findings of an entry.
func (e Entry[T]) Len() (n int) {
	for _, v := range e.Variants {
		n += len(v.All)
	}
	return n
}

// Where names the places of a variant in at most so many parts; see Fold.
func (v Variant[T]) Where(most int) string {
	return Fold(slice.Map(v.places, Place.String), most)
}

// Rest merges the variants of an entry from the nth on: all places with no common text.
func (e Entry[T]) Rest(n int) (rest Variant[T]) {
	for _, v := range e.Variants[min(n, len(e.Variants)):] {
		rest.All, rest.places = append(rest.All, v.All...), append(rest.places, v.places...)
	}
	return rest
}

// Names are words that name devices and their parts. A text without them is the same at
// every place.
type Names map[string]bool

// NewNames collects names; empty ones are left out.
func NewNames(names ...string) Names {
	n := Names{}
	n.Add(names...)
	return n
}

// Add adds names.
func (n Names) Add(names ...string) {
	for _, name := range names {
		if name != "" {
			n[name] = true
		}
	}
}

// Elided stands for a name in a text that is about several places.
const Elided = "…"

// Without replaces the names in a text, and IP addresses. A name counts where it is a whole
// word, apart from punctuation around it.
func (n Names) Without(text string) string {
	var words []string
	for w := range strings.SplitSeq(text, " ") {
		if name := strings.Trim(w, `,;:.()'`); name != "" && (n[name] || address(name)) {
			w = strings.Replace(w, name, Elided, 1)
			if last := len(words) - 1; last >= 0 && words[last] == Elided && strings.HasPrefix(w, Elided) {
				words = words[:last] // a device and its part
			}
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// address reports whether a word is an IP address, with or without a port.
func address(word string) bool {
	if c := word[0]; !digit(c) && c != '[' && !strings.Contains(word, ":") {
		return false
	}
	if _, err := netip.ParseAddrPort(word); err == nil {
		return true
	}
	_, err := netip.ParseAddr(word)
	return err == nil
}

// Group folds a list: one entry for each cause, in the order in which causes come first.
// Within an entry, findings that differ in their places only are one variant. names are
// names of devices that texts repeat, besides those of the places themselves.
func Group[T any](list []T, names Names, of func(T) Finding) (out []Entry[T]) {
	all := make([]Finding, len(list))
	known := Names{}
	for name := range names {
		known[name] = true
	}
	for i, x := range list {
		all[i] = of(x)
		known.Add(all[i].Place.Device, all[i].Place.Part)
	}
	index := make([]int, len(list))
	for i := range index {
		index[i] = i
	}
	for cause, entry := range slice.Group(index, func(i int) string { return all[i].Cause }) {
		e := Entry[T]{Cause: cause}
		for text, same := range slice.Group(entry, func(i int) string { return known.Without(all[i].Text) }) {
			v := Variant[T]{Text: text}
			for _, i := range same {
				v.All, v.places = append(v.All, list[i]), append(v.places, all[i].Place)
			}
			if first := all[same[0]].Text; !slices.ContainsFunc(same, func(i int) bool { return all[i].Text != first }) {
				v.Text = first
			}
			e.Variants = append(e.Variants, v)
		}
		slices.SortStableFunc(e.Variants, func(a, b Variant[T]) int { return cmp.Compare(len(b.All), len(a.All)) })
		out = append(out, e)
	}
	return out
}
