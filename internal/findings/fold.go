package findings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	longestNumber = 9  // digits; longer ones are text
	mostRanges    = 12 // in one position of a name
)

// Fold names many things in little room. At most so many names are listed as they are. Of
// more, those that differ in numbers become one, with ranges in their places (leaf-1..8
// Ethernet1/1..48); where that is too much as well, the number of names left out follows.
// Names that occur twice count once.
func Fold(names []string, most int) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) <= most {
		slices.SortStableFunc(names, natural)
		return strings.Join(names, ", ")
	}
	return fold(names, most)
}

// natural orders names with numbers as people do: leaf-2 before leaf-10.
func natural(a, b string) int {
	ta, na := split(a)
	tb, nb := split(b)
	for i := range min(len(ta), len(tb)) {
		if c := strings.Compare(ta[i], tb[i]); c != 0 {
			return c
		}
		if i < len(na) && i < len(nb) {
			if c := compare(na[i][0].low, nb[i][0].low); c != 0 {
				return c
			}
		}
	}
	return strings.Compare(a, b)
}

func fold(names []string, most int) string {
	var shapes []*shape
	at := map[string]*shape{}
	for _, name := range names {
		literals, numbers := split(name)
		key := strings.Join(literals, "\x00")
		s := at[key]
		if s == nil {
			s = &shape{literals: literals}
			at[key] = s
			shapes = append(shapes, s)
		}
		s.rows = append(s.rows, row{numbers, 1})
	}
	var parts []string
	left, listed := len(names), 0
	for _, s := range shapes {
		for _, r := range s.fold() {
			if listed == most {
				return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", left)
			}
			parts = append(parts, s.text(r))
			listed++
			left -= r.names
		}
	}
	return strings.Join(parts, ", ")
}

// A shape is names that differ in numbers only.
type shape struct {
	literals []string // around the numbers: one more than there are numbers
	rows     []row
}

// A row is one or several names of a shape: the numbers at each position.
type row struct {
	at    [][]span
	names int // that it stands for
}

// A span is numbers from low to high, as they are written.
type span struct{ low, high string }

// fold merges rows that differ at one position only, the last position first.
func (s *shape) fold() []row {
	rows := s.rows
	for p := len(s.literals) - 2; p >= 0; p-- {
		groups := map[string][]row{}
		var order []string
		for _, r := range rows {
			key := ""
			for q, spans := range r.at {
				if q != p {
					key += fmt.Sprint(spans) + "\x00"
				}
			}
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], r)
		}
		rows = rows[:0:0]
		for _, key := range order {
			rows = append(rows, merge(groups[key], p)...)
		}
	}
	return rows
}

// merge joins rows that differ at one position only; each has one number there.
func merge(rows []row, p int) (out []row) {
	slices.SortFunc(rows, func(a, b row) int { return compare(a.at[p][0].low, b.at[p][0].low) })
	for _, r := range rows {
		if len(out) > 0 {
			into := &out[len(out)-1]
			last := &into.at[p][len(into.at[p])-1]
			switch {
			case follows(last.high, r.at[p][0].low):
				last.high = r.at[p][0].high
				into.names += r.names
				continue
			case len(into.at[p]) < mostRanges:
				into.at[p] = append(into.at[p], r.at[p]...)
				into.names += r.names
				continue
			}
		}
		r.at = slices.Clone(r.at)
		r.at[p] = slices.Clone(r.at[p])
		out = append(out, r)
	}
	return out
}

// follows reports whether a number, as written, is the one after another.
func follows(low, next string) bool {
	n, _ := strconv.Atoi(low)
	return fmt.Sprintf("%0*d", len(low), n+1) == next
}

// compare orders numbers as they are written: 2 before 10, and 2 before 02.
func compare(a, b string) int {
	n, _ := strconv.Atoi(a)
	m, _ := strconv.Atoi(b)
	if n != m {
		return n - m
	}
	return len(a) - len(b)
}

func (s *shape) text(r row) string {
	var b strings.Builder
	for i, text := range s.literals {
		b.WriteString(text)
		if i == len(r.at) {
			break
		}
		for j, x := range r.at[i] {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(x.low)
			if x.high != x.low {
				b.WriteString(".." + x.high)
			}
		}
	}
	return b.String()
}

// split takes a name apart: the numbers that names of a series differ in, and the text around
// them. Numbers within addresses, versions and hexadecimal words are text.
func split(name string) (literals []string, numbers [][]span) {
	text := 0
	for i := 0; i < len(name); {
		end := i
		for end < len(name) && digit(name[end]) {
			end++
		}
		switch {
		case end == i:
			i++
			continue
		case end-i <= longestNumber && counts(name, i, end):
			literals = append(literals, name[text:i])
			numbers = append(numbers, []span{{name[i:end], name[i:end]}})
			text = end
		}
		i = end
	}
	return append(literals, name[text:]), numbers
}

// counts reports whether the digits of a name from start to end number a series: they end a
// word, and the word is no address.
func counts(name string, start, end int) bool {
	if end < len(name) && letter(name[end]) {
		return false
	}
	from := strings.LastIndexByte(name[:start], ' ') + 1
	word, _, _ := strings.Cut(name[from:], " ")
	if strings.Count(word, ":") > 1 {
		return false // a MAC, IPv6 or PCI address
	}
	before := start > 1 && name[start-1] == '.' && digit(name[start-2])
	after := end+1 < len(name) && name[end] == '.' && digit(name[end+1])
	port := start > 1 && name[start-1] == ':' && (digit(name[start-2]) || name[start-2] == ']')
	return !before && !after && !port
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
