package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/findings"
	"weft/internal/review"
	"weft/internal/slice"
)

// A Sheet is a report for readers.
type Sheet struct {
	Owner     string
	Simulated bool
	Verbose   bool // Text and Markdown list every finding
	*Report
}

// A group is what one check says, place by place.
type group struct {
	Check *Check
	Said  []Finding
}

func groups(list []Finding) (out []group) {
	for _, g := range slice.Group(list, func(f Finding) string { return f.Check.ID }) {
		out = append(out, group{g[0].Check, g})
	}
	return out
}

// fine is how many things are fine, by how many checks.
func (r *Report) fine() (things, checks int) {
	for _, n := range r.Fine {
		things, checks = things+n, checks+1
	}
	return things, checks
}

// Summary is one line about all of it.
func (r *Report) Summary() string {
	things, checks := r.fine()
	text := fmt.Sprintf("%d findings, %d unknown; %d results pass in %d checks", len(r.Findings), len(r.Unknown), things, checks)
	if len(r.Unasked) > 0 {
		text += fmt.Sprintf("; %d checks were skipped because they need two readings: --watch 10s", len(r.Unasked))
	}
	return text
}

// Text writes the report for a terminal: findings of one check that say the same are one
// entry with their places, unless Verbose lists each.
func (s *Sheet) Text(w io.Writer) {
	for _, e := range s.fold(s.Findings) {
		c := e.check
		fmt.Fprintf(w, "%s %s %s  %s%s\n", map[bool]string{true: "✗", false: "!"}[c.Severity.Rank() <= Error.Rank()], c.Severity, c.ID, c.Title, several(e.Len()))
		for _, v := range e.said {
			for i, line := range v.lines() {
				fmt.Fprintf(w, "    %s%s\n", map[bool]string{true: "", false: "  "}[i == 0], line)
			}
		}
		fmt.Fprintf(w, "    read    %s\n    limit   %s (%s)\n    remedy  %s\n\n", c.Reads, c.Limit, c.Source, c.Remedy)
	}
	if len(s.Unknown) > 0 {
		fmt.Fprintln(w, "Unknown, which is not a pass")
		for _, e := range s.fold(s.Unknown) {
			fmt.Fprintf(w, "  ? %s  %s%s\n", e.check.ID, e.check.Title, several(e.Len()))
			for _, v := range e.said {
				fmt.Fprintf(w, "      %s\n", findings.Wrap(v.where()+": "+v.text, width-8, "        "))
			}
		}
		fmt.Fprintln(w)
	}
	for _, i := range s.Ignored {
		fmt.Fprintf(w, "  ignored %s %s: %s (%s)\n", i.Check.ID, i.Place, i.Text, i.Reason)
	}
	fmt.Fprintln(w, s.Summary()+".")
}

const (
	width        = 80 // characters of a line of places
	mostVariants = 5  // texts of one check that are shown
	mostPlaces   = 6  // names of the places of one text
)

// An entry is what one check says, text by text.
type entry struct {
	findings.Entry[Finding]
	check *Check
	said  []statement
}

// fold puts findings of one check together.
func (s *Sheet) fold(list []Finding) (out []entry) {
	if s.Verbose {
		return singly(list)
	}
	names := findings.Names{}
	for _, f := range slices.Concat(s.Findings, s.Unknown) {
		names.Add(f.Place.Device, f.Place.Part)
	}
	for _, e := range findings.Group(list, names, Finding.plain) {
		x := entry{Entry: e, check: e.Variants[0].All[0].Check}
		for _, v := range e.Variants[:min(mostVariants, len(e.Variants))] {
			x.said = append(x.said, statement{v, v.Text})
		}
		if rest := e.Rest(mostVariants); len(rest.All) > 0 {
			x.said = append(x.said, statement{rest, "different texts: --verbose lists them"})
		}
		out = append(out, x)
	}
	return out
}

// singly leaves every finding on its own.
func singly(list []Finding) (out []entry) {
	for _, g := range groups(list) {
		x := entry{check: g.Check}
		for _, f := range g.Said {
			v := findings.Group([]Finding{f}, nil, Finding.plain)[0].Variants[0]
			x.Variants, x.said = append(x.Variants, v), append(x.said, statement{v, f.Text})
		}
		out = append(out, x)
	}
	return out
}

// plain is a finding by its check and its place.
func (f Finding) plain() findings.Finding {
	return findings.Finding{Cause: f.Check.ID, Text: f.Text, Place: findings.Place{Device: f.Place.Device, Part: f.Place.Part}}
}

func several(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("  (%d)", n)
}

// A statement is one text of a check, with its places.
type statement struct {
	findings.Variant[Finding]
	text string
}

// where names the places, and how many there are of more than one.
func (s statement) where() string {
	where := s.Where(mostPlaces)
	if n := len(s.All); n > 1 {
		return fmt.Sprintf("%d places: %s", n, where)
	}
	return where
}

// declared is where the files declare the places; "": nowhere.
func (s statement) declared() string {
	at := slice.Map(s.All, func(f Finding) string { return f.Place.At() })
	return findings.Fold(slices.DeleteFunc(at, func(a string) bool { return a == "" }), mostPlaces)
}

// lines are the places, what is said of them, and where the files declare them.
func (s statement) lines() []string {
	at := s.declared()
	if len(s.All) == 1 {
		return []string{s.where() + behind("  ", at), s.text}
	}
	lines := append(strings.Split(findings.Wrap(s.where(), width-6, ""), "\n"), s.text)
	if at != "" {
		lines = append(lines, "declared in "+at)
	}
	return lines
}

func behind(space, text string) string {
	if text == "" {
		return ""
	}
	return space + text
}

// A Saying is a verdict as machines read it.
type Saying struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`
	Place    Place    `json:"place"`
	At       string   `json:"at,omitempty"` // file:line
	Text     string   `json:"text"`
	Limit    string   `json:"limit,omitempty"`
	Source   string   `json:"source,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
	Reason   string   `json:"ignored_because,omitempty"`
}

// Say is a finding as machines read it.
func (f Finding) Say() Saying {
	c := f.Check
	return Saying{ID: c.ID, Severity: c.Severity, Title: c.Title, Place: f.Place, At: f.Place.At(), Text: f.Text, Limit: c.Limit, Source: c.Source, Remedy: c.Remedy}
}

// JSON writes the report as one document.
func (s *Sheet) JSON(w io.Writer) error {
	doc := struct {
		Owner     string         `json:"owner,omitempty"`
		Simulated bool           `json:"simulated"`
		Findings  []Saying       `json:"findings"`
		Unknown   []Saying       `json:"unknown"`
		Ignored   []Saying       `json:"ignored,omitempty"`
		Fine      map[string]int `json:"fine"`
		Unasked   []string       `json:"unasked,omitempty"`
		Lost      []string       `json:"lost,omitempty"`
	}{s.Owner, s.Simulated, []Saying{}, []Saying{}, nil, s.Fine, s.Unasked, s.Lost}
	doc.Findings = append(doc.Findings, slice.Map(s.Findings, Finding.Say)...)
	doc.Unknown = append(doc.Unknown, slice.Map(s.Unknown, Finding.Say)...)
	for _, i := range s.Ignored {
		one := i.Say()
		one.Reason = i.Reason
		doc.Ignored = append(doc.Ignored, one)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// Markdown writes the report for a comment or a wiki.
func (s *Sheet) Markdown(w io.Writer) {
	fmt.Fprintf(w, "## weft doctor: %s\n\n%s.\n", cell(s.Owner), s.Summary())
	s.table(w, "Findings", s.Findings)
	s.table(w, "Not known", s.Unknown)
}

func (s *Sheet) table(w io.Writer, title string, list []Finding) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s\n\n| | check | where | what | remedy |\n|---|---|---|---|---|\n", title)
	for _, e := range s.fold(list) {
		for _, v := range e.said {
			fmt.Fprintf(w, "| %s | %s | %s%s | %s | %s |\n", e.check.Severity, e.check.ID, cell(v.where()), behind(" ", cell(v.declared())), cell(v.text), cell(e.check.Remedy))
		}
	}
}

// cell keeps a text within its cell.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", "`", "'").Replace(text)
}

// SARIF adds the findings to a log; what stands in no file has a logical place.
func (s *Sheet) SARIF(l *review.Log) {
	for _, f := range s.Findings {
		c := f.Check
		level := map[Severity]string{Critical: "error", Error: "error", Warn: "warning", Info: "note"}[c.Severity]
		l.Add(review.Result{Rule: c.ID, Title: c.Title, Help: c.page(), Level: level, Text: f.Place.String() + ": " + f.Text,
			Identity: f.Place.String(), At: f.Place.Range, Logical: f.Place.String()})
	}
	for _, f := range s.Unknown {
		l.Add(review.Result{Rule: f.Check.ID, Title: f.Check.Title, Help: f.Check.page(), Level: "note", Text: f.Place.String() + ": not known: " + f.Text,
			Identity: "unknown\x00" + f.Place.String(), At: f.Place.Range, Logical: f.Place.String()})
	}
}
