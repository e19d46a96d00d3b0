// Package pattern keeps regular expressions that are compiled when they are first used: a
// command of weft uses few of its hundreds, and would wait for all of them each time.
package pattern

import (
	"regexp"
	"sync"
)

// A Pattern is a regexp.Regexp that is compiled when it is first used; its methods are that
// one's.
type Pattern struct {
	expr string
	re   func() *regexp.Regexp
}

// New is the pattern of an expression. One that is wrong panics when it is used; a test
// of internal/arch compiles them all.
func New(expr string) Pattern {
	return Pattern{expr, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// String is the expression.
func (p Pattern) String() string { return p.expr }

func (p Pattern) MatchString(s string) bool { return p.re().MatchString(s) }

func (p Pattern) FindString(s string) string { return p.re().FindString(s) }

func (p Pattern) FindStringSubmatch(s string) []string { return p.re().FindStringSubmatch(s) }

func (p Pattern) FindAllString(s string, n int) []string { return p.re().FindAllString(s, n) }

func (p Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.re().FindAllStringSubmatch(s, n)
}

func (p Pattern) ReplaceAllString(s, with string) string { return p.re().ReplaceAllString(s, with) }

func (p Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.re().ReplaceAllStringFunc(s, with)
}
