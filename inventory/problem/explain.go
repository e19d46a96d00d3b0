package problem

import (
	"embed"
	"slices"
	"strings"
)

// pages has one page for each code: what the problem is, why it matters, how
// to mend it, and the text before and after.
//
//go:embed explain/*.md
var pages embed.FS

// Explain returns the title of a code and its page, which is Markdown; ok is
// false where there is no such code.
func Explain(code string) (title, text string, ok bool) {
	all := Codes()
	i := slices.IndexFunc(all, func(c CodeTitle) bool { return string(c.Code) == code })
	if i < 0 {
		return "", "", false
	}
	page, err := pages.ReadFile("explain/" + code + ".md")
	if err != nil {
		return "", "", false
	}
	_, text, _ = strings.Cut(string(page), "\n") // the heading
	return all[i].Title, strings.TrimSpace(text) + "\n", true
}

// NearCode returns the code that may have been meant, or "".
func NearCode(word string) Code {
	var codes []string
	for _, c := range Codes() {
		codes = append(codes, string(c.Code))
	}
	return Code(nearest(strings.ToUpper(word), slices.Values(codes)))
}
