package main

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weft/inventory/catalogue"
	"weft/inventory/language"
	"weft/modules"
	"weft/switches/systems"
)

// What README, pages and the comments of examples say of commands, flags and
// the language is so.

// pages are the files of the repository whose names end so, by their path.
func pages(t *testing.T, suffixes ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(suffixes, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(filepath.ToSlash(path), "../../")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	span     = regexp.MustCompile("`([^`]+)`")
	fenced   = regexp.MustCompile("(?s)```.*?```")
	flagText = regexp.MustCompile(`^--[a-z][a-z-]*`)
)

// spans are the pieces of code in a page: those between backquotes, and the
// lines of blocks.
func spans(page string) []string {
	var list []string
	for _, block := range fenced.FindAllString(page, -1) {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "#")
			list = append(list, strings.TrimSpace(line))
		}
	}
	for _, m := range span.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		list = append(list, strings.Join(strings.Fields(m[1]), " "))
	}
	return list
}

func commandTree() *cobra.Command {
	return newApp(strings.NewReader(""), io.Discard, io.Discard, nil).root()
}

// lacks says what of a command line weft does not have; "": it has all.
func lacks(root *cobra.Command, words []string) string {
	at := root
	skip := false
	for _, w := range words {
		w = strings.Trim(w, "[]")
		switch {
		case w == "--":
			return ""
		case skip:
			skip = false
		case flagText.MatchString(w):
			name := strings.TrimPrefix(flagText.FindString(w), "--")
			f := flagOf(at, name)
			if f == nil {
				return at.CommandPath() + " --" + name
			}
			skip = f.NoOptDefVal == "" && !strings.Contains(w, "=")
		case strings.HasPrefix(w, "-"):
			skip = true // -C
		case !at.HasSubCommands():
		default:
			next := child(at, w)
			if next == nil && !strings.Contains(at.Use, "[") {
				return at.CommandPath() + " " + w
			}
			if next != nil {
				at = next
			}
		}
	}
	return ""
}

func child(of *cobra.Command, name string) *cobra.Command {
	for _, c := range of.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

func flagOf(c *cobra.Command, name string) *pflag.Flag {
	if f := c.Flags().Lookup(name); f != nil {
		return f
	}
	if f := c.InheritedFlags().Lookup(name); f != nil {
		return f
	}
	return c.PersistentFlags().Lookup(name)
}

// everywhere reports whether any command has the flag.
func everywhere(c *cobra.Command, name string) bool {
	return flagOf(c, name) != nil || slices.ContainsFunc(c.Commands(), func(c *cobra.Command) bool { return everywhere(c, name) })
}

func TestPagesNameCommands(t *testing.T) {
	root := commandTree()
	// The flags of mdadm, which its page quotes.
	others := []string{"--add", "--assemble", "--assume-clean", "--re-add", "--zero-superblock", "--grow"}
	seen := 0
	for name, page := range pages(t, ".md") {
		for _, s := range spans(page) {
			words := strings.Fields(s)
			if len(words) == 0 {
				continue
			}
			what := ""
			switch first := strings.TrimPrefix(words[0], "bin/"); {
			case first == "weft":
				what = lacks(root, words[1:])
			case flagText.MatchString(first):
				if flag := flagText.FindString(first); !slices.Contains(others, flag) && !everywhere(root, flag[2:]) {
					what = flag
				}
			case child(root, first) != nil && len(words) > 1 && strings.HasPrefix(words[1], "--"):
				if words[1] != "--power-loss" { // of weft-initiator
					what = lacks(root, words)
				}
			default:
				continue
			}
			if seen++; what != "" {
				t.Errorf("%s: `%s`: there is no %s", name, s, what)
			}
		}
	}
	for name, text := range pages(t, ".hcl", ".weftvars") {
		if !strings.HasPrefix(name, "examples/") {
			continue
		}
		for line := range strings.Lines(text) {
			_, comment, _ := strings.Cut(line, "#")
			words := strings.Fields(comment)
			for i, w := range words {
				w = strings.TrimLeft(w, "(")
				if flag := flagText.FindString(w); flag != "" && !everywhere(root, flag[2:]) {
					t.Errorf("%s: %s: there is no %s", name, strings.TrimSpace(line), flag)
				}
				if w == "weft" && i+2 < len(words) && child(root, words[i+1]) != nil {
					if what := lacks(root, words[i+1:i+3]); what != "" {
						t.Errorf("%s: %s: there is no %s", name, strings.TrimSpace(line), what)
					}
					seen++
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("%d commands and flags were found in all pages: they are looked for in the wrong way", seen)
	}
}

// words are all names of blocks and attributes in the language.
type languageWords struct {
	blocks     map[string][]*language.BlockType
	attributes map[string][]*language.Attribute
}

func languageOf() *languageWords {
	l := &languageWords{map[string][]*language.BlockType{}, map[string][]*language.Attribute{}}
	var walk func(blocks map[string]*language.BlockType)
	walk = func(blocks map[string]*language.BlockType) {
		for name, b := range blocks {
			l.blocks[name] = append(l.blocks[name], b)
			for name, a := range b.Attributes {
				l.attributes[name] = append(l.attributes[name], a)
			}
			walk(b.Blocks)
		}
	}
	walk(language.Describe(modules.Blocks()).Blocks)
	return l
}

// managed reports whether a value may stand for an attribute of that name and
// something acts on it.
func (l *languageWords) managed(name, value string) bool {
	return slices.ContainsFunc(l.attributes[name], func(a *language.Attribute) bool {
		return !a.Later && (len(a.Values) == 0 || slices.Contains(a.Values, value)) && !slices.Contains(a.LaterValues, value)
	})
}

var (
	assigned = regexp.MustCompile(`^([a-z_]+) = "?([a-z0-9_-]*)`)
	header   = regexp.MustCompile(`^[a-z_]+( "[^"]*")? \{`)
	word     = regexp.MustCompile(`^[a-z_]+$`)
	path     = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+$`)
	token    = regexp.MustCompile(`"[^"]*"|[a-z_]+(?:\.[a-z_-]+)*|[{}=]`)
)

// unknown lists the words of a piece of code that are not in the blocks which
// may stand there.
func (l *languageWords) unknown(code string) []string {
	var list []string
	stack := [][]*language.BlockType{nil}
	tokens := token.FindAllString(strings.NewReplacer(`\|`, " ", "…", `"x"`).Replace(code), -1)
	for i := 0; i < len(tokens); i++ {
		w := tokens[i]
		switch {
		case w == "}" && len(stack) > 1:
			stack = stack[:len(stack)-1]
			continue
		case !word.MatchString(w):
			continue
		}
		next := i + 1
		for next < len(tokens) && strings.HasPrefix(tokens[next], `"`) {
			next++
		}
		within := stack[len(stack)-1]
		if next < len(tokens) && tokens[next] == "{" {
			inner := l.blocks[w]
			if len(stack) > 1 {
				inner = nil
				for _, b := range within {
					if b.Blocks[w] != nil {
						inner = append(inner, b.Blocks[w])
					}
				}
			}
			if inner == nil {
				list = append(list, w)
			}
			stack, i = append(stack, inner), next
			continue
		}
		if !slices.ContainsFunc(within, func(b *language.BlockType) bool { return b.Attributes[w] != nil || b.Blocks[w] != nil }) {
			list = append(list, w)
		}
		if i+1 >= len(tokens) || tokens[i+1] != "=" {
			continue
		}
		i += 2 // and the value
		for depth := 1; i < len(tokens) && tokens[i] == "{" && depth > 0; {
			for i++; i < len(tokens) && depth > 0; i++ {
				switch tokens[i] {
				case "{":
					depth++
				case "}":
					depth--
				}
			}
			i--
		}
	}
	return list
}

func TestPagesNameTheLanguage(t *testing.T) {
	l := languageOf()
	seen := 0
	for name, page := range pages(t, ".md") {
		if strings.HasPrefix(name, "inventory/catalogue/") {
			continue // its files are written in words of their own
		}
		for _, s := range spans(page) {
			switch m := assigned.FindStringSubmatch(s); {
			case m != nil && len(l.attributes[m[1]]) == 0:
				t.Errorf("%s: `%s`: no block has an attribute %s", name, s, m[1])
			case header.MatchString(s):
				for _, w := range l.unknown(s) {
					t.Errorf("%s: `%s`: there is no %s at that place", name, s, w)
				}
			default:
				continue
			}
			seen++
		}
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "| declared by |") {
				continue
			}
			for _, s := range spans(line) {
				if path.MatchString(s) {
					first, rest, _ := strings.Cut(s, ".")
					if list := l.unknown(first + " { " + strings.ReplaceAll(rest, ".", " { ") + strings.Repeat(" }", strings.Count(rest, ".")+1)); list != nil {
						t.Errorf("%s: `%s`: there is no %s", name, s, list)
					}
				} else if word.MatchString(s) && l.blocks[s] == nil && l.attributes[s] == nil {
					t.Errorf("%s: `%s` is neither a block nor an attribute", name, s)
				}
				seen++
			}
		}
	}
	// name = "x" # x | y | z: all of them may be written, and do something.
	choice := regexp.MustCompile(`^\s*([a-z_]+)\s*=.*#\s*([a-z0-9-]+(?: \| [a-z0-9-]+)+)`)
	for name, text := range pages(t, ".hcl") {
		for line := range strings.Lines(text) {
			m := choice.FindStringSubmatch(line)
			if m == nil || !strings.HasPrefix(name, "examples/") {
				continue
			}
			for value := range strings.SplitSeq(m[2], " | ") {
				if seen++; !l.managed(m[1], value) {
					t.Errorf("%s: %s: %q is not managed", name, strings.TrimSpace(line), value)
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("%d words were found in all pages: they are looked for in the wrong way", seen)
	}
}

// The catalogue lists the timed reverts that weft arms, and not those which the
// vendor documents and plan refuses.
func TestCatalogueListsWhatIsDone(t *testing.T) {
	c, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	// There is one value for each system, and one revert that it arms, or none.
	for _, o := range c.OS {
		sys, arms := systems.Named(o.ID), 0
		if sys != nil && sys.Guard != nil {
			arms = 1
		}
		if len(o.CommitMethods.Value) != arms {
			t.Errorf("%s: commit methods %q, and weft arms %d", o.ID, o.CommitMethods.Value, arms)
		}
	}
}

// Each kind of resource has its page, which README links or whose folder it links; and
// each page that README links is there.
func TestReadmeLinks(t *testing.T) {
	all := pages(t, ".md")
	linked := map[string]bool{}
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`).FindAllStringSubmatch(all["README.md"], -1) {
		linked[m[1]] = true
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("README links %s: %v", m[1], err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if dir, _, _ := strings.Cut(name, "/"); (dir == "modules" || dir == "switches") && !linked[name] && !linked[filepath.ToSlash(filepath.Dir(name))] {
			t.Errorf("README does not link %s", name)
		}
	}
}
