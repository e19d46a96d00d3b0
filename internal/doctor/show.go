package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"weft/internal/review"
	"weft/internal/slice"
)

// A Sheet is a report for readers.
type Sheet struct {
	Owner     string
	Simulated bool
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
	text := fmt.Sprintf("%d findings, %d not known; %d things are fine by %d checks", len(r.Findings), len(r.Unknown), things, checks)
	if len(r.Unasked) > 0 {
		text += fmt.Sprintf("; %d checks compare two readings and were not made: --watch 10s", len(r.Unasked))
	}
	return text
}

// Text writes the report for a terminal.
func (s *Sheet) Text(w io.Writer) {
	for _, g := range groups(s.Findings) {
		c := g.Check
		fmt.Fprintf(w, "%s %s %s  %s\n", map[bool]string{true: "✗", false: "!"}[c.Severity.Rank() <= Error.Rank()], c.Severity, c.ID, c.Title)
		for _, f := range g.Said {
			fmt.Fprintf(w, "    %s%s\n      %s\n", f.Place, behind("  ", f.Place.At()), f.Text)
		}
		fmt.Fprintf(w, "    read    %s\n    limit   %s (%s)\n    remedy  %s\n\n", c.Reads, c.Limit, c.Source, c.Remedy)
	}
	if len(s.Unknown) > 0 {
		fmt.Fprintln(w, "Not known, and so not fine")
		for _, g := range slice.Group(s.Unknown, func(f Finding) string { return f.Check.ID + "\x00" + f.Text }) {
			fmt.Fprintf(w, "  ? %s  %s\n      %s: %s\n", g[0].Check.ID, g[0].Check.Title, places(g), g[0].Text)
		}
		fmt.Fprintln(w)
	}
	for _, i := range s.Ignored {
		fmt.Fprintf(w, "  ignored %s %s: %s (%s)\n", i.Check.ID, i.Place, i.Text, i.Reason)
	}
	fmt.Fprintln(w, s.Summary()+".")
}

func behind(space, text string) string {
	if text == "" {
		return ""
	}
	return space + text
}

// mostPlaces is how many places are named of what is the same at many.
const mostPlaces = 6

func places(list []Finding) string {
	var names []string
	for i, f := range list {
		if i == mostPlaces {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(list)-i)
		}
		names = append(names, f.Place.String())
	}
	return strings.Join(names, ", ")
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
	for _, f := range list {
		fmt.Fprintf(w, "| %s | %s | %s%s | %s | %s |\n", f.Check.Severity, f.Check.ID, cell(f.Place.String()), behind(" ", cell(f.Place.At())), cell(f.Text), cell(f.Check.Remedy))
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
