package ssh

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A settings map holds what ssh_config says about one host: values by
// lower-case keyword. Only IdentityFile and CertificateFile have several.
type settings map[string][]string

// first is the first value of a keyword, or "".
func (s settings) first(keyword string) string {
	if v := s[keyword]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// add keeps the value unless the keyword has one already: in ssh_config the
// first value obtained holds.
func (s settings) add(keyword, value string) {
	many := keyword == "identityfile" || keyword == "certificatefile"
	if many && !slices.Contains(s[keyword], value) || len(s[keyword]) == 0 {
		s[keyword] = append(s[keyword], value)
	}
}

// parseEffective reads the output of "ssh -G": one keyword and value in a
// line, with everything resolved.
func parseEffective(text string) settings {
	s := settings{}
	for line := range strings.Lines(text) {
		keyword, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if keyword != "" {
			s.add(strings.ToLower(keyword), strings.TrimSpace(value))
		}
	}
	return s
}

// A configReader reads the subset of ssh_config that weft understands without
// an ssh binary: Host with patterns, Match with all, host, originalhost and
// user, Include, and keywords with one value. Everything else in the language
// that could change the meaning of a file is an error, never skipped.
type configReader struct {
	name string // as given, before HostName
	user string // as given; "" if not

	// glob returns the names and texts of the files that an Include names.
	glob func(pattern string) ([]configText, error)

	found settings
}

// A configText is one file. Files are read for every host of a fleet: lines
// are split once, and sections about other hosts are passed over.
type configText struct {
	name     string
	sections []configSection
	always   []int            // sections that may be about any host
	about    map[string][]int // sections that begin with Host and names without patterns, by each of the names
	err      error            // of the first line that makes no sense whatever the host
}

// A configSection begins with a Host or Match line, but for the first one.
type configSection []configLine

// A configLine is one line in words; the keyword, which is the first, in lower
// case, and so the patterns of a Host line.
type configLine struct {
	number int
	words  []string
}

func newConfigText(name, text string) configText {
	c := configText{name: name, sections: make([]configSection, 1), always: []int{0}, about: map[string][]int{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		words, err := configWords(line)
		if err == nil && len(words) == 1 {
			err = fmt.Errorf("%s without a value", strings.ToLower(words[0]))
		}
		if err != nil {
			c.err = fmt.Errorf("%s:%d: %w", name, number, err)
			return c
		}
		if len(words) == 0 {
			continue
		}
		words[0] = strings.ToLower(words[0])
		if words[0] == "host" || words[0] == "match" {
			c.begin(words)
		}
		last := len(c.sections) - 1
		c.sections[last] = append(c.sections[last], configLine{number, words})
	}
	return c
}

// begin begins a section.
func (c *configText) begin(words []string) {
	n := len(c.sections)
	c.sections = append(c.sections, nil)
	plain := words[0] == "host"
	for i, w := range words[1:] {
		plain = plain && !strings.ContainsAny(w, "*?!")
		if words[0] == "host" {
			words[i+1] = strings.ToLower(w)
		}
	}
	if !plain {
		c.always = append(c.always, n)
		return
	}
	for _, w := range words[1:] {
		if list := c.about[w]; len(list) == 0 || list[len(list)-1] != n {
			c.about[w] = append(list, n)
		}
	}
}

// sectionsOf are the sections that may be about a host, in the order of the
// file.
func (c *configText) sectionsOf(host string) []int {
	own := c.about[strings.ToLower(host)]
	if len(own) == 0 {
		return c.always
	}
	return slices.Sorted(slices.Values(slices.Concat(c.always, own)))
}

// maxIncludes is how deep files may include files, as in OpenSSH.
const maxIncludes = 16

// read adds what a file says about the host.
func (r *configReader) read(file configText, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: Include goes deeper than %d files", file.name, maxIncludes)
	}
	if file.err != nil {
		return file.err
	}
	for _, n := range file.sectionsOf(r.name) {
		applies := true
		for _, line := range file.sections[n] {
			if err := r.line(line.words, &applies, depth); err != nil {
				return fmt.Errorf("%s:%d: %w", file.name, line.number, err)
			}
			if !applies {
				break
			}
		}
	}
	return nil
}

// line carries out one line. applies is whether the section it stands in is
// about the host.
func (r *configReader) line(words []string, applies *bool, depth int) (err error) {
	keyword, args := words[0], words[1:]
	switch keyword {
	case "host":
		*applies = matchList(args, r.name)
	case "match":
		*applies, err = r.match(args)
	case "include":
		if *applies {
			return r.include(args, depth)
		}
	default:
		if *applies {
			if strings.HasSuffix(keyword, "knownhostsfile") {
				args = slices.Clone(args)
				for i, a := range args { // a list, split again by its reader
					args[i] = `"` + a + `"`
				}
			}
			r.found.add(keyword, strings.Join(args, " "))
		}
	}
	return err
}

func (r *configReader) include(patterns []string, depth int) error {
	for _, pattern := range patterns {
		files, err := r.glob(pattern)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := r.read(f, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// match evaluates the criteria of a Match line.
func (r *configReader) match(args []string) (bool, error) {
	for i := 0; i < len(args); i++ {
		criterion := strings.ToLower(args[i])
		if criterion == "all" {
			continue
		}
		i++
		if i == len(args) {
			return false, fmt.Errorf("a Match %s without a pattern", criterion)
		}
		var subject string
		switch criterion {
		case "host":
			subject = expandHost(r.found.first("hostname"), r.name)
		case "originalhost":
			subject = r.name
		case "user":
			if subject = r.user; subject == "" {
				subject = r.found.first("user")
			}
		default:
			return false, fmt.Errorf("a Match %s is not understood without an ssh binary", criterion)
		}
		if !matchList(strings.Split(args[i], ","), subject) {
			return false, nil
		}
	}
	return true, nil
}

// expandHost is the HostName of a host: %h stands for the name as given.
func expandHost(hostname, name string) string {
	if hostname == "" {
		return name
	}
	return strings.NewReplacer("%%", "%", "%h", name).Replace(hostname)
}

// matchList reports whether one of the patterns matches and no negated one
// does.
func matchList(patterns []string, s string) bool {
	matched := false
	s = strings.ToLower(s)
	for _, p := range patterns {
		negated := strings.HasPrefix(p, "!")
		if !matchPattern(strings.ToLower(strings.TrimPrefix(p, "!")), s) {
			continue
		}
		if negated {
			return false
		}
		matched = true
	}
	return matched
}

// matchPattern matches * and ?; everything else is literal.
func matchPattern(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == s
	}
	escaped := strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(pattern)
	// A slash is no separator here, unlike in path.Match.
	ok, err := path.Match(strings.ReplaceAll(escaped, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	return ok && err == nil
}

// configWords splits a line into words: "keyword value", "keyword=value",
// double quotes around words with spaces, # at the start of a word begins a
// comment.
func configWords(line string) ([]string, error) {
	var words []string
	rest := strings.TrimSpace(line)
	for rest != "" && rest[0] != '#' {
		if rest[0] == '"' {
			word, after, closed := strings.Cut(rest[1:], `"`)
			if !closed {
				return nil, fmt.Errorf("a quote is not closed")
			}
			words = append(words, word)
			rest = strings.TrimSpace(after)
			continue
		}
		end := strings.IndexAny(rest, " \t")
		if eq := strings.IndexByte(rest, '='); len(words) == 0 && eq > 0 && (end < 0 || eq < end) {
			end = eq
		}
		if end < 0 {
			end = len(rest)
		}
		words = append(words, rest[:end])
		rest = strings.TrimSpace(rest[end:])
		if len(words) == 1 {
			// "keyword = value" is allowed, too.
			rest = strings.TrimSpace(strings.TrimPrefix(rest, "="))
		}
	}
	return words, nil
}
