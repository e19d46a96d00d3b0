package problem

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"

	"weft/internal/slice"
)

// pages has one page for each code: what the problem is, why it matters, how
// to mend it, and the text before and after.
//
//go:embed explain/*.md
var pages embed.FS

// A CodeTitle is a code with what it stands for.
type CodeTitle struct {
	Code  Code
	Title string
}

// Codes returns every code with what it stands for, in the order of the codes:
// the headings of their pages.
func Codes() []CodeTitle {
	files, err := fs.Glob(pages, "explain/*.md")
	if err != nil {
		return nil // never: the pattern is a good one
	}
	var all []CodeTitle
	for _, f := range files {
		code := strings.TrimSuffix(path.Base(f), ".md")
		if title, _, ok := Explain(code); ok {
			all = append(all, CodeTitle{Code(code), title})
		}
	}
	return all
}

// Explain returns the title of a code and its page, which is Markdown; ok is
// false where there is no such code.
func Explain(code string) (title, text string, ok bool) {
	page, err := pages.ReadFile("explain/" + code + ".md")
	if err != nil {
		return "", "", false
	}
	heading, text, _ := strings.Cut(string(page), "\n")
	return strings.TrimPrefix(heading, "# "+code+": "), strings.TrimSpace(text) + "\n", true
}

// NearCode returns the code that may have been meant, or "".
func NearCode(word string) Code {
	codes := slice.Map(Codes(), func(c CodeTitle) string { return string(c.Code) })
	return Code(nearest(strings.ToUpper(word), slices.Values(codes)))
}
