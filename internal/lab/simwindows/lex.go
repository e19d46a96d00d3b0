//go:build unix

package simwindows

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Kinds of tokens of PowerShell, as about_Parsing and about_Quoting_Rules have them: those
// that this host knows. All else is an error of its parser.
type tokenKind int

const (
	tEnd     tokenKind = iota
	tNewline           // also ;
	tString            // in single quotes
	tVariable
	tWord   // a command, a keyword, a bare key of a hash table
	tDash   // -eq, -Name
	tNumber // a whole one
	tType   // [IO.File]
	tSymbol
)

type token struct {
	kind tokenKind
	text string
	tail string // after a colon: -Confirm:$false
	near bool   // nothing is before it
	at   int
}

var patterns = []struct {
	kind tokenKind
	re   *regexp.Regexp
}{
	{tVariable, regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)`)},
	{tType, regexp.MustCompile(`^\[([A-Za-z][A-Za-z0-9.]*(?:\[\])?)\]`)},
	{tDash, regexp.MustCompile(`^-([A-Za-z][A-Za-z0-9]*)(?::(\$true|\$false))?`)},
	{tNumber, regexp.MustCompile(`^([0-9]+)`)},
	{tWord, regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)?)`)},
	{tSymbol, regexp.MustCompile(`^(@\(|@\{|\+=|::|[(){}\[\].,=+-])`)},
}

func single(r rune) bool { return strings.ContainsRune("'\u2018\u2019\u201a\u201b", r) }

// scan cuts a script into tokens.
func scan(src string) (list []token, err error) {
	near := false
	for at := 0; at < len(src); {
		rest := src[at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			at, near = at+1, false
			continue
		case c == '\n' || c == ';':
			list = append(list, token{kind: tNewline, at: at})
			at, near = at+1, false
			continue
		}
		t := token{near: near, at: at}
		if r, _ := utf8.DecodeRuneInString(rest); single(r) {
			value, n, ok := quoted(rest)
			if !ok {
				return nil, fmt.Errorf("the string is missing the terminator: '. at character %d", at)
			}
			t.kind, t.text = tString, value
			at += n
		} else {
			for _, p := range patterns {
				if m := p.re.FindStringSubmatch(rest); m != nil {
					t.kind, t.text = p.kind, m[1]
					if len(m) > 2 {
						t.tail = m[2]
					}
					at += len(m[0])
					break
				}
			}
			if t.kind == tEnd {
				return nil, fmt.Errorf("unexpected token at character %d of a script, which this SIMULATED host does not take: %.40q", at, rest)
			}
		}
		list, near = append(list, t), true
	}
	return append(list, token{kind: tEnd, at: len(src)}), nil
}

// quoted reads a string in single quotes, in which two of them are one.
func quoted(src string) (value string, length int, ok bool) {
	var b strings.Builder
	_, open := utf8.DecodeRuneInString(src)
	for i := open; i < len(src); {
		r, n := utf8.DecodeRuneInString(src[i:])
		if i += n; !single(r) {
			b.WriteRune(r)
			continue
		}
		next, m := utf8.DecodeRuneInString(src[i:])
		if m == 0 || !single(next) {
			return b.String(), i, true
		}
		b.WriteRune(next)
		i += m
	}
	return "", 0, false
}
