//go:build unix

package simserver

import (
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// scripts are those that the servers of a network have run, as they were read:
// thousands of servers run the same few. A script that was read is only looked
// at by those who run it.
type scripts struct {
	mu    sync.Mutex
	size  int // bytes
	known map[scriptKey]*syntax.File
}

type scriptKey struct{ script, name string }

// When there are so many of them, or so many bytes, all are forgotten: some are
// run only once.
const (
	manyScripts  = 1000
	largeScripts = 1 << 20
)

// parse reads a script, or knows it already.
func (c *scripts) parse(script, name string) (*syntax.File, error) {
	key := scriptKey{script, name}
	c.mu.Lock()
	file := c.known[key]
	c.mu.Unlock()
	if file != nil {
		return file, nil
	}
	file, err := parse(script, name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += len(script); c.known == nil || c.size > largeScripts || len(c.known) >= manyScripts {
		c.known, c.size = map[scriptKey]*syntax.File{}, len(script)
	}
	c.known[key] = file
	return file, nil
}

// parse reads a script as a POSIX shell does. The interpreter needs Bash's
// reading of "export" and "local", so what passes as POSIX is read again; what
// only Bash would make of it is refused.
func parse(script, name string) (*syntax.File, error) {
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), name); err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), name)
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if err == nil && onlyBash(n) {
			err = fmt.Errorf("%s:%s: not in a POSIX shell", name, n.Pos())
		}
		return err == nil
	})
	return file, err
}

// onlyBash reports what a POSIX shell reads as something else.
func onlyBash(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.TestClause, *syntax.LetClause, *syntax.CoprocClause, *syntax.TimeClause, *syntax.ArithmCmd,
		*syntax.ArrayExpr, *syntax.ProcSubst, *syntax.ExtGlob:
		return true
	case *syntax.ForClause:
		return n.Select
	case *syntax.FuncDecl:
		return n.RsrvWord
	case *syntax.DeclClause:
		v := n.Variant.Value
		return v != "export" && v != "readonly" && v != "local"
	}
	return false
}
