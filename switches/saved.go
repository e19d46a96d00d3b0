package switches

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostPlaces is how many places are named that a restart would change.
const mostPlaces = 3

// Unsaved compares what is saved with what runs, each line in its section, whatever their
// order. What differs without a restart changing anything does not count: comments, which
// begin with comment and hold commands and times; the version of the system that has
// written a configuration; and secrets, of which some systems show another ciphertext each
// time (not sure which: no document says so). A secret that was changed and not saved is
// therefore not seen. Places are told, without their secrets.
func Unsaved(comment string) func(saved, running string) ([]Trouble, bool) {
	return func(saved, running string) ([]Trouble, bool) {
		kept, runs := sections(saved, comment), sections(running, comment)
		if len(kept) == 0 || len(runs) == 0 {
			return nil, false
		}
		where := map[string]bool{}
		lost, back := beyond(runs, kept, where), beyond(kept, runs, where)
		if lost+back == 0 {
			return nil, true
		}
		places := slices.Sorted(maps.Keys(where))
		more := ""
		if n := len(places) - mostPlaces; n > 0 {
			places, more = places[:mostPlaces], fmt.Sprintf(" and %d more", n)
		}
		return []Trouble{{What: OfSaved, Text: fmt.Sprintf("lines that run and are not saved: %d, that are saved and do not run: %d; a restart changes %s%s", lost, back, strings.Join(places, ", "), more)}}, true
	}
}

// beyond counts the lines of a that b does not have, and notes the sections they are in.
func beyond(a, b map[string]int, where map[string]bool) (n int) {
	for line, times := range a {
		if more := times - b[line]; more > 0 {
			n += more
			head, _, _ := strings.Cut(line, "\n")
			where[head] = true
		}
	}
	return n
}

// sections counts the lines of a configuration, each behind the lines that it stands
// under. A comment ends a section.
func sections(text, comment string) map[string]int {
	type opened struct {
		indent int
		line   string
	}
	var above []opened
	count := map[string]int{}
	for line := range strings.Lines(Redact(text)) {
		body := strings.TrimSpace(line)
		if strings.HasPrefix(body, comment) {
			above = nil
		}
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		for len(above) > 0 && above[len(above)-1].indent >= indent {
			above = above[:len(above)-1]
		}
		if body == "" || body == "return" || strings.HasPrefix(body, comment) || len(above) == 0 && strings.HasPrefix(body, "version ") {
			continue
		}
		path := body
		if n := len(above); n > 0 {
			path = above[n-1].line + "\n" + body
		}
		above = append(above, opened{indent, path})
		count[path]++
	}
	return count
}
