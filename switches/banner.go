package switches

import (
	"strings"

	"weft/internal/pattern"
)

// "banner motd ^" of NX-OS and "header login %" of Comware begin a text of any
// kind, which the same character ends: its lines are no configuration.
var bannerBegins = pattern.New(`^\s*(?:banner (?:motd|exec)|header (?:legal|login|motd|shell|incoming)) +(\S)(.*)$`)

// bannerLength is how many of lines, of which the first may begin a banner, are
// one; 0 for none. A text that nothing ends is no banner.
func bannerLength(lines []string) int {
	if len(lines) == 0 {
		return 0
	}
	m := bannerBegins.FindStringSubmatch(strings.TrimRight(lines[0], "\r\n"))
	if m == nil {
		return 0
	}
	if strings.Contains(m[2], m[1]) {
		return 1
	}
	for i, line := range lines[1:] {
		if strings.Contains(line, m[1]) {
			return i + 2
		}
	}
	return 0
}

// openBanner returns the index of the first of lines that begins a banner which none of them
// ends, or -1.
func openBanner(lines []string) int {
	for i := 0; i < len(lines); i++ {
		if n := bannerLength(lines[i:]); n > 0 {
			i += n - 1
		} else if bannerBegins.MatchString(strings.TrimRight(lines[i], "\r\n")) {
			return i
		}
	}
	return -1
}

// bannerText puts another text in the place of that of a banner, of as many
// lines.
func bannerText(lines []string, text string) []string {
	m := bannerBegins.FindStringSubmatch(strings.TrimRight(lines[0], "\r\n"))
	first := lines[0][:strings.Index(lines[0], m[1]+m[2])] + m[1]
	if len(lines) == 1 {
		return []string{first + text + m[1] + lineEnd(lines[0])}
	}
	out := []string{first + lineEnd(lines[0])}
	for _, line := range lines[1 : len(lines)-1] {
		out = append(out, text+lineEnd(line))
	}
	last := lines[len(lines)-1]
	return append(out, m[1]+lineEnd(last))
}

func lineEnd(line string) string { return line[len(strings.TrimRight(line, "\r\n")):] }
