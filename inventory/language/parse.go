package language

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	maxFileSize   = 4 << 20 // bytes of one file
	maxNesting    = 300     // brackets and operators around one token
	maxNumberText = 64      // characters of a number
	maxSyntax     = 1000    // problems of one file that are kept: the parser finds another one behind each
)

// sourceFile is one file as read and parsed.
type sourceFile struct {
	name  string
	file  *hcl.File
	body  *hclsyntax.Body // nil: broken
	diags hcl.Diagnostics
	given bool // with --var-file
}

// parseDir reads and parses the files in one directory of fsys whose names end
// in suffix, in the order of their names.
func parseDir(fsys fs.FS, dir, suffix string) ([]*sourceFile, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read the directory: %w", err)
	}
	var files []*sourceFile
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) && !strings.HasPrefix(entry.Name(), ".") {
			files = append(files, &sourceFile{name: path.Join(dir, entry.Name())})
		}
	}
	slices.SortFunc(files, func(a, b *sourceFile) int { return strings.Compare(a.name, b.name) })
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, f := range files {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f.read(fsys)
		})
	}
	wg.Wait()
	return files, nil
}

// read reads the file from fsys and parses it.
func (f *sourceFile) read(fsys fs.FS) {
	src, err := readLimited(fsys, f.name)
	if err != nil {
		f.diags = append(f.diags, problem.New(problem.File, fileStart(f.name), "cannot read "+f.name, "%v.", err))
		return
	}
	f.parse(src)
}

// parse parses src after making sure that it can be parsed in bounded memory.
func (f *sourceFile) parse(src []byte) {
	f.file = &hcl.File{Bytes: src}
	if utf16(src) {
		f.diags = append(f.diags, problem.New(problem.Syntax, fileStart(f.name), "the file is UTF-16",
			"Inventory files must be UTF-8. Save it as UTF-8, or convert it: iconv -f UTF-16 -t UTF-8 %s > new; in PowerShell: Get-Content %[1]s | Set-Content -Encoding utf8 new.", f.name))
		return
	}
	if d := tooDeep(src, f.name); d != nil {
		f.diags = append(f.diags, d)
		return
	}
	parsed, diags := hclsyntax.ParseConfig(src, f.name, hcl.InitialPos)
	f.diags = append(f.diags, problem.Coded(problem.Syntax, diags[:min(len(diags), maxSyntax)])...)
	if parsed != nil {
		f.file = parsed
	}
	// What the parser makes of a broken file would bring more errors, about
	// nothing that anybody wrote.
	if !diags.HasErrors() {
		f.body, _ = parsed.Body.(*hclsyntax.Body)
	}
}

// utf16 reports whether a text is UTF-16, as editors and PowerShell on Windows may write it:
// it begins with the mark of that, or every second of its first bytes is zero.
func utf16(src []byte) bool {
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return true
	}
	const look = 8
	if len(src) < look {
		return false
	}
	zeros := [2]int{}
	for i, b := range src[:look] {
		if b == 0 {
			zeros[i%2]++
		}
	}
	return zeros == [2]int{look / 2, 0} || zeros == [2]int{0, look / 2}
}

// readLimited reads a file of at most maxFileSize bytes below the root of fsys.
func readLimited(fsys fs.FS, name string) ([]byte, error) {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) {
		return nil, fmt.Errorf("%q is not a path below the directory of the inventory", name)
	}
	// To open a pipe would wait for whoever writes to it.
	if info, err := fs.Stat(fsys, clean); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", clean)
	}
	f, err := fsys.Open(clean)
	if err != nil {
		return nil, fmt.Errorf("read a file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", clean, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", clean)
	}
	src, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", clean, err)
	case len(src) > maxFileSize:
		return nil, fmt.Errorf("%s is larger than %d MiB", clean, maxFileSize>>20)
	}
	return src, nil
}

// tooDeep refuses what would take the recursive parser more stack than there
// is, and numbers that would fill the memory once written out.
func tooDeep(src []byte, name string) *hcl.Diagnostic {
	if shallow(src) {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	return nestedTooDeep(tokens)
}

func nestedTooDeep(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	var nest nesting
	for i, tok := range tokens {
		if tok.Type == hclsyntax.TokenNumberLit && len(tok.Bytes) > 1 && hugeNumber(string(tok.Bytes)) {
			return problem.New(problem.TooLarge, tok.Range, "number too large", "A number has at most %d characters and an exponent of at most two digits.", maxNumberText)
		}
		kind := tok.Type
		if kind == hclsyntax.TokenComment && bytes.HasSuffix(tok.Bytes, []byte("\n")) {
			kind = hclsyntax.TokenNewline // the comment takes the end of its line
		}
		if nest.add(kind, tokens[min(i+1, len(tokens)-1)]); nest.total > maxNesting {
			return problem.New(problem.TooLarge, tok.Range, "nested too deeply", "An expression or block is nested more than %d deep here.", maxNesting)
		}
	}
	return nil
}

func hugeNumber(text string) bool {
	i := strings.IndexAny(text, "eE")
	return len(text) > maxNumberText || i >= 0 && len(strings.Trim(text[i+1:], "+-0")) > 2
}

// nesting counts the brackets and operators that are open at a token.
type nesting struct {
	levels []level
	top    level // outside all brackets
	total  int
}

type level struct {
	lines     bool // a new line ends an expression
	operators int
}

func (n *nesting) here() *level {
	if len(n.levels) == 0 {
		n.top.lines = true
		return &n.top
	}
	return &n.levels[len(n.levels)-1]
}

func (n *nesting) add(t hclsyntax.TokenType, next hclsyntax.Token) {
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
		hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		n.open(t, string(next.Bytes))
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen,
		hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		if len(n.levels) > 0 {
			n.total -= n.here().operators + 1
			n.levels = n.levels[:len(n.levels)-1]
		}
	case hclsyntax.TokenComma:
		n.reset()
	case hclsyntax.TokenNewline:
		if n.here().lines {
			n.reset()
		}
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit,
		hclsyntax.TokenComment, hclsyntax.TokenDot, hclsyntax.TokenEOF:
	default:
		n.here().operators++
		n.total++
	}
}

// open goes into a bracket. a[x][y] nests although its brackets do not, and so
// does an if within an if of a template; "${a}${b}" does not.
func (n *nesting) open(t hclsyntax.TokenType, word string) {
	deeper := 1
	switch {
	case t == hclsyntax.TokenTemplateInterp || t == hclsyntax.TokenTemplateControl && word == "else":
		deeper = 0
	case t == hclsyntax.TokenTemplateControl && strings.HasPrefix(word, "end"):
		deeper = -min(1, n.here().operators)
	}
	n.here().operators += deeper
	n.levels = append(n.levels, level{lines: t == hclsyntax.TokenOBrace})
	n.total += deeper + 1
}

func (n *nesting) reset() {
	l := n.here()
	n.total -= l.operators
	l.operators = 0
}

// broken reports whether one of the files could not be parsed.
func broken(files []*sourceFile) bool {
	return slices.ContainsFunc(files, func(f *sourceFile) bool { return f.body == nil })
}

func fileStart(name string) hcl.Range {
	return hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
}
