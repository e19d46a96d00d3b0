package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"strings"
	"time"
	"unicode"

	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/run"
	"weft/internal/text"
	"weft/internal/view"
	"weft/plan/rollout"
)

// A sheet is a page in sections. The script replaces those whose sum has changed, so
// that what somebody has opened, marked or reached with the keyboard stays.
type sheet struct {
	Title    string
	Events   string // address of what tells of changes
	Refresh  int    // seconds, where there is no script
	Made     time.Time
	Sections []section
}

type section struct {
	ID, Sum string
	Text    template.HTML // of a template, which has escaped it
}

// withoutScript is how often a page without script asks again.
const withoutScript = 10 // seconds

// add adds a section, made by the template of its name; one without text is left out.
func (s *sheet) add(name string, data any) error {
	text, err := render(name+".html", data)
	if err != nil || strings.TrimSpace(text) == "" {
		return err
	}
	sum := sha256.Sum256([]byte(text))
	s.Sections = append(s.Sections, section{name, hex.EncodeToString(sum[:8]), template.HTML(text)}) // escaped by its template
	return nil
}

func (s *sheet) page(now time.Time) ([]byte, error) {
	s.Made, s.Refresh = now, withoutScript
	text, err := render("page.html", s)
	return []byte(text), err
}

// render fills a template in.
func render(name string, data any) (string, error) {
	all, err := templates()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := all.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return visible(b.String()), nil
}

// visible replaces what cannot be seen and changes how the rest is read: characters of
// control, and those that turn the direction of writing.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// mostBad is how many places a page names that have not passed a metric.
const mostBad = 20

const stamp = "2006-01-02 15:04:05 UTC"

func functions() template.FuncMap {
	return template.FuncMap{
		"time":    func(t time.Time) string { return t.UTC().Format(stamp) },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"mark":    markOf,
		"class":   classOf,
		"judged":  view.Judged,
		"limit":   report.Limit,
		"join":    strings.Join,
		"count":   text.Count,
		"phase":   phaseOf,
		"verdict": report.Mark,
		"heads": func(source string, list []*run.Head) map[string]any {
			return map[string]any{"Source": source, "Heads": list}
		},
		"few": func(list []prove.Judgement) []prove.Judgement { return list[:min(len(list), mostBad)] },
		"more": func(list []prove.Judgement) string {
			if len(list) <= mostBad {
				return ""
			}
			return strings.TrimSpace(text.More(len(list)-mostBad)) + ": weft report has all"
		},
	}
}

// markOf is a state as a sign, for those who see no colours.
func markOf(s rollout.State) string {
	switch s {
	case rollout.Passed:
		return "✓"
	case rollout.RolledBack:
		return "↩"
	case rollout.Failed, rollout.Reversing, rollout.Aborted:
		return "✗"
	case rollout.Pending:
		return "·"
	}
	return "…"
}

// classOf is the colour of a state.
func classOf(s rollout.State) string {
	switch s {
	case rollout.Passed:
		return "pass"
	case rollout.Failed, rollout.Reversing, rollout.Aborted:
		return "fail"
	case rollout.Pending:
		return "faint"
	}
	return "inconclusive"
}
