package switches

import (
	"regexp"
	"slices"
	"strings"

	"weft/internal/pattern"
	"weft/internal/text"
)

// Every line of a switch that belongs to QoS, PFC, ECN, buffers, watchdog, MTU
// or LLDP, and every line of a port that weft manages, has a form that weft
// knows, or is shown as not understood. No line is dropped in silence.

// A Vocabulary is the lines of a switch OS whose meaning weft knows.
type Vocabulary struct {
	Section  func(path []string) string // which section the lines below these headers are of
	Sections map[string]Section         // by name; what is in none is read by its subject alone
	Normal   func(line string) string   // short forms as the ones that are listed
	Port     func(header string) string // the port that a header opens, "" if none
	Skip     func(header string) bool   // what stands below is free text
}

// subject finds a line that belongs to one of these subjects, on whatever OS.
var subject = pattern.New(`(?i)\b(?:` +
	`qos|ipqos\w*|service-policy|policy-map|class-map|traffic (?:classifier|behavior)|traffic-policy|qmprofile|dscp|dscp-\w+|dot1p|dot1p-\w+|cos|police|` +
	`queues?|queuing|queueing|wfq|wrr|bandwidth|buffers?|buffer-\w+|burst(?:-mode)?|headroom|` +
	`priority-flow-control|link-level-flow-control|flow-?control|pfc|pfc-cos|pause|no-?drop|watch-?dog|deadlock|` +
	`ecn|wred|random-detect|congestion-control|mtu|jumbo\w*|lldp|dcbx?)\b`)

// A Section is what is known of the lines of one kind of place.
type Section struct {
	Kept     *regexp.Regexp // read: compared, replaced and restored, or a fact
	Told     []Remark       // read, and said in the plan where it matters; also of lines that are kept
	Harmless *regexp.Regexp // known, and no lossless class rests on it
	Closed   bool           // every line counts, whatever it is about
}

// A Remark is a line that weft leaves as it is and that an operator who wants
// lossless classes must know of.
type Remark struct {
	Form *regexp.Regexp
	Key  string // what the line is about, apart from its values
	Text string // what is said of it; the ports follow
	// Breaks says that no class is lossless where the line is in force.
	Breaks bool
}

// Forms matches a whole line that has one of these forms.
func Forms(lines ...string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join(lines, "|") + `)$`)
}

// A verdict is what is known of a line.
type verdict int

const (
	isElse verdict = iota // about something else
	isKept
	isTold
	isHarmless
	isUnknown
)

// judge says what is known of a line below these headers.
func (v *Vocabulary) judge(path []string, line string) verdict {
	s, listed := v.Sections[v.Section(path)]
	line = v.Normal(line)
	switch {
	case listed && s.Kept.MatchString(line):
		return isKept
	case listed && slices.ContainsFunc(s.Told, func(m Remark) bool { return m.Form.MatchString(line) }):
		return isTold
	case listed && s.Harmless.MatchString(line):
		return isHarmless
	case s.Closed, subject.MatchString(line):
		return isUnknown
	case len(path) > 0 && v.judge(path[:len(path)-1], path[len(path)-1]) == isUnknown:
		return isUnknown // whatever it means belongs to what is not understood above it
	}
	return isElse
}

// A stranger is a line that is not understood.
type stranger struct {
	path  []string // the headers above it, outermost first
	line  string
	port  string // in whose section it stands
	about bool   // it belongs to a subject of weft's, on whatever port
}

// understand goes through a printed configuration: it notes what is to be said
// of it, and which of its lines are not understood.
func (r *Text) understand(v *Vocabulary, ns []*Node, path ...string) {
	port := ""
	if len(path) > 0 {
		port = v.Port(path[0])
	}
	s := v.Sections[v.Section(path)]
	for _, n := range ns {
		line := v.Normal(n.Line)
		for _, m := range s.Told {
			if m.Form.MatchString(line) {
				r.note(m, port, line)
			}
		}
		if v.judge(path, line) == isUnknown {
			r.strangers = append(r.strangers, stranger{path, n.Line, port, subject.MatchString(strings.Join(append(slices.Clip(path), line), "\n"))})
		}
		if !v.Skip(line) {
			r.understand(v, n.Kids, append(slices.Clip(path), line)...)
		}
	}
}

// notUnderstood lists the lines that weft does not know, each with the places
// it stands in: of the ports of want all of them, of others those that belong to
// a subject of weft's.
func (c Reading) notUnderstood(want Intent) (out []string) {
	type unit struct{ line, below string }
	var order []unit
	mine, where := map[unit][]string{}, map[unit][]string{}
	for _, s := range c.read.strangers {
		_, wanted := want.Port(s.port)
		wanted = wanted || c.read.OS.Carries(c.read.Port[s.port], want)
		if s.port != "" && !wanted && !s.about {
			continue
		}
		at := unit{line: Redact(s.line)}
		if s.port != "" {
			at.below = Redact(strings.Join(s.path[1:], " / "))
		}
		if !slices.Contains(order, at) {
			order = append(order, at)
		}
		switch {
		case len(s.path) == 0:
		case s.port == "":
			where[at] = append(where[at], Redact(strings.Join(s.path, " / ")))
		case wanted:
			mine[at] = append(mine[at], s.port)
		default:
			where[at] = append(where[at], s.port)
		}
	}
	for _, at := range order {
		where := slices.Concat(mine[at], where[at])
		line := at.line
		if at.below != "" {
			line = at.below + " / " + line
		}
		if len(where) > 0 {
			line += " (" + text.List(where, MostNamed) + ")"
		}
		out = append(out, line)
	}
	return out
}
