// Package rules is what a model must keep to, whatever the devices say.
package rules

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/pattern"
	"weft/inventory"
	"weft/inventory/problem"
)

// Check applies all rules to a model. What could not be evaluated has been
// reported and is not judged.
func Check(m *inventory.Model) (all hcl.Diagnostics) {
	for _, r := range All() {
		all = append(all, r.Check(m)...)
	}
	return all
}

// Check applies one rule.
func (r Rule) Check(m *inventory.Model) hcl.Diagnostics {
	c := &checker{Model: m}
	r.check(c)
	return c.diags
}

// serial is printable ASCII without spaces around.
var serial = pattern.New(`^[!-~]([ -~]*[!-~])?$`)

// A checker collects what breaks the rules.
type checker struct {
	*inventory.Model
	diags hcl.Diagnostics

	fallback *inventory.Connection // the default connection, once asked for
}

// refuse reports a problem with an attribute of a block, or with the block
// where attr is "".
func (c *checker) refuse(code problem.Code, b *inventory.Block, attr, summary, format string, args ...any) {
	d := problem.New(code, b.At(attr), summary, "%s: %s", b.Addr, fmt.Sprintf(format, args...))
	c.diags = append(c.diags, d)
}

// warn reports what is allowed, but seldom meant.
func (c *checker) warn(code problem.Code, b *inventory.Block, attr, summary, format string, args ...any) {
	c.refuse(code, b, attr, summary, format, args...)
	c.diags[len(c.diags)-1].Severity = hcl.DiagWarning
}

// A registry finds values that are used twice.
type registry[K comparable] map[K]*inventory.Block

// first returns who has used the key before b, or nil.
func (r registry[K]) first(key K, b *inventory.Block) *inventory.Block {
	if other, ok := r[key]; ok {
		return other
	}
	r[key] = b
	return nil
}

// whereBlock names a block and its place for use within a sentence.
func whereBlock(b *inventory.Block) string { return b.Addr + " (" + problem.Where(b.Range) + ")" }
