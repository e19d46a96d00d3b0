package powershell

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"weft/internal/pattern"
)

// Check holds a program to what weft's scripts are: no string but in single quotes, no
// comment, pipe, redirection, here-string or call by name, and every cmdlet in it with
// parameters that Microsoft's reference has. It knows no more of the grammar than that.
func Check(program string) error {
	c := &checker{}
	var err error
	if c.tokens, err = lex(program); err != nil {
		return err
	}
	return c.statements("")
}

type kind int

const (
	word kind = iota // Get-NetAdapter, if, -eq, 12, .Name, [string]
	text
	name  // of a variable, with its $
	punct // one of ( ) { } ; , = + and the like; a new line is ;
)

type token struct {
	kind  kind
	value string
	glued bool // nothing is between it and the token before
}

// words are those of the programs: types, members, operators and numbers are words as
// well, and their meaning is PowerShell's affair.
var (
	words = pattern.New(`^(?:-?[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?::\$(?:true|false))?|[0-9]+|\[[A-Za-z][A-Za-z0-9.]*(?:\[\])?\]|\.[A-Za-z][A-Za-z0-9]*|::[A-Za-z][A-Za-z0-9]*)`)
	names = pattern.New(`^\$(?:[A-Za-z][A-Za-z0-9]*|_)`)
)

// lex cuts a program into tokens.
func lex(program string) (list []token, err error) {
	if !utf8.ValidString(program) {
		return nil, errors.New("a program is UTF-8")
	}
	glued := false
	for rest := program; rest != ""; {
		t := token{glued: glued}
		n := 1
		switch {
		case rest[0] == '\n':
			t.kind, t.value = punct, ";"
		case rest[0] == ' ' || rest[0] == '\t':
			rest, glued = rest[1:], false
			continue
		case rest[0] == '\'':
			t.kind = text
			if t.value, n = unquote(rest); n == 0 {
				return nil, fmt.Errorf("a string does not end: %.40q", rest)
			}
		case strings.HasPrefix(rest, "@(") || strings.HasPrefix(rest, "@{"):
			t.kind, t.value, n = punct, rest[1:2], 2
		case strings.IndexByte("(){};,=+-!", rest[0]) >= 0 && !words.MatchString(rest):
			t.kind, t.value = punct, rest[:1]
		case rest[0] == '[' && !words.MatchString(rest), rest[0] == ']':
			t.kind, t.value = punct, rest[:1]
		default:
			t.kind, t.value = word, words.FindString(rest)
			if t.value == "" {
				t.kind, t.value = name, names.FindString(rest)
			}
			if n = len(t.value); n == 0 {
				return nil, fmt.Errorf("weft writes no such thing: %.40q", rest)
			}
		}
		list, rest, glued = append(list, t), rest[n:], true
	}
	return list, nil
}

// unquote reads a string in single quotes: its value, and how long it is there; 0: it
// does not end.
func unquote(from string) (value string, length int) {
	var b strings.Builder
	for at := 1; at < len(from); {
		r, size := utf8.DecodeRuneInString(from[at:])
		at += size
		if isQuote(r) {
			second, size := utf8.DecodeRuneInString(from[at:])
			if !isQuote(second) {
				return b.String(), at
			}
			r, at = second, at+size // the second one counts
		}
		b.WriteRune(r)
	}
	return "", 0
}

type checker struct {
	tokens []token
	at     int
}

// statements goes on until the closing token end, or the end of the program.
func (c *checker) statements(end string) error {
	begins := true // a command may stand here
	for c.at < len(c.tokens) {
		t := c.tokens[c.at]
		c.at++
		switch {
		case t.kind == punct && t.value == end && end != "":
			return nil
		case t.kind == punct && (t.value == "(" || t.value == "{"):
			if err := c.statements(map[string]string{"(": ")", "{": "}"}[t.value]); err != nil {
				return err
			}
			begins = t.value == "{"
		case t.kind == punct && (t.value == ")" || t.value == "}"):
			return fmt.Errorf("%s closes nothing", t.value)
		case t.kind == punct:
			begins = t.value == ";" || t.value == "="
		case t.kind == word && begins && strings.Contains(t.value[1:], "-"):
			if err := c.command(t.value); err != nil {
				return err
			}
			begins = false
		case t.kind == word && strings.Contains(t.value[1:], "-"):
			return fmt.Errorf("%s stands where no command is expected", t.value)
		default:
			begins = t.kind == word && t.value == "in"
		}
	}
	if end != "" {
		return fmt.Errorf("%s is missing", end)
	}
	return nil
}

// command checks the parameters of a cmdlet, to the end of it.
func (c *checker) command(cmdlet string) error {
	var params []string
	for c.at < len(c.tokens) {
		t := c.tokens[c.at]
		if t.kind == punct && (t.value == ";" || t.value == ")" || t.value == "}") {
			break
		}
		c.at++
		switch {
		case t.kind == punct && t.value == "(":
			if err := c.statements(")"); err != nil {
				return err
			}
		case t.kind == punct && t.value == "{":
			return fmt.Errorf("%s: a block is no argument", cmdlet)
		case t.kind == word && t.value[0] == '-':
			m := parameter.FindStringSubmatch(t.value)
			if m == nil {
				return fmt.Errorf("%s: %s is no parameter", cmdlet, t.value)
			}
			params = append(params, m[1])
		case t.kind == word && t.value[0] != '.' && (t.value[0] < '0' || t.value[0] > '9') && !strings.HasPrefix(t.value, "::") && t.value[0] != '[':
			return fmt.Errorf("%s: the word %s is not in quotes", cmdlet, t.value)
		}
	}
	return fits(cmdlet, params)
}
