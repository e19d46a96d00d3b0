package language

import (
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// shallow reports whether a file surely nests little and has no long numbers,
// so that the lexer need not run a second time to find out. It knows what most
// files consist of; whatever else there is leaves the question open.
func shallow(src []byte) bool {
	if !utf8.Valid(src) {
		return false
	}
	s := shallowScan{src: src}
	for s.at < len(src) {
		known := false
		if s.inText() {
			known = s.text()
		} else {
			known = s.code()
		}
		if !known || s.nest.total > maxNesting {
			return false
		}
	}
	return len(s.open) == 0
}

// shallowScan is a place in a file.
type shallowScan struct {
	src  []byte
	at   int
	open []byte // brackets, " for a text, $ for ${ within one
	nest nesting
}

func (s *shallowScan) inText() bool { return len(s.open) > 0 && s.open[len(s.open)-1] == '"' }

func (s *shallowScan) next() byte {
	if s.at+1 < len(s.src) {
		return s.src[s.at+1]
	}
	return 0
}

// take counts a token of n bytes.
func (s *shallowScan) take(t hclsyntax.TokenType, n int) bool {
	s.nest.add(t, hclsyntax.Token{})
	s.at += n
	return true
}

func (s *shallowScan) push(bracket byte, t hclsyntax.TokenType, n int) bool {
	s.open = append(s.open, bracket)
	return s.take(t, n)
}

func (s *shallowScan) pop(bracket byte, t hclsyntax.TokenType) bool {
	n := len(s.open)
	if n == 0 || s.open[n-1] != bracket {
		return false
	}
	s.open = s.open[:n-1]
	return s.take(t, 1)
}

// text takes one character of a text in quotes, or what begins a template.
func (s *shallowScan) text() bool {
	switch c := s.src[s.at]; {
	case c == '"':
		return s.pop('"', hclsyntax.TokenCQuote)
	case c == '\n' || c == '\r':
		return false
	case c == '\\':
		s.at += 2
	case c == '$' && s.next() == '{':
		return s.push('$', hclsyntax.TokenTemplateInterp, 2)
	case (c == '$' || c == '%') && s.next() == c || c == '%' && s.next() == '{':
		return false // an escape, or what nests without brackets: %{ if x }
	default:
		s.at++
	}
	return true
}

// code takes one token, or a part of one, outside of texts.
func (s *shallowScan) code() bool {
	switch c := s.src[s.at]; c {
	case ' ', '\t':
		s.at++
		return true
	case '\n':
		return s.take(hclsyntax.TokenNewline, 1)
	case '"':
		return s.push(c, hclsyntax.TokenOQuote, 1)
	case '{':
		return s.push(c, hclsyntax.TokenOBrace, 1)
	case '[':
		return s.push(c, hclsyntax.TokenOBrack, 1)
	case '(':
		return s.push(c, hclsyntax.TokenOParen, 1)
	case '}':
		return s.pop('{', hclsyntax.TokenCBrace) || s.pop('$', hclsyntax.TokenTemplateSeqEnd)
	case ']':
		return s.pop('[', hclsyntax.TokenCBrack)
	case ')':
		return s.pop('(', hclsyntax.TokenCParen)
	case ',':
		return s.take(hclsyntax.TokenComma, 1)
	case '#':
		return s.comment()
	case '/':
		if s.next() == '/' {
			return s.comment()
		}
		return s.next() != '*' && s.take(hclsyntax.TokenSlash, 1)
	case '<':
		return s.next() != '<' && s.take(hclsyntax.TokenLessThan, 1)
	case '.':
		if s.next() != '.' {
			s.at++
			return true
		}
		return s.take(hclsyntax.TokenEllipsis, 1)
	case '+', '-', '*', '%', '!', '?', ':', '=', '>', '&', '|':
		return s.take(hclsyntax.TokenPlus, 1) // one like another
	default:
		return s.word()
	}
}

// word takes a name or a short number.
func (s *shallowScan) word() bool {
	start := s.at
	if digit(s.src[start]) {
		return s.number()
	}
	for s.at < len(s.src) && (letter(s.src[s.at]) || digit(s.src[s.at]) || s.src[s.at] == '-') {
		s.at++
	}
	return s.at > start
}

// number refuses long numbers and whatever may have an exponent.
func (s *shallowScan) number() bool {
	start := s.at
	for s.at < len(s.src) && (digit(s.src[s.at]) || s.src[s.at] == '.') {
		s.at++
	}
	return s.at-start <= maxNumberText && (s.at == len(s.src) || !letter(s.src[s.at]))
}

// comment takes all that is left of the line but its end.
func (s *shallowScan) comment() bool {
	for s.at < len(s.src) && s.src[s.at] != '\n' {
		s.at++
	}
	return true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// isName is hclsyntax.ValidIdentifier, which runs the lexer, for the names that
// most blocks have.
func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !letter(c) && (i == 0 || c != '-' && !digit(c)) {
			return hclsyntax.ValidIdentifier(name)
		}
	}
	return name != ""
}
