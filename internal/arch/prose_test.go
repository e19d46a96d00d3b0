package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxWords is the longest sentence that a page may have. A piece of inline code is one word.
const maxWords = 30

// proseRule is a form that sentences must not have, and its replacement.
type proseRule struct {
	form *regexp.Regexp
	use  string
}

// openers apply to the beginning of a sentence, and of a clause after a colon or semicolon.
func openers() []proseRule {
	return []proseRule{
		{regexp.MustCompile(`(?i)^(what|whatever) `), "a noun as the subject"},
		{regexp.MustCompile(`(?i)^(who|whoever|nobody|somebody|others|those (that|who|which|of)|that which) `), "the actor: the operator, another run, the switch"},
		{regexp.MustCompile(`(?i)^where [^,]*$`), "a noun as the subject; a condition needs a comma"},
		{regexp.MustCompile(`(?i)^(whether|that) [^,]* (is|are|has|was|says|shows|takes|stands) `), "a noun as the subject"},
	}
}

// terms apply anywhere in a sentence.
func terms() []proseRule {
	return []proseRule{
		{regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|whoever|whomever|whom|everybody)\b`), "the actor: the operator, another run, the switch"},
		{regexp.MustCompile(`(?i)\b(tells|told)\b`), "report, log, return"},
		{regexp.MustCompile(`(?i)\b(wish|wishes|wished)\b`), "desired state, configure"},
		{regexp.MustCompile(`(?i)\b(keepsake|dead-man|testimony|attendance|roster)\b`), "the field's term"},
		{regexp.MustCompile(`(?i)\b(given back|taken back|goes back|put back)\b`), "reverted, restored"},
		{regexp.MustCompile(`(?i)\bleft alone\b`), "skipped, unmanaged"},
		{regexp.MustCompile(`(?i)\b(looked at|looks at|look at)\b`), "query, check, monitor"},
		{regexp.MustCompile(`(?i)\bstands? (in|there|beside|apart|on)\b`), "is in, is listed in, contains"},
		{regexp.MustCompile(`(?i)\bof its own([.,;:)]|$)`), "its own, separate"},
		{regexp.MustCompile(`(?i)\bset (it )?right\b`), "repair, restore"},
		{regexp.MustCompile(`(?i)\bis said\b`), "reports, lists"},
	}
}

// TestProse: pages use short sentences with a subject, and the terms of the field.
// go test ./internal/arch -run TestProse/internal/hub judges the pages of one folder.
func TestProse(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(file) != ".md":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		page := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		list := proseIssues(pageTexts(string(text)))
		t.Run(page, func(t *testing.T) {
			for _, issue := range list {
				t.Errorf("%s: %s", page, issue)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// proseIssues returns one line for each broken rule in texts.
func proseIssues(texts []string) []string {
	var issues []string
	for _, text := range texts {
		for _, sentence := range sentences(text) {
			if strings.HasSuffix(sentence, "?") {
				continue
			}
			if n := len(strings.Fields(sentence)); n > maxWords {
				issues = append(issues, fmt.Sprintf("%d words, at most %d: %s", n, maxWords, sentence))
			}
			for _, r := range terms() {
				if found := r.form.FindString(sentence); found != "" {
					issues = append(issues, fmt.Sprintf("%q: use %s: %s", found, r.use, sentence))
				}
			}
			for _, clause := range clauseEnd.Split(sentence, -1) {
				if len(strings.Fields(clause)) < 4 {
					continue
				}
				for _, r := range openers() {
					if r.form.MatchString(clause) {
						issues = append(issues, fmt.Sprintf("opens with %q: use %s: %s", strings.Fields(clause)[0], r.use, clause))
					}
				}
			}
		}
	}
	return issues
}

var (
	clauseEnd   = regexp.MustCompile(`[:;] `)
	sentenceEnd = regexp.MustCompile(`[.!?]["')]? +[A-Z0-9\x60(*“"]|[.!?]["')]? +(weft|git|iproute2|systemd)\b`)
	mdFence     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	mdComment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	mdLink      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	mdCode      = regexp.MustCompile("``?[^`]+``?")
	mdQuote     = regexp.MustCompile(`"[^"]*"|“[^”]*”`)
	mdItem      = regexp.MustCompile(`^ *([-*]|[0-9]+\.) `)
)

// sentences splits a paragraph of plain text.
func sentences(text string) []string {
	var out []string
	for {
		at := sentenceEnd.FindStringIndex(text)
		if at == nil {
			break
		}
		end := at[0] + strings.Index(text[at[0]:], " ")
		out, text = append(out, text[:end]), strings.TrimLeft(text[end:], " ")
	}
	return append(out, text)
}

// pageTexts returns the paragraphs, list items and table cells of a Markdown page as plain
// text: without headings and blocks of code, with CODE for inline code and QUOTE for quotes.
// A table cell is split at semicolons, as it lists facts.
func pageTexts(page string) []string {
	page = mdComment.ReplaceAllString(mdFence.ReplaceAllString(page, "\n"), "\n")
	page = mdCode.ReplaceAllString(mdLink.ReplaceAllString(page, "$1"), "CODE")
	page = mdQuote.ReplaceAllString(page, "QUOTE")
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out, paragraph = append(out, strings.Join(paragraph, " ")), nil
		}
	}
	code := false // an indented block follows an empty line
	empty := true
	for line := range strings.Lines(page) {
		trimmed := strings.Join(strings.Fields(strings.ReplaceAll(line, "**", "")), " ")
		indented := strings.HasPrefix(line, "    ")
		code = indented && (code || empty && len(paragraph) == 0)
		switch {
		case trimmed == "":
			flush()
		case code:
		case strings.HasPrefix(trimmed, "#"):
			flush()
		case strings.HasPrefix(trimmed, "|"):
			flush()
			for cell := range strings.SplitSeq(strings.ReplaceAll(trimmed, `\|`, "/"), "|") {
				for fact := range strings.SplitSeq(cell, "; ") {
					if fact = strings.TrimSpace(fact); strings.Contains(fact, " ") {
						out = append(out, fact)
					}
				}
			}
		case mdItem.MatchString(line):
			flush()
			paragraph = []string{mdItem.ReplaceAllString(trimmed, "")}
		default:
			paragraph = append(paragraph, trimmed)
		}
		empty = trimmed == ""
	}
	flush()
	return out
}

func TestProseIssues(t *testing.T) {
	long := strings.Repeat("word ", maxWords) + "word."
	for _, c := range []struct {
		page  string
		wants string // a part of the only issue; "": none
	}{
		{"weft reads the ledger.", ""},
		{"# What stands in a heading", ""},
		{"What leaves the files is pruned.", `opens with "What"`},
		{"It ends: what leaves the\nfiles is pruned.", `opens with "what"`},
		{"What does weft read?", ""},
		{"| a | Whoever has it goes on |", `opens with "Whoever"`},
		{"Where a tool is missing, the step fails.", ""},
		{"Where the ledger is shows the page.", `opens with "Where"`},
		{"The host tells its name.", `"tells"`},
		{"The switch prints `nobody tells it`, or \"nobody knows\".", ""},
		{"Run:\n\n    nobody tells it\n\nand\n\n```\nwhoever has it goes\n```\n", ""},
		{long, "31 words"},
		{"- " + strings.TrimPrefix(long, "word "), ""},
		{"| cell | " + strings.Repeat("word ", 20) + "; " + strings.Repeat("word ", 20) + "|", ""},
		{strings.Repeat("word ", 20) + "end. Then `code` " + strings.Repeat("word ", 20), ""},
	} {
		list := proseIssues(pageTexts(c.page))
		if c.wants == "" && len(list) > 0 || c.wants != "" && (len(list) == 0 || !strings.Contains(strings.Join(list, "\n"), c.wants)) {
			t.Errorf("%q: %q, expected %q", c.page, list, c.wants)
		}
	}
}
