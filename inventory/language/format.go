package language

import (
	"bytes"
	"fmt"
	"io"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format reads a file and returns its text as it is and in the canonical
// layout. Nothing but spaces and tabs within lines differs between the two:
// every token stays in its line. A file that is not valid HCL or too large
// has errors and no layout.
func Format(name string, r io.Reader) (before, after []byte, diags hcl.Diagnostics) {
	src, err := io.ReadAll(io.LimitReader(r, maxFileSize+1))
	if err == nil && len(src) > maxFileSize {
		err = fmt.Errorf("it is larger than %d MiB", maxFileSize>>20)
	}
	if err != nil {
		return nil, nil, hcl.Diagnostics{problem.New(problem.File, fileStart(name), "cannot read "+name, "%v.", err)}
	}
	f := sourceFile{name: name}
	f.parse(src)
	if f.diags.HasErrors() {
		return src, nil, f.diags
	}
	after = hclwrite.Format(src)
	if !bytes.Equal(src, after) && !sameTokens(src, after) {
		return src, nil, hcl.Diagnostics{problem.New(problem.Syntax, fileStart(name), "cannot format "+name,
			"The canonical format would change the meaning of the file, so it is unchanged.")}
	}
	return src, after, nil
}

// sameTokens reports whether two texts differ in nothing but white space
// between tokens.
func sameTokens(a, b []byte) bool {
	x, _ := hclsyntax.LexConfig(a, "", hcl.InitialPos)
	y, _ := hclsyntax.LexConfig(b, "", hcl.InitialPos)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Type != y[i].Type || !bytes.Equal(x[i].Bytes, y[i].Bytes) {
			return false
		}
	}
	return true
}

// WithoutValues returns src with … in place of every text, number and
// comment, so that the layout of a file of values can be shown although its
// values may be sensitive. Lines stay lines. src must be valid HCL.
func WithoutValues(src []byte) []byte {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	var out []byte
	at := 0
	for _, t := range tokens {
		out = append(out, src[at:t.Range.Start.Byte]...)
		switch t.Type {
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenNumberLit, hclsyntax.TokenComment:
			out = append(out, withoutWords(t.Bytes)...)
		default:
			out = append(out, t.Bytes...)
		}
		at = t.Range.End.Byte
	}
	return append(out, src[at:]...)
}

// withoutWords puts … in place of what stands in each line.
func withoutWords(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		words := bytes.TrimRight(line, "\r\n")
		if len(words) > 0 {
			lines[i] = append([]byte("…"), line[len(words):]...)
		}
	}
	return bytes.Join(lines, nil)
}
