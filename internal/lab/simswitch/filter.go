package simswitch

import (
	"regexp"
	"strings"

	"weft/internal/slice"
)

// expression compiles what stands behind a pipe; what is no regular expression
// is taken literally.
func expression(m match) *regexp.Regexp {
	text := strings.Trim(m.args["text"], `"`)
	if re, err := regexp.Compile(text); err == nil {
		return re
	}
	return regexp.MustCompile(regexp.QuoteMeta(text))
}

func include(s *session, m match) { s.keep(expression(m), true) }

func exclude(s *session, m match) { s.keep(expression(m), false) }

func (s *session) keep(re *regexp.Regexp, want bool) {
	s.filter = func(lines []string) []string {
		return slice.Filter(lines, func(l string) bool { return re.MatchString(l) == want })
	}
}

func begin(s *session, m match) {
	re := expression(m)
	s.filter = func(lines []string) []string {
		for i, l := range lines {
			if re.MatchString(l) {
				return lines[i:]
			}
		}
		return nil
	}
}

// section keeps matching lines and what is indented below them.
func section(s *session, m match) {
	re := expression(m)
	s.filter = func(lines []string) []string {
		var out []string
		depth := -1
		for _, l := range lines {
			indent := len(l) - len(strings.TrimLeft(l, " "))
			switch {
			case strings.TrimSpace(l) == "":
			case depth >= 0 && indent > depth:
				out = append(out, l)
			case re.MatchString(l):
				depth = indent
				out = append(out, l)
			default:
				depth = -1
			}
		}
		return out
	}
}
