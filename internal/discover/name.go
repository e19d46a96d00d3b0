package discover

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"
)

// label makes a label of any text: letters, digits, dashes and underscores, beginning
// with a letter. What says nothing becomes what else says.
func label(text, otherwise string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.Trim(b.String(), "-")
	switch {
	case strings.Trim(out, "_") == "":
		return otherwise
	case out[0] < 'a' || out[0] > 'z':
		return otherwise + "-" + out
	}
	return out
}

// usable makes a key of any text, which has what the language takes in keys: printable
// characters other than quotes and backslashes.
func usable(text string) string {
	return strings.TrimSpace(cty.NormalizeString(strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(text, "-"))))
}

// short is the name of a host without its domain; an address stays whole.
func short(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	name, _, _ := strings.Cut(host, ".")
	return name
}

// taken gives each text a name of its own. Of two that would have the same name, the
// second gets a part of the sum of what tells it apart, which is the same in each run.
type taken map[string]bool

func (t taken) name(wish, tell string) string {
	if t[wish] {
		sum := sha256.Sum256([]byte(tell))
		wish += "-" + hex.EncodeToString(sum[:3])
	}
	for base, n := wish, 2; t[wish]; n++ {
		wish = base + "-" + strings.Repeat("x", n-1)
	}
	t[wish] = true
	return wish
}

// natural compares as people count: port 2 stands before port 10.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, restA := run(a)
		y, restB := run(b)
		if c := compareRuns(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return len(a) - len(b)
}

// run cuts off the digits, or what is none, at the beginning.
func run(s string) (head, rest string) {
	digit := func(r rune) bool { return r < unicode.MaxASCII && unicode.IsDigit(r) }
	first := digit(rune(s[0]))
	i := strings.IndexFunc(s, func(r rune) bool { return digit(r) != first })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

func compareRuns(x, y string) int {
	if x[0] >= '0' && x[0] <= '9' && y[0] >= '0' && y[0] <= '9' {
		n, m := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if len(n) != len(m) {
			return len(n) - len(m)
		}
		if c := strings.Compare(n, m); c != 0 {
			return c
		}
	}
	return strings.Compare(x, y)
}
